"""What the run used and cost, and how completely that is known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from evalkit import facts
from evalkit.analysis.tallies import Priced
from evalkit.conclusions import (
    Cost,
    Disagreement,
    PurposeRow,
    Spend,
    UsageReport,
)
from evalkit.facts import Attempt, Facts
from evalkit.records import Call, Registration, Request
from evalkit.usage import LIST, Rates, dollars, total_tokens


def usage_reports(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[UsageReport, ...]:
    """How completely each arm's usage is known, over its analysed trials."""
    return tuple(
        _usage_report(name, [p for p in priced if p.trial.key.arm == name])
        for name in (seal.arm.name for seal in registration.arms)
    )


def cost(registration: Registration, found: Facts, rates: Rates) -> Cost:
    """Spent on all attempts, and on those that count towards a result."""
    accounting = registration.plan.accounting
    counted = [attempt for attempt in found.attempts if attempt.counts]
    return Cost(
        all_attempts=_spend(found.attempts, rates, accounting),
        counted=_spend(counted, rates, accounting),
        max_calls=registration.plan.budget.max_calls,
        n_planned_calls=registration.n_planned_calls,
    )


def purpose_rows(
    registration: Registration, priced: Sequence[Priced], rates: Rates
) -> tuple[PurposeRow, ...]:
    """Calls, tokens and dollars of each arm by what calls were for."""
    accounting = registration.plan.accounting
    made = [(p.trial.key.arm, *used) for p in priced for used in _calls(p)]
    groups = dict.fromkeys((arm, call.purpose) for arm, call, _ in made)
    arms = [seal.arm.name for seal in registration.arms]
    return tuple(
        _purpose_row(
            arm,
            purpose,
            [(c, r) for name, c, r in made if (name, c.purpose) == (arm, purpose)],
            rates,
            accounting,
        )
        for arm, purpose in sorted(groups, key=lambda pair: arms.index(pair[0]))
    )


def disagreements(priced: Sequence[Priced]) -> tuple[Disagreement, ...]:
    """Every step on whose usage reporters differ."""
    return tuple(
        Disagreement(str(p.trial.key), step.slug, step.disagreement)
        for p in priced
        for step in facts.steps_of(p.trial.result)
        if step.disagreement is not None
    )


def _calls(priced: Priced) -> Iterator[tuple[Call, list[Request] | None]]:
    """Each call with its requests; None where it reports none and nobody looked."""
    for step in facts.steps_of(priced.trial.result):
        for n, call in enumerate(step.calls):
            own = [request for request in step.requests if request.call == n]
            yield call, own if own or facts.is_watched(step) else None


def _purpose_row(
    arm: str,
    purpose: str,
    made: Sequence[tuple[Call, list[Request] | None]],
    rates: Rates,
    accounting: str,
) -> PurposeRow:
    reported = [own for _, own in made if own is not None]
    requests = [request for own in reported for request in own]
    known = requests if len(reported) == len(made) else None
    return PurposeRow(
        arm=arm,
        purpose=purpose,
        n_calls=len(made),
        n_reported=len(reported),
        tokens=None if known is None else sum(map(total_tokens, known)),
        usd=dollars(known, rates, accounting),
        usd_list=dollars(known, rates, LIST),
        wall_s=math.fsum(call.wall_s for call, _ in made),
    )


def _usage_report(arm: str, own: Sequence[Priced]) -> UsageReport:
    steps = [step for p in own for step in facts.steps_of(p.trial.result)]
    requests = [request for step in steps for request in step.requests]
    return UsageReport(
        arm=arm,
        n_trials=len(own),
        n_reported=sum(p.tokens is not None for p in own),
        n_priced=sum(p.usd_list is not None for p in own),
        n_disagreements=sum(step.disagreement is not None for step in steps),
        n_incomplete_requests=sum(r.status != "complete" for r in requests),
        n_unknown_requests=_sum_known(step.n_unknown_requests for step in steps),
        sources=dict(Counter(request.source for request in requests)),
        statuses=dict(Counter(request.status for request in requests)),
    )


def _spend(attempts: Sequence[Attempt], rates: Rates, accounting: str) -> Spend:
    used = [facts.requests_of(attempt.result) for attempt in attempts]
    known = [requests for requests in used if requests is not None]
    calls = [call for a in attempts for call in facts.calls_of(a.result)]
    return Spend(
        n_attempts=len(attempts),
        n_unreported=len(used) - len(known),
        n_calls=len(calls),
        tokens=sum(total_tokens(r) for requests in known for r in requests)
        if known
        else None,
        usd=_total([dollars(requests, rates, accounting) for requests in known]),
        usd_list=_total([dollars(requests, rates, LIST) for requests in known]),
        wall_s=_total([call.wall_s for call in calls]),
        n_understated=sum(facts.is_understated(a.result) for a in attempts),
    )


def _sum_known(counts: Iterable[int | None]) -> int | None:
    """Sum of the counts there are; None where there is none."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _total(values: Sequence[float | None]) -> float | None:
    """Sum; None where there is nothing, or one has no price."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if known and len(known) == len(values) else None
