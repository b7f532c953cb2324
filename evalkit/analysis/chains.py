"""Chains step by step: how far trials came, with what score, and at what price."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalkit import facts, scoring, usage
from evalkit.analysis.tallies import Priced, mean
from evalkit.conclusions import NONE, StepPoint, StepRow
from evalkit.facts import step_of
from evalkit.records import CaseSeal, Registration, StepResult


def step_rows(
    registration: Registration, priced: Sequence[Priced], rates: usage.Rates
) -> tuple[StepRow, ...]:
    """Every step of every chain in every arm, over the analysed trials."""
    accounting = registration.plan.accounting
    return tuple(
        _row(case, n, seal.arm.name, priced, rates, accounting)
        for case in registration.cases
        if len(case.steps) > 1
        for n in range(len(case.steps))
        for seal in registration.arms
    )


def _row(
    case: CaseSeal,
    n: int,
    arm: str,
    priced: Sequence[Priced],
    rates: usage.Rates,
    accounting: str,
) -> StepRow:
    own = [p for p in priced if (p.trial.key.case, p.trial.key.arm) == (case.id, arm)]
    own.sort(key=lambda p: p.trial.key.repeat)
    points = tuple(
        _point(
            p.trial.key.repeat,
            step_of(p.trial.result, case.steps[n]),
            rates,
            accounting,
        )
        for p in own
    )
    reached = [point for point in points if point.score is not None]
    return StepRow(
        case=case.id,
        step=case.steps[n],
        n=n + 1,
        arm=arm,
        n_trials=len(points),
        n_reached=len(reached),
        score=mean([point.score or 0.0 for point in points]),
        tokens=mean([point.tokens for point in reached]),
        usd=mean([point.usd for point in reached]),
        wall_s=mean([point.wall_s for point in reached]),
        points=points,
    )


def _point(
    repeat: int, step: StepResult, rates: usage.Rates, accounting: str
) -> StepPoint:
    if step.not_reached:
        return StepPoint(repeat)
    requests = facts.requests_of_step(step)
    return StepPoint(
        repeat=repeat,
        score=scoring.grade_score(step.grade),
        ended=step.calls[-1].ended.value,
        usd=usage.dollars(requests, rates, accounting),
        tokens=None if requests is None else sum(map(usage.total_tokens, requests)),
        wall_s=math.fsum(call.wall_s for call in step.calls),
        picked=_picked(step),
    )


def _picked(step: StepResult) -> str | None:
    """The skill routing gave the step; None where it is not routed."""
    if step.selection is None:
        return None
    return step.selection.picked or NONE
