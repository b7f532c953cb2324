"""What two results of one attempt say otherwise."""

from __future__ import annotations

import msgspec

from evalkit import wording
from evalkit.conclusions import Difference
from evalkit.records import CheckResult, Grade, StepResult, TrialResult

MAX_SHOWN = 200
"""Characters of a value that a difference shows."""


def differences(first: TrialResult, again: TrialResult) -> tuple[Difference, ...]:
    """What two results of one attempt say otherwise; times and wording apart."""
    found: list[Difference] = []
    if first.outcome is not again.outcome:
        found.append(
            Difference("", "outcome", first.outcome, again.outcome, again.reason)
        )
    others = {step.slug: step for step in again.steps}
    for step in first.steps:
        other = others.pop(step.slug, None) or StepResult(step.slug)
        found += _step_differences(step, other)
    for step in others.values():
        found += _step_differences(StepResult(step.slug), step)
    return tuple(found)


def _step_differences(first: StepResult, again: StepResult) -> list[Difference]:
    told = [
        Difference(first.slug, name, _brief(old), _brief(new), "read otherwise")
        for name in StepResult.__struct_fields__
        if name not in {"slug", "grade"}
        for old, new in [(getattr(first, name), getattr(again, name))]
        if old != new
    ]
    return [*told, *_grade_differences(first.slug, first.grade, again.grade)]


def _grade_differences(
    slug: str, first: Grade | None, again: Grade | None
) -> list[Difference]:
    stood, stands = (_standing(grade) for grade in (first, again))
    if stood != stands:
        why = (again.died if again else None) or (first.died if first else None) or ""
        return [Difference(slug, "grader", stood, stands, why)]
    old = {check.id: check for check in first.checks} if first else {}
    new = {check.id: check for check in again.checks} if again else {}
    return [
        Difference(slug, name, before, after, _reason(new.get(name), old.get(name)))
        for name in dict.fromkeys([*old, *new])
        for before, after in [(_mark(old.get(name)), _mark(new.get(name)))]
        if before != after
    ]


def _standing(grade: Grade | None) -> str:
    return "no grade" if grade is None else "died" if grade.died else "gave a verdict"


def _mark(check: CheckResult | None) -> str:
    if check is None:
        return "no such check"
    return f"{'passed' if check.passed else 'failed'}, weight {check.weight}"


def _reason(*checks: CheckResult | None) -> str:
    return next((check.reason for check in checks if check and check.reason), "")


def _brief(value: object) -> str:
    return wording.begin(msgspec.json.encode(value).decode(), MAX_SHOWN)
