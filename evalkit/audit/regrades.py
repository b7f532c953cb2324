"""Verdicts given again: each held against its first result, and made once more.

A line that says `from the answers` must be what the recorded answers give; one
that says its workspace was questioned again must come with what was answered
then, and both these answers and the workspace must give what it says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from evalkit import files, outcomes
from evalkit.audit.finding import UNKNOWN, Finding, judged
from evalkit.audit.verdicts import MAX_LISTED, other_checks, questioned
from evalkit.errors import EvalkitError
from evalkit.evidence import Evidence, StepEvidence
from evalkit.grading import read_verdict
from evalkit.records import (
    Case,
    Deviation,
    Event,
    Grade,
    Record,
    Regraded,
    Step,
    StepResult,
    TrialResult,
)
from evalkit.registration import differing
from evalkit.regrade import FOLDER
from evalkit.regrade.again import ANSWERS, Reopened, from_answers, ways_of
from evalkit.sandbox import Box
from evalkit.standing import results_of
from evalkit.trial import seed_of


class Held(Record, frozen=True):
    """What is wrong with a verdict given again, and what cannot be known here."""

    wrong: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Holder(Record, frozen=True):
    """What it takes to hold verdicts given again to account.

    `box` is None where there is no sandbox; `moved` names cases whose task or
    fixture is not the registered one here.
    """

    opened: Reopened
    run: Path
    events: tuple[Event, ...]
    box: Box | None
    moved: frozenset[str]

    def hold(self, told: Regraded) -> Held:
        """Hold one verdict given again to account."""
        key, attempt = told.result.key, told.result.attempt
        name = f"{key}, attempt {attempt}, graded again"
        first = next(
            (
                result
                for result in results_of(self.events)
                if (result.key, result.attempt) == (key, attempt)
            ),
            None,
        )
        if first is None:
            return Held((f"{name}: but never graded at first",))
        wrong = [*_beside_the_grade(first, told.result)]
        damaged = [*_damaged(self.run, told)]
        wrong += [*damaged, *self._unannounced(told)]
        case = self.opened.cases.get(key.case)
        if case is None or key.case in self.moved:
            unknown = [f"case {key.case} is not here as registered"]
            return _held(name, wrong, unknown)
        found = self._grades(first, told, case, damaged=bool(damaged))
        return _held(name, [*wrong, *found.wrong], found.unknown)

    def _unannounced(self, told: Regraded) -> Iterator[str]:
        """Another grader than registered is a departure, and journaled as one."""
        case = told.result.key.case
        seals = {s.id: s.digests.grader for s in self.opened.registration.cases}
        noted = {
            body.found
            for event in self.events
            if isinstance(body := event.body, Deviation)
            and body.what.startswith(f"grader of {case},")
        }
        for digest in _graders(told.result) - {seals.get(case), *noted}:
            yield (
                f"graded by {digest[:12]}, which is not the registered grader, and no "
                f"line tells of that departure"
            )

    def _grades(
        self, first: TrialResult, told: Regraded, case: Case, *, damaged: bool
    ) -> Held:
        grades = {s.slug: s.grade for s in told.result.steps if s.grade}
        ways = ways_of(told.how, list(grades))
        if ways is None:
            return Held((f"says {told.how!r}, which is no way of grading its steps",))
        held = Held()
        for step in case.steps:
            grade = grades.get(step.slug)
            if grade is None:
                continue
            by_answers = ways[step.slug] == ANSWERS
            kept = None if by_answers else self._kept(told, step)
            wrong = list(self._as_told(first, step, grade))
            if not by_answers and kept is None:
                wrong.append("questioned again, but no answers are kept")
            elif kept and not damaged and read_verdict(kept.answers) != grade:
                wrong.append("its kept answers state another grade")
            usable = None if damaged else kept
            found = self._made_again(first, usable, case, step, grade, by_answers)
            named = _held(step.slug, [*wrong, *found.wrong], found.unknown)
            held = Held(held.wrong + named.wrong, held.unknown + named.unknown)
        return held

    def _as_told(self, first: TrialResult, step: Step, grade: Grade) -> Iterator[str]:
        seed = seed_of(self.opened.registration.plan.seed, first.key, step)
        if grade.seed != seed:
            yield f"graded with seed {grade.seed}, registered {seed}"

    def _made_again(
        self,
        first: TrialResult,
        kept: StepEvidence | None,
        case: Case,
        step: Step,
        grade: Grade,
        by_answers: bool,  # noqa: FBT001 - one of two ways
    ) -> Held:
        """Make a grade given again once more, where its grader is here."""
        if grade.grader_digest != case.digests.grader:
            by = f"graded by {grade.grader_digest[:12]}, a grader that is not here"
            return Held((), (by,))
        if by_answers:
            return Held(tuple(self._replayed(first, case, step, grade)))
        missing = () if self.box else ("its workspace cannot be questioned here",)
        return Held(tuple(self._asked_again(first, kept, case, step, grade)), missing)

    def _replayed(
        self, first: TrialResult, case: Case, step: Step, grade: Grade
    ) -> list[str]:
        """What the recorded answers say against a grade made from them."""
        if case.grader_command is not None:
            return [f"{ANSWERS}, but a foreign grader leaves none to ask for again"]
        evidence = Evidence(self.run, first.key, first.attempt).step(step)
        return self._from(evidence, case, step, grade, ANSWERS)

    def _asked_again(
        self,
        first: TrialResult,
        kept: StepEvidence | None,
        case: Case,
        step: Step,
        grade: Grade,
    ) -> list[str]:
        """What kept answers and the workspace say against a grade from these."""
        wrong: list[str] = []
        if kept is not None and grade.died is None:
            wrong += self._from(kept, case, step, grade, "from the answers kept")
        if self.box is not None:
            evidence = Evidence(self.run, first.key, first.attempt).step(step)
            found = questioned(self.opened, evidence, first.key, step, grade, self.box)
            wrong += [f"its workspace, questioned again: {one}" for one in found]
        return wrong

    def _from(
        self, answers: StepEvidence, case: Case, step: Step, grade: Grade, told: str
    ) -> list[str]:
        again = from_answers(self.opened, answers, case, step, grade)
        if again.grade is None or grade.died is not None:
            return [f"{told}: {grade.died or 'these give no grade'}; {again.why}"]
        found = other_checks(grade, again.grade, wording=True)
        return [f"{told}: {one}" for one in found]

    def _kept(self, told: Regraded, step: Step) -> StepEvidence | None:
        """The folder of new answers of a step, where the line names them."""
        tail = Path(_tail(told.result), step.folder, "answers.jsonl")
        for path in map(Path, told.answers):
            if path.parts[2:] == tail.parts:
                return StepEvidence((self.run / path).parent)
        return None


def judge(held: Sequence[Held]) -> Finding:
    """The finding about all verdicts given again."""
    wrong = [fault for one in held for fault in one.wrong]
    unknown = tuple(reason for one in held for reason in one.unknown)
    if unknown and not wrong:
        told = "Some verdicts given again cannot be made once more here."
        return Finding("regrades", UNKNOWN, unknown, told)
    return judged(
        "regrades",
        wrong,
        well=f"{len(held)} verdicts given again, each made once more as journaled"
        if held
        else "no verdict was given again",
        good="First verdicts stand; those given again are kept beside them.",
        bad="A verdict given again does not follow from the evidence, or what was kept "
        "of it is damaged.",
    )


def _held(name: str, wrong: Sequence[str], unknown: Sequence[str]) -> Held:
    return Held(
        tuple(f"{name}: {one}" for one in wrong),
        tuple(f"{name}: {one}" for one in unknown),
    )


def _graders(result: TrialResult) -> set[str]:
    return {step.grade.grader_digest for step in result.steps if step.grade}


def _tail(result: TrialResult) -> str:
    return f"{result.key}/{result.attempt}"


def _beside_the_grade(first: TrialResult, told: TrialResult) -> Iterator[str]:
    """What a regrade must not change, and what follows from the grades it gave."""
    grades = {step.slug: step.grade for step in told.steps}
    steps = tuple(_regraded(step, grades.get(step.slug)) for step in first.steps)
    outcome, reason = outcomes.outcome_of(steps, outcomes.registered_table())
    expected = msgspec.structs.replace(
        first, steps=steps, outcome=outcome, reason=reason
    )
    both = [msgspec.to_builtins(one) for one in (told, expected)]
    yield from list(differing("result", *both))[:MAX_LISTED]


def _regraded(step: StepResult, grade: Grade | None) -> StepResult:
    if step.grade is None or grade is None:
        return step
    return msgspec.structs.replace(step, grade=grade)


def _damaged(run: Path, told: Regraded) -> Iterator[str]:
    """What is wrong with the files that a line names as its new answers."""
    tail = Path(_tail(told.result)).parts
    for path, digest in told.answers.items():
        try:
            inside = files.safe_relative(path)
            where = run / inside
            if inside.parts[0] != FOLDER or inside.parts[2:4] != tail:
                yield f"{path} is no place for its answers"
                continue
            found = files.sha256(files.read_regular(where, max_bytes=2**30))
            if found != digest:
                yield f"{path} is {found}, journaled {digest}"
            elif where.name == "answers.jsonl":
                read_verdict(where)
        except (EvalkitError, OSError) as error:
            yield str(error)
