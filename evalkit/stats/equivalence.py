"""No difference, or no evidence? Two one-sided tests against a margin. Pure.

Schuirmann (1987). The margin is registered before the data; the interval beside
the test is the one at 1 - 2 alpha, which lies inside the margin exactly where both
tests reach alpha.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import scipy

from evalkit.stats.results import Refusal, mean, variance
from evalkit.stats.strata import Stratum, mean_difference, welch_error
from evalkit.stats.tasks import MIN_CASES, spreadless, t_quantile, too_few


class Equivalence(NamedTuple):
    """The greater of two one-sided p, both of them, and the interval."""

    p: float
    p_lower: float
    p_upper: float
    low: float
    high: float
    margin: float

    @property
    def shown(self) -> bool:
        """True where the interval lies inside the margin."""
        return -self.margin < self.low and self.high < self.margin


def equivalence_of_cases(
    differences: Sequence[float],
    *,
    margin: float,
    alpha: float = 0.05,
    n_least: int = MIN_CASES,
) -> Equivalence | Refusal:
    """Tasks like these: is the mean over cases within the margin of 0?

    Refused below `n_least` cases, and where all differ by the same amount.
    """
    refusal = too_few(len(differences), n_least)
    refusal = refusal or spreadless(differences)
    if refusal:
        return refusal
    se = math.sqrt(variance(differences) / len(differences))
    return _two_tests(mean(differences), se, len(differences) - 1, margin, alpha)


def equivalence_of_strata(
    strata: Sequence[Stratum], *, margin: float, alpha: float = 0.05
) -> Equivalence | Refusal:
    """These tasks: the same on the error of `welch_interval`, refused where it is."""
    error = welch_error(strata)
    if isinstance(error, Refusal):
        return error
    return _two_tests(mean_difference(strata), error.se, error.df, margin, alpha)


def _two_tests(
    middle: float, se: float, df: float, margin: float, alpha: float
) -> Equivalence:
    if not margin > 0:
        raise ValueError(f"a margin is above 0, found {margin}")
    p_lower = float(scipy.special.stdtr(df, -(middle + margin) / se))
    p_upper = float(scipy.special.stdtr(df, (middle - margin) / se))
    half = se * t_quantile(df, confidence=1 - 2 * alpha)
    return Equivalence(
        max(p_lower, p_upper), p_lower, p_upper, middle - half, middle + half, margin
    )
