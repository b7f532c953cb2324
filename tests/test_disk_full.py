"""A full disk ends a run by name, spoils nothing, and is made good by room."""

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tinyroot
from crashes import assert_exactly_the_plan, n_lost, results, seal, whole

from evalkit import grading, sandbox
from evalkit import run as running
from evalkit.corpus import load_case
from evalkit.errors import InfrastructureError
from evalkit.journal import Writer, read_journal
from evalkit.records import AttemptStarted, RunEnded, TrialKey

PAGE = 4096
ON_A_SMALL_DISK = """
import shutil, subprocess, sys
folder, put, kept, *argv = sys.argv[1:]
shutil.copytree(put, folder, dirs_exist_ok=True)
code = subprocess.run([sys.executable, "-m", "evalkit.cli", *argv]).returncode
shutil.copytree(folder, kept)
sys.exit(code)
"""


def _on_a_small_disk(n_bytes, folder: Path, put: Path, kept: Path, *argv):
    """Run a command while `folder` is a disk of some bytes that holds `put`."""
    return subprocess.run(
        [
            *("bwrap", "--dev-bind", "/", "/", "--size", str(n_bytes)),
            *("--tmpfs", folder, sys.executable, "-c", ON_A_SMALL_DISK),
            *(folder, put, kept, *argv),
        ],
        capture_output=True,
        text=True,
        check=False,
    )


def _assert_named(done: subprocess.CompletedProcess) -> None:
    assert done.returncode == InfrastructureError.exit_code, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert "No space left on device" in done.stderr
    assert "bytes free" in done.stderr
    assert "make room" in done.stderr


@pytest.fixture(scope="module")
def checks_by_trial(proven_root, tmp_path_factory):
    """What the trials' checks are where there is room enough."""
    root = Path(shutil.copytree(proven_root, tmp_path_factory.mktemp("d") / "root"))
    run = seal(root)
    running.run_plan(run, root)
    return _checks(run)


def _checks(run: Path) -> dict:
    return {
        str(result.key): [(check.id, check.passed) for check in step.grade.checks]
        for result in results(run)
        for step in result.steps
    }


@pytest.mark.needs_sandbox
@pytest.mark.parametrize("n_pages", [2, 4, 6, 8, 11, 14, 17, 20, 23])
def test_a_full_disk_is_named_and_room_makes_it_good(
    own_root, tmp_path, checks_by_trial, n_pages
):
    run = seal(own_root)
    put = shutil.copytree(run, tmp_path / "put")
    kept = tmp_path / "kept"
    argv = ("run", run.name, "--root", own_root)
    done = _on_a_small_disk(n_pages * PAGE, run, put, kept, *argv)
    _assert_named(done)
    before = _checks(kept)
    assert not read_journal(kept / "journal.jsonl").torn
    assert list(kept.rglob(".*")) == []
    shutil.copytree(kept, run, dirs_exist_ok=True)
    lost, kept_whole = n_lost(run), whole(run)
    running.run_plan(run, own_root)
    assert_exactly_the_plan(run, n_lost=lost, kept=kept_whole)
    assert _checks(run) == checks_by_trial
    assert before.items() <= checks_by_trial.items()


@pytest.mark.needs_sandbox
def test_a_plan_that_does_not_fit_is_named_and_leaves_no_half(own_root, tmp_path):
    runs = own_root / "runs"
    put = shutil.copytree(runs, tmp_path / "put")
    argv = ("plan", "--corpus", "tiny", "--seal", "--root", own_root)
    done = _on_a_small_disk(PAGE, runs, put, tmp_path / "kept", *argv)
    _assert_named(done)
    assert list((tmp_path / "kept").rglob("registration.json")) == []


def test_an_append_the_disk_breaks_off_leaves_no_half_line(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Writer(path, now=running.utc_now) as journal:
        journal.append(AttemptStarted(TrialKey("case", "arm", 1), 1))
        before = path.read_bytes()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 40, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                journal.append(AttemptStarted(TrialKey("case", "arm", 2), 1))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert path.read_bytes() == before
        journal.append(RunEnded("infrastructure"))
    assert [event.n for event in read_journal(path).events] == [1, 2]


def test_an_answer_the_disk_does_not_take_is_no_failed_check(own_root, tmp_path):
    level = tinyroot.isolation()
    box = sandbox.open_box(level, allow_unsandboxed=level == "none")
    case = load_case(own_root, "greet")
    answers = tmp_path / "answers.jsonl"
    answers.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        grading.grade(
            case,
            case.steps[0],
            own_root / "reference/greet/correct",
            root=own_root,
            box=box,
            seed=1,
            answers=answers,
        )
