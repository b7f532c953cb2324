"""One grade made again: from its recorded answers, or from the saved workspace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalkit import agents, corpus, files, grading
from evalkit.agents import Reader
from evalkit.evidence import StepEvidence
from evalkit.records import Case, Grade, Record, Registration, Step, TrialKey
from evalkit.sandbox import Box
from evalkit.trial import seed_of

ANSWERS = "from the answers"
WORKSPACE = "by questioning the saved workspace again"
UNGRADED = "nothing to grade"


class Reopened(Record, frozen=True):
    """What it takes to conclude and grade a run's evidence, as it is here now."""

    registration: Registration
    root: Path
    cases: dict[str, Case]
    agent: Reader


class StepAgain(Record, frozen=True):
    """How a step was graded again; `why` its recorded answers did not do."""

    step: str
    how: str
    why: str = ""


def how_of(steps: Sequence[StepAgain]) -> str:
    """How an attempt was graded again, in words; by step where they differ."""
    ways = list(dict.fromkeys(step.how for step in steps))
    if len(ways) > 1:
        return ", ".join(f"{step.step} {step.how}" for step in steps)
    return ways[0] if ways else UNGRADED


def ways_of(how: str, slugs: Sequence[str]) -> dict[str, str] | None:
    """How each graded step was graded again; None where `how` does not say so."""
    if how in {ANSWERS, WORKSPACE}:
        ways = dict.fromkeys(slugs, how)
    else:
        told = [f"{slug} {ANSWERS}" in how.split(", ") for slug in slugs]
        ways = {
            slug: ANSWERS if replayed else WORKSPACE
            for slug, replayed in zip(slugs, told, strict=True)
        }
    steps = [StepAgain(slug, way) for slug, way in ways.items()]
    return ways if how_of(steps) == how else None


def reopen(registration: Registration, root: Path) -> Reopened:
    """Open the registered cases as they are here now."""
    return Reopened(
        registration,
        root,
        {seal.id: corpus.load_case(root, seal.id) for seal in registration.cases},
        agents.open_reader(registration.plan),
    )


def grade_step(
    opened: Reopened,
    evidence: StepEvidence,
    key: TrialKey,
    step: Step,
    grade: Grade,
    *,
    box: Box,
    answers: Path,
) -> tuple[Grade, StepAgain]:
    """Grade a step again, from its answers where they do; says how.

    Args:
        opened: The cases and graders.
        evidence: Of the step.
        key: Trial it belongs to.
        step: The step.
        grade: As its evidence has it.
        box: The sandbox the subject runs in, where it is questioned again.
        answers: File that receives what it answers then.
    """
    case = opened.cases[key.case]
    if grade.died is not None:
        why = f"the grader had died: {grade.died}"
    elif case.grader_command is not None:
        why = "a foreign grader leaves no answers that could be asked for again"
    else:
        replayed = from_answers(opened, evidence, case, step, grade)
        if replayed.grade is not None:
            return replayed.grade, StepAgain(step.slug, ANSWERS)
        why = replayed.why
    found = from_workspace(opened, evidence, key, step, box=box, answers=answers)
    return found, StepAgain(step.slug, WORKSPACE, why)


def from_answers(
    opened: Reopened, evidence: StepEvidence, case: Case, step: Step, grade: Grade
) -> grading.Replayed:
    """Grade a step again from its recorded answers."""
    found = grading.Replay(case, step, grade, evidence.answers)
    return grading.replay_apart(found, root=opened.root)


def from_workspace(
    opened: Reopened,
    evidence: StepEvidence,
    key: TrialKey,
    step: Step,
    *,
    box: Box,
    answers: Path,
) -> Grade:
    """Grade a step again by questioning its saved workspace, unpacked afresh.

    Args:
        opened: The cases and graders.
        evidence: Of the step.
        key: Trial it belongs to.
        step: The step.
        box: The sandbox the subject runs in.
        answers: File that receives questions, answers and verdict.
    """
    answers.parent.mkdir(parents=True)
    with files.private_folder() as private:
        workspace = private / "workspace"
        evidence.workspace(workspace)
        return grading.grade(
            opened.cases[key.case],
            step,
            workspace,
            root=opened.root,
            box=box,
            seed=seed_of(opened.registration.plan.seed, key, step),
            answers=answers,
        )
