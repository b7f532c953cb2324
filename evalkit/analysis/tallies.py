"""Counts, means and sums: by arm, by case, by check, and of what was spent."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from evalkit import stats, usage
from evalkit.conclusions import (
    ArmSummary,
    CaseArm,
    Exclusion,
    Flow,
    Overhead,
    Point,
    Proportion,
    Tokens,
)
from evalkit.facts import Facts, Trial
from evalkit.records import (
    Outcome,
    Record,
    Registration,
)

BASELINE = "baseline"
"""The arm that overhead is measured against."""


class Priced(Record, frozen=True):
    """An analysed trial with its measures; unknown is None."""

    trial: Trial
    score: float
    passed: bool
    tokens: int | None
    usd: float | None
    usd_list: float | None
    wall_s: float | None


def price_trials(
    found: Facts, rates: usage.Rates, accounting: str
) -> tuple[Priced, ...]:
    """The analysed trials, priced at the registered accounting and at list price."""
    return tuple(
        _priced(trial, rates, accounting) for trial in found.trials if trial.analysed
    )


def _priced(trial: Trial, rates: usage.Rates, accounting: str) -> Priced:
    score, passed = trial.score, trial.passed
    assert score is not None, "an analysed trial has a score"
    assert passed is not None, "an analysed trial passed or did not"
    return Priced(
        trial=trial,
        score=score,
        passed=passed,
        tokens=trial.tokens,
        usd=usage.dollars(trial.requests, rates, accounting),
        usd_list=usage.dollars(trial.requests, rates, usage.LIST),
        wall_s=trial.wall_s,
    )


def proportion(hits: Iterable[bool], confidence: float) -> Proportion:
    """How many of them are true, with the Wilson interval."""
    listed = list(hits)
    k, n = sum(listed), len(listed)
    low, high = stats.wilson(k, n, confidence=confidence) or (None, None)
    return Proportion(k, n, low, high)


def flow(registration: Registration, found: Facts) -> tuple[Flow, ...]:
    """Who took part, by arm; each stage less its exclusions is the next."""
    return tuple(
        _flow(arm.arm.name, [t for t in found.trials if t.key.arm == arm.arm.name])
        for arm in registration.arms
    )


def _flow(arm: str, trials: Sequence[Trial]) -> Flow:
    started = [t for t in trials if t.n_started]
    completed = [t for t in started if t.n_ended]
    scored = [t for t in completed if t.counts]
    analysed = [t for t in scored if t.analysed]
    faults = Counter(t.status for t in completed if not t.counts)
    exclusions = (
        Exclusion("planned", "never started", len(trials) - len(started)),
        Exclusion("started", "no attempt ended", len(started) - len(completed)),
        *(Exclusion("completed", reason, n) for reason, n in sorted(faults.items())),
        Exclusion(
            "scored",
            "another trial of its block has no result",
            len(scored) - len(analysed),
        ),
    )
    left = len(trials) - sum(exclusion.n for exclusion in exclusions)
    assert left == len(analysed), "the rows of the flow add up"
    kept = Counter(t.status for t in analysed)
    return Flow(
        arm=arm,
        planned=len(trials),
        started=len(started),
        completed=len(completed),
        scored=len(scored),
        analysed=len(analysed),
        exclusions=tuple(e for e in exclusions if e.n),
        agent_limit=kept[Outcome.AGENT_LIMIT],
        grader_died=kept[Outcome.GRADER_DIED],
    )


def arm_summaries(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[ArmSummary, ...]:
    """Each arm over its analysed trials, with its overhead against `baseline`."""
    by_arm = {
        seal.arm.name: [p for p in priced if p.trial.key.arm == seal.arm.name]
        for seal in registration.arms
    }
    return tuple(
        _arm_summary(
            registration,
            place,
            by_arm[seal.arm.name],
            None if seal.arm.name == BASELINE else by_arm.get(BASELINE),
        )
        for place, seal in enumerate(registration.arms)
    )


def _arm_summary(
    registration: Registration,
    place: int,
    own: Sequence[Priced],
    baseline: Sequence[Priced] | None,
) -> ArmSummary:
    seal = registration.arms[place]
    confidence = registration.plan.confidence
    score_low, score_high = _limits(own, lambda p: p.score, confidence)
    usd_low, usd_high = _limits(own, lambda p: p.usd, confidence)
    scores = [mean(cell) for cell in _cells(own, lambda p: p.score)]
    return ArmSummary(
        arm=seal.arm.name,
        home=seal.arm.home,
        prompt=seal.arm.prompt,
        library=seal.library_source,
        n_trials=len(own),
        score=mean(scores),
        score_low=None if score_low is None else max(0.0, score_low),
        score_high=None if score_high is None else min(1.0, score_high),
        passed=proportion((p.passed for p in own), confidence),
        n_at_ceiling=sum(p.score == 1 for p in own),
        tokens=_tokens(own),
        usd=mean([p.usd for p in own]),
        usd_low=usd_low,
        usd_high=usd_high,
        usd_list=mean([p.usd_list for p in own]),
        wall_s=mean([p.wall_s for p in own]),
        n_calls=mean([len(p.trial.calls) for p in own]),
        overhead=_overhead(own, baseline) if own and baseline else None,
        n_understated=sum(p.trial.is_understated for p in own),
    )


def _cells(
    own: Sequence[Priced], measure: Callable[[Priced], float | None]
) -> list[list[float | None]]:
    """A measure of an arm's trials, case by case."""
    return [
        [measure(p) for p in own if p.trial.key.case == case]
        for case in dict.fromkeys(p.trial.key.case for p in own)
    ]


def _limits(
    own: Sequence[Priced],
    measure: Callable[[Priced], float | None],
    confidence: float,
) -> tuple[float | None, float | None]:
    """Interval of an arm's mean; None where one is refused or a value not known."""
    known = [
        [value for value in cell if value is not None] for cell in _cells(own, measure)
    ]
    if not known or sum(map(len, known)) < len(own):
        return None, None
    found = stats.mean_interval(known, confidence=confidence)
    return (None, None) if isinstance(found, stats.Refusal) else (found.low, found.high)


def mean(values: Sequence[float | None]) -> float | None:
    """Mean; None where there are none or one is not known."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return math.fsum(known) / len(known)


def _tokens(own: Sequence[Priced]) -> Tokens | None:
    reported = [p.trial.requests for p in own]
    known = [requests for requests in reported if requests is not None]
    if not known or len(known) < len(reported):
        return None
    each = {
        name: sum(getattr(r, name) for requests in known for r in requests) / len(own)
        for name in usage.CLASSES
    }
    total = sum(usage.total_tokens(r) for requests in known for r in requests)
    fresh = each["input"] + each["write_5m"] + each["write_1h"]
    return Tokens(**each, fresh=fresh, total=total / len(own))


def _overhead(own: Sequence[Priced], baseline: Sequence[Priced]) -> Overhead:
    def ratio(measure: Callable[[Priced], float | None]) -> float | None:
        mine, other = mean([*map(measure, own)]), mean([*map(measure, baseline)])
        return mine / other if mine is not None and other else None

    return Overhead(
        tokens=ratio(lambda p: p.tokens),
        usd=ratio(lambda p: p.usd),
        usd_list=ratio(lambda p: p.usd_list),
        wall_s=ratio(lambda p: p.wall_s),
    )


def case_arms(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[CaseArm, ...]:
    """Every case in every arm, with the analysed trials behind it."""
    return tuple(
        CaseArm(
            case=case.id,
            arm=seal.arm.name,
            score=mean([p.score for p in own]),
            passed=proportion((p.passed for p in own), registration.plan.confidence),
            points=tuple(_point(p) for p in own),
        )
        for case in registration.cases
        for seal in registration.arms
        for own in (_cell(priced, case.id, seal.arm.name),)
    )


def _cell(priced: Sequence[Priced], case: str, arm: str) -> list[Priced]:
    own = [p for p in priced if (p.trial.key.case, p.trial.key.arm) == (case, arm)]
    return sorted(own, key=lambda p: p.trial.key.repeat)


def _point(priced: Priced) -> Point:
    return Point(
        repeat=priced.trial.key.repeat,
        score=priced.score,
        passed=priced.passed,
        outcome=priced.trial.status,
        tokens=priced.tokens,
        usd=priced.usd,
        wall_s=priced.wall_s,
    )
