"""Time until the work was done, with trials cut off at the limit as what they are.

The clock is that of all calls of a trial, the choice of a skill among them, and the
limit that of one call for each step of its case: trials of cases with other limits
are never put into one mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalkit import stats
from evalkit.analysis.contrasts import pairs_of
from evalkit.analysis.tallies import Priced
from evalkit.conclusions import TimeContrast, TimePoint, TimeRow
from evalkit.facts import Trial, step_of
from evalkit.records import Ended, Registration
from evalkit.stats import Refusal, Times


class _Group(NamedTuple):
    """Cases whose trials have the same limit."""

    cases: tuple[str, ...]
    n_steps: int
    limit_s: float


def time_rows(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[TimeRow, ...]:
    """Every arm to each limit there is, over its analysed trials."""
    return tuple(
        _row(group, seal.arm.name, priced)
        for group in _groups(registration)
        for seal in registration.arms
    )


def time_contrasts(
    registration: Registration, rows: Sequence[TimeRow]
) -> tuple[TimeContrast, ...]:
    """Every arm against every comparator, to each limit."""
    found = {(row.limit_s, row.arm): row for row in rows}
    return tuple(
        _contrast(found[limit_s, arm], found[limit_s, comparator])
        for limit_s in dict.fromkeys(row.limit_s for row in rows)
        for arm, comparator in pairs_of(registration)
    )


def _groups(registration: Registration) -> Iterator[_Group]:
    call_s = registration.plan.limits.call_timeout_ms / 1000
    for n in dict.fromkeys(len(case.steps) for case in registration.cases):
        cases = tuple(c.id for c in registration.cases if len(c.steps) == n)
        yield _Group(cases, n, n * call_s)


def _row(group: _Group, arm: str, priced: Sequence[Priced]) -> TimeRow:
    own = [
        p.trial
        for p in priced
        if p.trial.key.arm == arm and p.trial.key.case in group.cases
    ]
    points = [_point(trial, group) for trial in own]
    known = tuple(point for point in points if point is not None)
    refusal = _refusal(group, known)
    times = _times(known, group.limit_s)
    return TimeRow(
        arm=arm,
        cases=group.cases,
        limit_s=group.limit_s,
        n=len(known),
        n_cut=sum(not point.finished for point in known),
        n_failed=len(own) - len(known),
        restricted_mean_s=None if refusal else stats.restricted_mean_time(times),
        median_s=None if refusal else stats.median_time(times),
        points=known,
        refusal=refusal,
    )


def _point(trial: Trial, group: _Group) -> TimePoint | None:
    """None where the trial neither finished nor was cut off by the clock."""
    ended = [_ended(trial, slug) for slug in trial.steps]
    cut = Ended.TIMED_OUT in ended
    if not cut and set(ended) != {Ended.FINISHED}:
        return None
    total_s = math.fsum(call.wall_s for call in trial.calls)
    if cut and group.n_steps == 1:
        total_s = group.limit_s
    return TimePoint(
        case=trial.key.case,
        repeat=trial.key.repeat,
        seconds=min(total_s, group.limit_s),
        # A choice before the work may take a trial past the limit of one call.
        finished=not cut and total_s <= group.limit_s,
    )


def _ended(trial: Trial, slug: str) -> Ended | None:
    """How the last call of a step ended, which did the work; None where none did."""
    calls = step_of(trial.result, slug).calls
    return calls[-1].ended if calls else None


def _refusal(group: _Group, known: Sequence[TimePoint]) -> str | None:
    if not known:
        return "no time: no trial finished or was cut off by the clock"
    n_cut = sum(not point.finished for point in known)
    if group.n_steps > 1 and n_cut:
        # One step's limit ended the whole chain, long before the sum of all.
        return (
            f"no mean to the limit: {n_cut} of {len(known)} chains were cut off in a "
            f"step, and nobody knows what the steps after it would have taken"
        )
    return None


def _times(points: Sequence[TimePoint], limit_s: float) -> Times:
    return Times(
        tuple(point.seconds for point in points),
        tuple(point.finished for point in points),
        limit_s,
    )


def _contrast(arm: TimeRow, comparator: TimeRow) -> TimeContrast:
    refused = [f"{row.arm}: {row.refusal}" for row in (arm, comparator) if row.refusal]
    if refused:
        return _refused(arm, comparator, "; ".join(refused))
    found = stats.contrast_times(
        *(_times(row.points, row.limit_s) for row in (arm, comparator))
    )
    if isinstance(found, Refusal):
        return _refused(arm, comparator, found.sentence)
    test = found.test
    refusal = test.sentence if isinstance(test, Refusal) else None
    return TimeContrast(
        arm=arm.arm,
        comparator=comparator.arm,
        limit_s=found.limit_s,
        difference_s=found.mean_s - found.comparator_mean_s,
        p=None if isinstance(test, Refusal) else test.p,
        refusal=refusal,
    )


def _refused(arm: TimeRow, comparator: TimeRow, sentence: str) -> TimeContrast:
    return TimeContrast(arm.arm, comparator.arm, arm.limit_s, None, None, sentence)
