"""Grading: a grader process questions a subject; every answer is evidence.

Each thread that grades has a warm grader process, forked from one that has loaded
what graders need; it is killed and replaced where it dies or does not end. Its
questions go to a driver in the sandbox over a socket pair, its verdict comes back
over another. What was asked and answered, and the verdict, are the rows of
`answers.jsonl`: from them alone the grade is read, or replayed.

    warm       the runner's side of a grader process
    __main__   the grader processes themselves, and the batch of replays
    work       what it is told and tells, and the carrying out
    live       questions to a subject in the sandbox, recorded
    recorded   questions to a record
    foreign    graders in any language
    verdict    the row a grade is read from
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from evalkit import corpus
from evalkit.errors import SandboxUnavailableError
from evalkit.grading.foreign import run_foreign
from evalkit.grading.live import DRIVER_FD
from evalkit.grading.recorded import (
    DivergedError,
    Replay,
    replay,
    replay_all,
    replay_work,
)
from evalkit.grading.verdict import add_verdict, grade_of, judge, read_verdict
from evalkit.grading.warm import run_grader, warm_up
from evalkit.grading.work import work_on
from evalkit.records import Case, Grade, Record, Step
from evalkit.sandbox import Box

__all__ = [
    "DivergedError",
    "Replay",
    "Replayed",
    "grade",
    "read_verdict",
    "replay",
    "replay_all",
    "replay_apart",
    "warm_up",
]


class Replayed(Record, frozen=True):
    """A grade made from recorded answers, or why there is none."""

    grade: Grade | None
    why: str = ""


def grade(
    case: Case,
    step: Step,
    workspace: Path,
    *,
    root: Path,
    box: Box,
    seed: int,
    answers: Path,
    until_failed: bool = False,
) -> Grade:
    """Grade one step's workspace.

    Args:
        case: The case.
        step: The step.
        workspace: A private copy of what was delivered.
        root: Root that holds the case and its grader.
        box: The sandbox the subject runs in.
        seed: Of the checks' random inputs.
        answers: File that receives questions, answers and verdict.
        until_failed: Ask for no check after the first that fails; a foreign grader
            asks for all.

    Returns:
        The grade; a grader that died has no checks and says why.

    Raises:
        DriftError: The grader or the fixture is not the one that was loaded.
        SandboxUnavailableError: No subject could be started.
        OSError: The disk did not take an answer.
        StoppedEarlyError: `process.end_all` was called meanwhile.
    """
    started = time.monotonic()
    corpus.read_unmoved(root / "graders" / case.id, case.digests.grader)
    corpus.read_unmoved(root / "cases" / case.id / "fixture", case.digests.fixture)
    if case.grader_command is None:
        work = work_on(case, step, root=root, seed=seed, answers=answers)
        launch = box.subject_argv(workspace, DRIVER_FD)
        work = msgspec.structs.replace(work, launch=launch, until_failed=until_failed)
        told = run_grader(work, case.grade_timeout_s)
        if told.disk_fault is not None:
            raise OSError(told.disk_fault, os.strerror(told.disk_fault), str(answers))
    else:
        told = run_foreign(
            case, step, workspace, root=root, box=box, seed=seed, answers=answers
        )
    if told.unavailable is not None:
        raise SandboxUnavailableError(
            f"{case.id}: expected a subject to question, found none: "
            f"{told.unavailable}; run `evalkit doctor`"
        )
    verdict = judge(
        told,
        seed=seed,
        grader_digest=case.digests.grader,
        wall_s=time.monotonic() - started,
    )
    add_verdict(answers, verdict)
    return read_verdict(answers)


def replay_apart(found: Replay, *, root: Path) -> Replayed:
    """Grade again from recorded answers, in this thread's grader process.

    Whatever the grader or the answers do, it ends: with a grade by the grader as
    it is now, or with the reason why these answers do not give one.

    Raises:
        StoppedEarlyError: `process.end_all` was called meanwhile.
    """
    started = time.monotonic()
    told = run_grader(replay_work(found, root), found.case.grade_timeout_s)
    verdict = judge(
        told,
        seed=found.grade.seed,
        grader_digest=found.case.digests.grader,
        wall_s=time.monotonic() - started,
    )
    if told.diverged is not None or verdict.died is not None:
        return Replayed(None, told.diverged or verdict.died or "")
    return Replayed(grade_of(verdict))
