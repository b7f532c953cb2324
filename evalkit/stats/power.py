"""What a design can detect, before anything is run. Pure.

By noncentral t for few cases, by Miller's formula (2024) for many, and for these
tasks by the same t on the error of the stratified difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import scipy

from evalkit.stats.tasks import t_quantile


class Spread(NamedTuple):
    """Miller's variances: of true differences between cases, and of answers.

    `between` is w^2; `arm` and `comparator` are s^2 of one answer in each.
    """

    between: float
    arm: float
    comparator: float

    def per_case(self, n_repeats: float) -> float:
        """Variance of one case's difference; repeats may be infinite."""
        return self.between + (self.arm + self.comparator) / n_repeats


class Detectable(NamedTuple):
    """The least difference a design detects, were trials spread by `sd`."""

    sd: float
    difference: float


def t_detectable(
    n: int, *, sd: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Least mean difference that a t test of n case differences detects.

    Args:
        n: Cases, at least 2.
        sd: Assumed spread of the differences between cases.
        alpha: Two-sided level.
        power: Probability of detecting it.
    """
    if n < 2:
        raise ValueError("a t test needs two cases")
    return sd / math.sqrt(n) * _shift(n - 1, alpha, power)


def t_sample_size(
    difference: float, *, sd: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Cases, not rounded, with which a t test detects a mean difference."""
    if not difference:
        raise ValueError("no number of cases detects a difference of 0")

    def excess(n: float) -> float:
        shift = difference / sd * math.sqrt(n)
        return _power(shift, n - 1, alpha) - power

    # A t test has no fewer than two cases, whatever it could detect.
    if excess(2.0) >= 0:
        return 2.0
    high = 4.0
    while excess(high) < 0:
        high *= 2
    return float(scipy.optimize.brentq(excess, high / 2, high))


def stratified_detectable(
    cells: Sequence[tuple[int, int]],
    spreads: Sequence[float],
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> tuple[Detectable, ...]:
    """These tasks: least mean difference detected, for each assumed spread.

    Args:
        cells: Trials of each case in the arm and in the comparator, at least 2.
        spreads: Assumed standard deviations of trials inside a case and arm.
        alpha: Two-sided level.
        power: Probability of detecting it.
    """
    if not cells or min(min(cell) for cell in cells) < 2:
        raise ValueError("the spread of trials needs two in every case and arm")
    df = sum(n_arm + n_other - 2 for n_arm, n_other in cells)
    unit = math.sqrt(sum(1 / n_arm + 1 / n_other for n_arm, n_other in cells))
    shift = _shift(df, alpha, power) / len(cells)
    return tuple(Detectable(sd, sd * unit * shift) for sd in spreads)


def z_sum(*, alpha: float = 0.05, power: float = 0.8) -> float:
    """Quantiles of a two-sided level and of a power, added."""
    return float(scipy.special.ndtri(1 - alpha / 2) + scipy.special.ndtri(power))


def miller_sample_size(
    difference: float,
    spread: Spread,
    *,
    n_repeats: float = math.inf,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """Cases, not rounded, to detect a mean difference; right for many only."""
    z = z_sum(alpha=alpha, power=power)
    return z**2 * spread.per_case(n_repeats) / difference**2


def miller_detectable(
    n: int,
    spread: Spread,
    *,
    n_repeats: float = math.inf,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """Least mean difference that n cases detect; too small a number for few."""
    return z_sum(alpha=alpha, power=power) * math.sqrt(spread.per_case(n_repeats) / n)


def _power(shift: float, df: float, alpha: float) -> float:
    limit = t_quantile(df, confidence=1 - alpha)
    # The lower tail as the upper one of the mirrored law: scipy's own lower tail is
    # not a number from shifts of about 5 on.
    either = (scipy.stats.nct.sf(limit, df, side) for side in (shift, -shift))
    return float(sum(either))


def _shift(df: float, alpha: float, power: float) -> float:
    """How many standard errors a detectable difference measures.

    It is 0 where the level alone is as great as the power.
    """
    if not 0 < power < 1:
        raise ValueError(f"power lies between 0 and 1, found {power}")

    def excess(shift: float) -> float:
        return _power(shift, df, alpha) - power

    if excess(0.0) >= 0:
        return 0.0
    high = 1.0
    while excess(high) < 0:
        high *= 2
    return float(scipy.optimize.brentq(excess, 0.0, high))
