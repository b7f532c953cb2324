"""Every attempt checked against its evidence, and graded again in both ways."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from evalkit import files
from evalkit.errors import EvalkitError, StoppedEarlyError
from evalkit.evidence import Evidence, StepEvidence
from evalkit.records import Grade, Record, Step, StepResult, TrialKey, TrialResult
from evalkit.registration import differing
from evalkit.regrade.again import Reopened, from_answers, from_workspace
from evalkit.sandbox import Box
from evalkit.trial import conclude, seed_of

MAX_LISTED = 5
"""Differences listed of one attempt."""


class Examined(Record, frozen=True):
    """What is wrong with an attempt, by what was checked; empty where nothing is.

    The numbers count grades made again.
    """

    evidence: tuple[str, ...] = ()
    isolation: tuple[str, ...] = ()
    conclusion: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    workspace: tuple[str, ...] = ()
    n_replayed: int = 0
    n_questioned: int = 0


def examine(
    opened: Reopened, run: Path, told: TrialResult, *, box: Box | None, again: bool
) -> Examined:
    """Hold a journaled result against its evidence.

    Args:
        opened: Cases and graders as they are here now.
        run: The run's folder.
        told: What the journal says of the attempt.
        box: The sandbox for questioning again; None where there is none.
        again: Whether to grade again; not where case or grader have changed.
    """
    evidence = Evidence(run, told.key, told.attempt)
    name = f"{told.key}, attempt {told.attempt}"
    known = told.key.case in opened.cases
    graded = _grade_again(opened, evidence, told, box=box) if again else Examined()
    concluded = list(_conclusion(opened, evidence, told)) if known else []
    return msgspec.structs.replace(
        graded,
        evidence=tuple(f"{name}: {wrong}" for wrong in _evidence(evidence, told)),
        isolation=tuple(_isolation(opened, evidence, told)),
        conclusion=tuple(f"{name}: {wrong}" for wrong in concluded),
    )


def _evidence(evidence: Evidence, told: TrialResult) -> Iterator[str]:
    try:
        sealed = evidence.load_seal()
    except (EvalkitError, OSError) as error:
        yield str(error)
    else:
        if (sealed.key, sealed.attempt) != (told.key, told.attempt):
            yield f"its seal is that of {sealed.key}, attempt {sealed.attempt}"
    if evidence.is_whole and evidence.digest() != told.evidence_digest:
        yield (
            f"sealed as {evidence.digest()[:12]}, journaled {told.evidence_digest[:12]}"
        )


def _isolation(
    opened: Reopened, evidence: Evidence, told: TrialResult
) -> Iterator[str]:
    registered = opened.registration.isolation.level
    found = {"the journal": told.isolation}
    with suppress(EvalkitError, OSError):  # a broken seal is listed as evidence
        found["its evidence"] = evidence.load_seal().isolation
    for witness, level in found.items():
        if level != registered:
            yield (
                f"{told.key}, attempt {told.attempt}: {level} by {witness}, "
                f"registered {registered}"
            )


def _conclusion(
    opened: Reopened, evidence: Evidence, told: TrialResult
) -> Iterator[str]:
    try:
        found = conclude(evidence, opened)
    except (EvalkitError, OSError, ValueError, KeyError) as error:
        yield f"nothing can be concluded: {error}"
        return
    lines = list(
        differing(
            "result",
            *(
                msgspec.to_builtins(msgspec.structs.replace(one, evidence_digest=""))
                for one in (told, found)
            ),
        )
    )
    yield from lines[:MAX_LISTED]
    if len(lines) > MAX_LISTED:
        yield f"and {len(lines) - MAX_LISTED} more"


def _grade_again(
    opened: Reopened, evidence: Evidence, told: TrialResult, *, box: Box | None
) -> Examined:
    results = {step.slug: step for step in told.steps}
    answers: list[str] = []
    workspace: list[str] = []
    n_replayed = n_questioned = 0
    for step in opened.cases[told.key.case].steps:
        grade = results.get(step.slug, StepResult(step.slug)).grade
        if grade is None:
            continue
        name = f"{told.key}, attempt {told.attempt}, {step.slug}"
        found = evidence.step(step)
        answers += [f"{name}: {w}" for w in _as_registered(opened, told, step, grade)]
        if grade.died is None:
            n_replayed += 1
            wrong = _replayed(opened, found, told, step, grade)
            answers += [f"{name}: {w}" for w in wrong]
        if box is not None:
            n_questioned += 1
            wrong = questioned(opened, found, told.key, step, grade, box)
            workspace += [f"{name}: {w}" for w in wrong]
    return Examined(
        answers=tuple(answers),
        workspace=tuple(workspace),
        n_replayed=n_replayed,
        n_questioned=n_questioned,
    )


def _as_registered(
    opened: Reopened, told: TrialResult, step: Step, grade: Grade
) -> Iterator[str]:
    registration = opened.registration
    seed = seed_of(registration.plan.seed, told.key, step)
    if grade.seed != seed:
        yield f"graded with seed {grade.seed}, registered {seed}"
    seals = {seal.id: seal.digests.grader for seal in registration.cases}
    registered = seals[told.key.case]
    if grade.grader_digest != registered:
        yield f"graded by {grade.grader_digest[:12]}, registered {registered[:12]}"


def _replayed(
    opened: Reopened, found: StepEvidence, told: TrialResult, step: Step, grade: Grade
) -> list[str]:
    case = opened.cases[told.key.case]
    again = from_answers(opened, found, case, step, grade)
    if again.grade is None:
        return [f"the recorded answers give no grade: {again.why}"]
    return other_checks(grade, again.grade, wording=True)


def questioned(
    opened: Reopened,
    found: StepEvidence,
    key: TrialKey,
    step: Step,
    grade: Grade,
    box: Box,
) -> list[str]:
    """What a saved workspace, questioned again, says against a grade."""
    with files.private_folder() as private:
        kept = private / "new" / "answers.jsonl"
        try:
            again = from_workspace(opened, found, key, step, box=box, answers=kept)
        except StoppedEarlyError:
            raise
        except (EvalkitError, OSError, ValueError) as error:
            return [f"the saved workspace cannot be questioned: {error}"]
    if (again.died is None) != (grade.died is None):
        return [
            f"journaled {grade.died or 'a verdict'}, now {again.died or 'a verdict'}"
        ]
    return other_checks(grade, again, wording=False)


def other_checks(told: Grade, found: Grade, *, wording: bool) -> list[str]:
    """Checks that came out otherwise; reasons vary where a subject is questioned."""
    old = {check.id: check for check in told.checks}
    new = {check.id: check for check in found.checks}
    wrong: list[str] = []
    for name in dict.fromkeys([*old, *new]):
        one, two = old.get(name), new.get(name)
        if one is None or two is None:
            wrong.append(f"{name}: only {'journaled' if one else 'found now'}")
        elif (one.passed, one.weight) != (two.passed, two.weight):
            wrong.append(
                f"{name}: journaled {_mark(one.passed)} of weight {one.weight}, now "
                f"{_mark(two.passed)} of weight {two.weight} "
                f"({two.reason or one.reason or 'no reason'})"
            )
        elif wording and one.reason != two.reason:
            wrong.append(f"{name}: journaled {one.reason!r}, now {two.reason!r}")
    return wrong


def _mark(passed: bool) -> str:  # noqa: FBT001 - a word for it
    return "passed" if passed else "failed"
