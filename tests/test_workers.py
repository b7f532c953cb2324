"""Many workers: the same results, whole blocks, one order, one account of what is left."""

import shutil
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
import tinyroot

from evalkit import files, prices, standing
from evalkit import plan as planning
from evalkit import run as running
from evalkit.analysis import analyse
from evalkit.audit.record import read_lines
from evalkit.audit.trials import check_trials
from evalkit.crew import here
from evalkit.errors import AttemptLostError, DriftError, StoppedEarlyError
from evalkit.journal import Writer, read_journal
from evalkit.records import AttemptEnded, AttemptStarted, Budget, Deviation
from evalkit.registration import load_registration
from evalkit.schedule import blocks_of

N_BLOCKS = 3
TIMED = {"wall_s", "cpu_s", "evidence_digest", "first_byte_ms", "total_ms"}
THE_SAME = ("delivery.json", "workspace.tar", "left_out.json")


def _seal(root, **changes):
    plan = tinyroot.plan(arms=("full", "baseline"), repeats=N_BLOCKS, **changes)
    return planning.seal_plan(plan, root, now=running.utc_now)


@pytest.fixture(scope="module")
def carried_out(proven_root, tmp_path_factory):
    """The same sealed run, carried out by 1, 2 and 8 workers."""
    folder = tmp_path_factory.mktemp("workers")
    root = Path(shutil.copytree(proven_root, folder / "root"))
    name = _seal(root).name
    found = {}
    for n in (1, 2, 8):
        copy = Path(shutil.copytree(root, folder / str(n)))
        found[n] = copy / "runs" / name
        running.run_plan(found[n], copy, n_workers=n)
    return found


def _bodies(run, kind):
    events = read_journal(run / "journal.jsonl").events
    return [event.body for event in events if isinstance(event.body, kind)]


def _untimed(value):
    if isinstance(value, dict):
        return {k: _untimed(v) for k, v in value.items() if k not in TIMED}
    return (
        [_untimed(one) for one in value] if isinstance(value, list | tuple) else value
    )


def _results(run):
    found = [body.result for body in _bodies(run, AttemptEnded)]
    return {str(r.key): _untimed(msgspec.to_builtins(r)) for r in found}


def _evidence(run):
    digests = {
        path.relative_to(run): files.file_digest(path)
        for path in run.glob("trials/*/*/*/*")
        if path.name in THE_SAME
    }
    assert len(digests) == 2 * N_BLOCKS * len(THE_SAME)
    return digests


def _analysis(run):
    rates = prices.rates()
    journal = read_journal(run / "journal.jsonl")
    found = analyse(load_registration(run), journal, rates)
    scored = [c for c in found.contrasts if c.measure != "wall_s"]
    return scored, found.checks, found.flow, found.usage


@pytest.mark.parametrize("told", [_results, _evidence, _analysis])
@pytest.mark.parametrize("n", [2, 8])
def test_how_many_work_changes_no_result(carried_out, told, n):
    assert told(carried_out[n]) == told(carried_out[1])


@pytest.mark.parametrize("n", [1, 2, 8])
def test_trials_begin_in_the_registered_order(carried_out, n):
    registration = load_registration(carried_out[n])
    begun = [body.key for body in _bodies(carried_out[n], AttemptStarted)]
    assert tuple(begun) == registration.schedule
    lines = read_lines(carried_out[n])
    assert check_trials(registration, lines, carried_out[n]).verdict == "pass"


def test_no_worker_waits_for_a_block_to_end(carried_out):
    events = read_journal(carried_out[8] / "journal.jsonl").events
    kinds = [type(e.body) for e in events if e.n > 1]
    assert kinds[: 2 * N_BLOCKS] == [AttemptStarted] * 2 * N_BLOCKS


def _done(run):
    return Counter(body.result.key for body in _bodies(run, AttemptEnded))


def _two_blocks(run):
    blocks = blocks_of(load_registration(run).schedule)
    return Counter(key for block in blocks[:2] for key in block)


def test_a_deadline_lets_the_blocks_under_way_end_and_no_other_begin(own_root):
    run = _seal(own_root)
    ticks = iter([0.0, 0.0, 0.0, 1e9])
    with pytest.raises(StoppedEarlyError, match="deadline after 4 of 6"):
        running.run_plan(run, own_root, n_workers=4, monotonic=lambda: next(ticks))
    assert _done(run) == _two_blocks(run)


def test_calls_of_blocks_under_way_count_against_the_budget(own_root):
    run = _seal(own_root, budget=Budget(max_calls=6))
    first = load_registration(run).schedule[0]
    with Writer(run / "journal.jsonl", now=running.utc_now) as journal:
        journal.append(AttemptStarted(first, 1))
    with pytest.raises(StoppedEarlyError, match="budget after 4 of 6"):
        running.run_plan(run, own_root, n_workers=8)
    assert _done(run) == _two_blocks(run)


@contextmanager
def _loses_the_first(*given):
    """A crew like that of this process, which loses the first attempt of all."""
    with here(*given) as crew:
        carry, lost = crew.carry, []

        def carry_or_lose(spec, inputs):
            if not lost:
                lost.append(spec)
                raise AttemptLostError("who carried it out is gone")
            return carry(spec, inputs)

        crew.carry = carry_or_lose
        yield crew


def test_an_attempt_that_was_lost_is_made_again_before_a_block_begins(own_root):
    run = _seal(own_root, budget=Budget(max_calls=6))
    with pytest.raises(StoppedEarlyError, match="budget after 4 of 6"):
        running.run_plan(run, own_root, n_workers=4, hire=_loses_the_first)
    assert _done(run) == _two_blocks(run)
    first, *_ = load_registration(run).schedule
    begun = [(body.key, body.attempt) for body in _bodies(run, AttemptStarted)]
    assert (len(begun), begun.count((first, 2))) == (5, 1)
    (noted,) = _bodies(run, Deviation)
    assert f"{first}, attempt 1: who carried it out is gone" in noted.found


def test_drift_lets_the_blocks_under_way_end(own_root):
    run = _seal(own_root)
    guide = own_root / "cases/_skills/guide/SKILL.md"

    def touch(status):
        if status.n_done == 1:
            guide.write_text(guide.read_text() + "\nchanged\n")

    with pytest.raises(DriftError, match=r"skill_digests\.guide"):
        running.run_plan(run, own_root, n_workers=4, progress=touch)
    assert _done(run) == _two_blocks(run)


def test_where_a_run_stands_is_the_same_event_by_event_as_all_at_once(carried_out):
    run = carried_out[8]
    registration, events = load_registration(run), read_journal(run / "journal.jsonl")
    kept = standing.Standing(run, registration)
    for n, event in enumerate(events.events, 1):
        kept.take(event)
        told = standing.standing_of(run, registration, events.events[:n])
        assert kept.status() == told
    assert told.n_calls == 2 * N_BLOCKS
