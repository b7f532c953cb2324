"""Every arm against every comparator, on every measure, over these tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from evalkit import arms, stats
from evalkit.analysis.tallies import Priced
from evalkit.conclusions import CaseContrast
from evalkit.records import Contrast, Outcome, Registration
from evalkit.stats import Interval, Refusal, Stratum

QUESTION = "these tasks"
DIFFERENCES: dict[str, Callable[[Priced], float | None]] = {
    "score": lambda priced: priced.score,
    "passed": lambda priced: float(priced.passed),
}
RATIOS: dict[str, Callable[[Priced], float | None]] = {
    "tokens": lambda priced: priced.tokens,
    "usd": lambda priced: priced.usd,
    "wall_s": lambda priced: priced.wall_s,
}


class _Estimate(NamedTuple):
    """What is known of one contrast; sentences say what is not."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    ratio_of_totals: float | None = None
    interval_method: str | None = None
    p_method: str | None = None


def pairs_of(registration: Registration) -> tuple[tuple[str, str], ...]:
    """Arm and comparator of every contrast."""
    names = [seal.arm.name for seal in registration.arms]
    return arms.comparisons(names, registration.plan.comparators)


def strata_of(
    priced: Sequence[Priced], arm: str, comparator: str, measure: str
) -> list[Stratum]:
    """A stratum for each case, of the trials whose measure is known."""
    value_of = {**DIFFERENCES, **RATIOS}[measure]
    return [
        Stratum(mine, other)
        for _, mine, other in _cells(priced, arm, comparator, value_of)
    ]


def contrasts(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[Contrast, ...]:
    """Every arm against every comparator, over the analysed trials.

    Differences of means for `score` and `passed`, ratios of geometric means for
    `tokens`, `usd` and `wall_s`; cases weigh the same. Those that were declared to
    count are corrected by Holm for their number.
    """
    found = [
        _contrast(registration, priced, arm, comparator, measure)
        for arm, comparator in pairs_of(registration)
        for measure in (*DIFFERENCES, *RATIOS)
    ]
    plan = registration.plan
    family = {
        name: contrast
        for contrast in found
        for name in (arms.comparison(contrast.arm, contrast.comparator),)
        if contrast.measure == plan.outcome and name in (plan.confirmatory or ())
    }
    corrected = stats.holm({name: contrast.p for name, contrast in family.items()})
    declared = {
        id(contrast): msgspec.structs.replace(
            contrast, confirmatory=True, p_holm=corrected[name]
        )
        for name, contrast in family.items()
    }
    return tuple(declared.get(id(contrast), contrast) for contrast in found)


def case_contrasts(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[CaseContrast, ...]:
    """The difference in each case, with those of its blocks."""
    return tuple(
        CaseContrast(
            case=case,
            arm=arm,
            comparator=comparator,
            difference=Stratum(*cells).difference,
            pairs=tuple(mine - other for mine, other in zip(*cells, strict=True)),
        )
        for arm, comparator in pairs_of(registration)
        for case, *cells in _cells(priced, arm, comparator, DIFFERENCES["score"])
    )


def _contrast(
    registration: Registration,
    priced: Sequence[Priced],
    arm: str,
    comparator: str,
    measure: str,
) -> Contrast:
    own = [p for p in priced if p.trial.key.arm in {arm, comparator}]
    found = _estimate(registration, own, arm, comparator, measure)
    cases = {p.trial.key.case for p in own}
    return Contrast(
        arm=arm,
        comparator=comparator,
        measure=measure,
        question=QUESTION,
        estimate=found.value,
        low=found.low,
        high=found.high,
        p=found.p,
        n_blocks=len(own) // 2,
        n_cases=len(cases),
        refusal="; ".join(found.refusals) or None,
        warning="; ".join((*found.warnings, *_flags(own, measure))) or None,
        ratio_of_totals=found.ratio_of_totals,
        interval_method=found.interval_method,
        p_method=found.p_method,
        n_ties=_ties(own, arm, comparator, measure) if measure in DIFFERENCES else None,
        p_least=stats.least_p_of_strata(strata_of(own, arm, comparator, measure))
        if own and measure in DIFFERENCES
        else None,
    )


def _ties(own: Sequence[Priced], arm: str, comparator: str, measure: str) -> int:
    """Blocks whose two trials came out the same."""
    cells = _cells(own, arm, comparator, DIFFERENCES[measure])
    return sum(a == b for _, *pair in cells for a, b in zip(*pair, strict=True))


def _estimate(
    registration: Registration,
    own: Sequence[Priced],
    arm: str,
    comparator: str,
    measure: str,
) -> _Estimate:
    if not own:
        return _Estimate(refusals=("no estimate: no block is whole",))
    value_of = {**DIFFERENCES, **RATIOS}[measure]
    n_unknown = sum(value_of(p) is None for p in own)
    if n_unknown:
        return _Estimate(
            refusals=(
                f"no estimate: {measure} is not known of {n_unknown} of {len(own)} "
                f"trials",
            )
        )
    strata = strata_of(own, arm, comparator, measure)
    if measure in DIFFERENCES:
        found = _inferred(registration, strata)
        if found.low is None or found.high is None:
            return found
        low, high = within(found.low, found.high)
        return found._replace(low=low, high=high)
    totals = stats.ratio_of_totals(strata)
    logs = stats.log_strata(strata)
    if isinstance(logs, Refusal):
        return _Estimate(refusals=(logs.sentence,), ratio_of_totals=totals)
    return _as_ratio(_inferred(registration, logs), totals)


def _inferred(registration: Registration, strata: Sequence[Stratum]) -> _Estimate:
    """The mean difference, its interval and its p, or why one is refused."""
    plan = registration.plan
    interval = stats.welch_interval(strata, confidence=plan.confidence)
    test = stats.permutation_test(strata, seed=plan.seed)
    known = interval if isinstance(interval, Interval) else None
    p = None if isinstance(test, Refusal) else test
    return _Estimate(
        value=stats.mean_difference(strata),
        low=known.low if known else None,
        high=known.high if known else None,
        p=p.p if p else None,
        refusals=tuple(x.sentence for x in (interval, test) if isinstance(x, Refusal)),
        warnings=reserve(known, strata),
        interval_method=stats.WELCH if known else None,
        p_method=p.method if p else None,
    )


def within(low: float, high: float) -> tuple[float, float]:
    """Limits of a difference of shares, which passes 1 under no law."""
    return max(-1.0, low), min(1.0, high)


def _as_ratio(logs: _Estimate, totals: float | None) -> _Estimate:
    def raised(value: float | None) -> float | None:
        return None if value is None else math.exp(value)

    return logs._replace(
        value=raised(logs.value),
        low=raised(logs.low),
        high=raised(logs.high),
        ratio_of_totals=totals,
        interval_method=stats.WELCH_LOG if logs.interval_method else None,
    )


def reserve(
    interval: Interval | Refusal | None, strata: Sequence[Stratum]
) -> tuple[str, ...]:
    """What to think of an interval where some cells have no spread.

    The figure is the least coverage found by `evalkit calibrate` (scenario rare).
    """
    if not isinstance(interval, Interval) or not interval.n_constant_cells:
        return ()
    n, n_cells = interval.n_constant_cells, 2 * len(strata)
    if 2 * n > n_cells:
        return (
            f"do not lean on this interval: in {n} of {n_cells} cells all trials came "
            f"out the same, and in simulated runs where trials failed seldom but wholly "
            f"as few as 44 in 100 such intervals held the truth",
        )
    return (
        f"the interval may be too narrow: in {n} of {n_cells} cells all trials came out "
        f"the same",
    )


def _flags(own: Sequence[Priced], measure: str) -> Iterator[str]:
    n_limit = sum(p.trial.status == Outcome.AGENT_LIMIT for p in own)
    n_died = sum(p.trial.status == Outcome.GRADER_DIED for p in own)
    n_understated = sum(p.trial.is_understated for p in own)
    if n_understated and measure in {"tokens", "usd"}:
        yield f"{n_understated} of {len(own)} trials used more tokens than are counted"
    if n_limit and measure in RATIOS:
        yield f"{n_limit} of {len(own)} trials met a limit of the agent: cut short"
    if n_died and measure in DIFFERENCES:
        yield f"{n_died} of {len(own)} trials score 0 because the grader died"


def _cells(
    priced: Sequence[Priced],
    arm: str,
    comparator: str,
    value_of: Callable[[Priced], float | None],
) -> Iterator[tuple[str, tuple[float, ...], tuple[float, ...]]]:
    """Case, values of the arm, values of the comparator, in order of repeat."""
    for case in dict.fromkeys(p.trial.key.case for p in priced):
        mine, other = (
            tuple(
                value
                for p in sorted(priced, key=lambda p: p.trial.key.repeat)
                if (p.trial.key.case, p.trial.key.arm) == (case, name)
                and (value := value_of(p)) is not None
            )
            for name in (arm, comparator)
        )
        if mine and other:
            yield case, mine, other
