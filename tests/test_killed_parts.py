"""A part of a run that is killed costs what it was doing, says so, and no more."""

import os
import shutil
import signal
from pathlib import Path

import crashes
import pytest
import tinyroot

from evalkit.records import Outcome

GRADER = "graders/greet/grade.py"
WAITS_ONCE = """
from pathlib import Path

ASKED = Path(__file__).parents[2] / "asked"


@checks("says-name")
def says_name(subject):
    if not ASKED.exists():
        ASKED.write_text("once\\n")
        subject.call("time:sleep", 60, timeout_s=20)
"""


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    """A root whose grader waits at its first grading of a run, not before."""
    root = tinyroot.make(tmp_path_factory.mktemp("w") / "root")
    text = (root / GRADER).read_text()
    head = '@checks("says-name")\ndef says_name(subject):\n'
    assert text.count(head) == 1
    (root / GRADER).write_text(text.replace(head, WAITS_ONCE.lstrip()))
    (root / "asked").write_text("to prove it needs no waiting\n")
    tinyroot.prove(root)
    (root / "asked").unlink()
    return root


@pytest.fixture
def midway(waiting, tmp_path):
    """A command that is in the middle of its first grading, and its run."""
    root = Path(shutil.copytree(waiting, tmp_path / "root"))
    run = crashes.seal(root)
    started = crashes.command(root, run.name)
    crashes.wait_for_line(root / "asked", started)
    with started:
        yield started, run
        started.kill()


def _nursery_of(pid: int) -> int:
    """Where the graders of a command come from."""
    (found,) = [
        child
        for child in crashes.children(pid)
        if b"evalkit.grading" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    return found


def _grader_of(pid: int) -> int:
    (found,) = crashes.children(_nursery_of(pid))
    return found


def _grades(run: Path) -> list:
    found = crashes.results(run)
    return [(result, *(step.grade for step in result.steps)) for result in found]


@pytest.mark.parametrize(
    ("victim", "why"),
    [(_grader_of, "-9"), (_nursery_of, "what made it is gone too")],
    ids=["itself", "with what made it"],
)
def test_a_grader_that_is_killed_is_told_as_dead_and_the_run_goes_on(
    midway, victim, why
):
    started, run = midway
    os.kill(victim(started.pid), signal.SIGKILL)
    _, said = started.communicate()
    assert started.returncode == 0, said
    (killed, died), (other, grade) = _grades(run)
    assert killed.outcome is Outcome.GRADER_DIED
    assert "the grader process" in killed.reason
    assert why in killed.reason
    assert (died.checks, other.outcome, grade.died) == ((), Outcome.SCORED, None)


def test_a_subject_that_is_killed_fails_the_check_that_asked_and_is_replaced(midway):
    started, run = midway
    (subject,) = crashes.children(_grader_of(started.pid))
    os.kill(subject, signal.SIGKILL)
    _, said = started.communicate()
    assert started.returncode == 0, said
    (hit, grade), (other, _) = _grades(run)
    assert (hit.outcome, other.outcome) == (Outcome.SCORED, Outcome.SCORED)
    passed = {check.id: check.passed for check in grade.checks}
    assert passed == {"says-hello": True, "says-name": False, "keeps-readme": True}
    (failed,) = [check for check in grade.checks if not check.passed]
    assert "the subject ended before it answered" in failed.reason


def test_a_run_killed_in_mid_grading_leaves_no_process(waiting, tmp_path):
    root = Path(shutil.copytree(waiting, tmp_path / "root"))
    run = crashes.seal(root)
    (told,) = crashes.tell("interrupt", root, run.name, root / "asked", 2, 5)
    assert told["orphans"] == []
    assert told["code"] == 5, told
    lost, kept = crashes.n_lost(run), crashes.whole(run)
    started = crashes.command(root, run.name)
    _, said = started.communicate()
    assert started.returncode == 0, said
    crashes.assert_exactly_the_plan(run, n_lost=lost, kept=kept)
