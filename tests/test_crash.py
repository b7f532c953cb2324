"""No crash of ours loses a finished trial, pays for one twice, or breaks the chain."""

import os
import random
import shutil
from itertools import count
from pathlib import Path

import crashes
import msgspec
import pytest
from crashes import assert_exactly_the_plan, copy_of, n_lost, results, whole

from evalkit import prices
from evalkit import run as running
from evalkit.analysis import analyse
from evalkit.errors import StoppedEarlyError
from evalkit.journal import Writer, read_journal
from evalkit.records import AttemptEnded, Event, RunEnded
from evalkit.registration import load_registration

N_WALKERS = 4
STRIDE = N_WALKERS if crashes.EVERY_STEP else 11
N_CUTS = 40


@pytest.fixture(scope="module")
def sealed(proven_root, tmp_path_factory):
    """A root with a sealed run of two trials, not begun."""
    root = Path(shutil.copytree(proven_root, tmp_path_factory.mktemp("s") / "root"))
    return root, crashes.seal(root)


@pytest.fixture(scope="module")
def finished(sealed, tmp_path_factory):
    """A root with the same run, carried out."""
    root, run = copy_of(sealed, tmp_path_factory.mktemp("f") / "root")
    running.run_plan(run, root)
    return root, run


# --- killed -------------------------------------------------------------------


@pytest.mark.parametrize("walker", range(N_WALKERS))
def test_killed_at_any_durable_step_a_run_ends_as_planned(sealed, tmp_path, walker):
    root, run = sealed
    told = crashes.tell("kill", root, run.name, tmp_path, walker + 1, STRIDE)
    assert [line["died"] for line in told] == [True] * (len(told) - 1) + [False]
    assert len(told) > 60 / STRIDE
    for line in told:
        after = tmp_path / str(line["step"]) / "runs" / run.name
        assert (line["again"], line["orphans"]) == (0, []), line
        assert (after / "journal.jsonl").read_text().startswith(line["journal"]), line
        kept = set(line["whole"])
        assert_exactly_the_plan(after, n_lost=line["n_lost"], kept=kept)


def test_evidence_and_the_names_of_its_folders_are_durable_before_its_line(
    sealed, tmp_path, monkeypatch
):
    root, run = copy_of(sealed, tmp_path / "root")
    durable: dict[int, int] = {}
    seen: list[Path] = []
    real = os.fsync

    def fsync(number: int) -> None:
        if Path(f"/proc/self/fd/{number}").readlink().name == "journal.jsonl":
            for path in _led_to(run, whole(run)):
                state = path.stat()
                assert durable.get(state.st_ino) == state.st_mtime_ns, path
                seen.append(path)
        real(number)
        state = os.fstat(number)
        durable[state.st_ino] = state.st_mtime_ns

    monkeypatch.setattr(os, "fsync", fsync)
    running.run_plan(run, root)
    assert len(set(seen)) > 20


def _led_to(run: Path, attempts: set[str]) -> list[Path]:
    """All below some attempts, and the folders that lead there."""
    folders = [run / "trials" / attempt for attempt in attempts]
    below = [path for folder in folders for path in folder.rglob("*")]
    above = [path for folder in folders for path in (folder, *folder.parents[:3])]
    return below + above


# --- torn ---------------------------------------------------------------------


def _ending_in(kind: type, lines: list[bytes]) -> list[bytes]:
    while not isinstance(msgspec.json.decode(lines[-1], type=Event).body, kind):
        lines = lines[:-1]
    return lines


@pytest.mark.parametrize("kind", [AttemptEnded, RunEnded])
def test_a_journal_cut_at_any_byte_of_its_last_line_opens_as_without_it(
    finished, tmp_path, kind
):
    _, run = finished
    lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
    *before, last = _ending_in(kind, lines)
    path = tmp_path / "journal.jsonl"
    for n_bytes in range(len(last)):
        path.write_bytes(b"".join(before) + last[:n_bytes])
        found = read_journal(path)
        assert (len(found.events), found.torn) == (len(before), n_bytes > 0)
        with Writer(path, now=running.utc_now) as journal:
            assert len(journal.stood) == len(before)
        assert path.read_bytes() == b"".join(before)


@pytest.mark.parametrize("kind", [AttemptEnded, RunEnded])
def test_a_run_whose_last_line_is_torn_ends_as_planned(finished, tmp_path, kind):
    root, run = copy_of(finished, tmp_path / "root")
    kept = Path(shutil.copytree(run, tmp_path / "kept"))
    lines = (kept / "journal.jsonl").read_bytes().splitlines(keepends=True)
    last = _ending_in(kind, lines)[-1]
    n_last = len(last)
    cuts = range(n_last) if crashes.EVERY_STEP else _some(n_last)
    for n_bytes in cuts:
        shutil.rmtree(run)
        shutil.copytree(kept, run)
        _tear(run, kind, n_bytes)
        running.run_plan(run, root)
        assert_exactly_the_plan(run, n_lost=0, kept=whole(run))
        assert results(run) == results(finished[1])


def _some(n_bytes: int) -> set[int]:
    """Some places to cut a line of so many bytes at, its ends among them."""
    drawn = random.Random(7).choices(range(n_bytes), k=N_CUTS)
    return {0, 1, n_bytes - 2, n_bytes - 1, *drawn}


def _tear(run: Path, kind: type, n_bytes: int) -> None:
    path = run / "journal.jsonl"
    *before, last = _ending_in(kind, path.read_bytes().splitlines(keepends=True))
    path.write_bytes(b"".join(before) + last[:n_bytes])


@pytest.mark.parametrize("share", [None, 0.0, 0.5, 0.99])
def test_an_attempt_without_line_or_whole_seal_runs_again_and_the_others_do_not(
    finished, tmp_path, share
):
    root, run = copy_of(finished, tmp_path / "root")
    _tear(run, AttemptEnded, 150)
    lost = results(finished[1])[-1]
    seal = run / "trials" / str(lost.key) / "1" / "evidence.json"
    data = seal.read_bytes()
    seal.unlink()
    if share is not None:
        seal.write_bytes(data[: int(len(data) * share)])
    running.run_plan(run, root)
    first, again = results(run)
    assert (first, again.key) == (results(finished[1])[0], lost.key)
    assert again.attempt == 2
    assert_exactly_the_plan(run, n_lost=1, kept={f"{first.key}/1"})


def test_a_run_interrupted_after_its_last_trial_is_called_complete(finished, tmp_path):
    root, run = copy_of(finished, tmp_path / "root")
    _tear(run, RunEnded, 0)
    with Writer(run / "journal.jsonl", now=running.utc_now) as journal:
        journal.append(RunEnded("interrupted", "Ctrl-C"))
    running.run_plan(run, root)
    assert_exactly_the_plan(run, n_lost=0, kept=whole(run))


# --- a clock that goes back ---------------------------------------------------


def test_a_clock_that_goes_back_changes_no_number(finished, sealed, tmp_path):
    root, run = copy_of(sealed, tmp_path / "root")
    years = count(2031, -1)

    def back() -> str:
        return f"{next(years)}-01-01T00:00:00.000+00:00"

    ticks = iter([0.0, 1e9])
    with pytest.raises(StoppedEarlyError, match="deadline"):
        running.run_plan(run, root, now=back, monotonic=lambda: next(ticks))
    running.run_plan(run, root, now=back)
    times = [event.at for event in read_journal(run / "journal.jsonl").events]
    assert times == sorted(times, reverse=True)
    assert_exactly_the_plan(run, n_lost=0, kept=whole(run))
    for result in results(run):
        (step,) = result.steps
        assert step.grade.wall_s >= 0
        assert all(call.wall_s >= 0 for call in step.calls)
    assert _scores(run) == _scores(finished[1])


def _scores(run: Path) -> object:
    rates = prices.rates()
    journal = read_journal(run / "journal.jsonl")
    found = analyse(load_registration(run), journal, rates)
    return found.checks, found.flow, found.usage


# --- Ctrl-C, twice --------------------------------------------------------------


@pytest.mark.parametrize("gap_ms", [1, 5, 50])
def test_ctrl_c_twice_ends_a_run_that_goes_on_later(sealed, tmp_path, gap_ms):
    root, run = copy_of(sealed, tmp_path / "root")
    _assert_ends_and_goes_on(root, run, 2, gap_ms)


def test_ctrl_c_again_at_once_is_one_order_to_stop(sealed, tmp_path):
    root, run = copy_of(sealed, tmp_path / "root")
    told = _assert_ends_and_goes_on(root, run, 3, 0)
    assert told["code"] == StoppedEarlyError.exit_code, told


def test_ctrl_c_without_end_ends_a_run_that_goes_on_later(sealed, tmp_path):
    root, run = copy_of(sealed, tmp_path / "root")
    _assert_ends_and_goes_on(root, run, 400, 1)


def _assert_ends_and_goes_on(root, run, n_signals, gap_ms) -> dict:
    journal = run / "journal.jsonl"
    (told,) = crashes.tell("interrupt", root, run.name, journal, n_signals, gap_ms)
    assert told["orphans"] == []
    lost, kept = n_lost(run), whole(run)
    assert len(kept) < crashes.N_PLANNED, told
    with Writer(journal, now=running.utc_now) as writer:  # so the lock is free
        assert writer.stood, told
        last = writer.stood[-1].body
    assert isinstance(last, RunEnded), told
    assert last.reason == "interrupted"
    running.run_plan(run, root)
    assert_exactly_the_plan(run, n_lost=lost, kept=kept)
    return told
