"""Claims of many simulated runs, counted: how often do they hold what is true? Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from evalkit.calibration.judging import Outcome
from evalkit.records import Record
from evalkit.stats.results import CLOSE, mean, variance

N_ERRORS = 2
"""Monte Carlo standard errors beyond which a rate is flagged."""


class Rate(Record, frozen=True):
    """A share of `n`, with its Monte Carlo standard error; None of nothing."""

    n: int
    value: float | None
    error: float | None

    def below(self, nominal: float) -> bool:
        """True where it is less than nominal by more than chance explains."""
        return self._beyond(nominal, -1)

    def above(self, nominal: float) -> bool:
        """True where it is more than nominal by more than chance explains."""
        return self._beyond(nominal, 1)

    def _beyond(self, nominal: float, sign: int) -> bool:
        if self.value is None or self.error is None:
            return False
        return sign * (self.value - nominal) > N_ERRORS * self.error


class Row(Record, frozen=True):
    """One method at one planted effect.

    `bias` is the mean of estimate less truth, with `bias_error`. `coverage` counts
    the intervals that hold the truth among those given, `unwarned` among those without
    a warning, `mostly_constant` among those of mostly constant cells. `rejected` counts
    p <= 1 - confidence among all runs, a refused p being none; where that would be false
    of the planted effect, among the runs of whose truth it is, so that it is the rate of
    false positives. `width` is the intervals' mean, `margin` that of the claim.
    """

    scenario: str
    question: str
    measure: str
    effect: float
    n_runs: int
    bias: float
    bias_error: float | None
    refused: Rate
    refused_p: Rate
    coverage: Rate
    too_narrow: bool
    warned: Rate
    unwarned: Rate
    mostly_constant: Rate
    rejected: Rate
    too_eager: bool
    width: float | None
    margin: float | None


class Calibration(Record, frozen=True):
    """Every row of some scenarios, and what it takes to make them again."""

    n_runs: int
    seed: int
    confidence: float
    rows: tuple[Row, ...]


def rate(hits: Iterable[bool]) -> Rate:
    """How many of them are true."""
    listed = list(hits)
    if not listed:
        return Rate(0, None, None)
    value = sum(listed) / len(listed)
    return Rate(len(listed), value, math.sqrt(value * (1 - value) / len(listed)))


def row(
    scenario: str, effect: float, outcomes: Sequence[Outcome], confidence: float
) -> Row:
    """Count what one method said in every run with one planted effect."""
    claim, alpha = outcomes[0].claim, 1 - confidence
    given = [(o, o.claim.interval) for o in outcomes if o.claim.interval]
    coverage = rate(o.holds for o, _ in given)
    is_null = claim.is_null(effect)
    asked = [o.claim.p for o in outcomes if not is_null or claim.is_null(o.truth)]
    rejected = rate(p is not None and p <= alpha + CLOSE for p in asked)
    misses = [o.claim.estimate - o.truth for o in outcomes]
    return Row(
        scenario=scenario,
        question=claim.question,
        measure=claim.measure,
        effect=effect,
        n_runs=len(outcomes),
        bias=mean(misses),
        bias_error=math.sqrt(variance(misses) / len(misses)) if misses[1:] else None,
        refused=rate(
            o.claim.interval is None for o in outcomes if o.claim.margin is None
        ),
        refused_p=rate(o.claim.p is None for o in outcomes),
        coverage=coverage,
        too_narrow=coverage.below(confidence),
        warned=rate(o.claim.warned for o, _ in given),
        unwarned=rate(o.holds for o, _ in given if not o.claim.warned),
        mostly_constant=rate(o.holds for o, _ in given if o.claim.mostly_constant),
        rejected=rejected,
        too_eager=is_null and rejected.above(alpha),
        width=mean([high - low for _, (low, high) in given]) if given else None,
        margin=claim.margin,
    )
