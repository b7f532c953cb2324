"""Intervals and tests about these tasks: strata are cases, units are trials. Pure.

A stratum is the trials of one case in the two arms compared. Cases weigh the
same, however many trials they have. Where a number would say more than the
trials do, there is a `Refusal` in its place: no interval of width 0, no p of 1
for trials that are all alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import stats as scipy_stats

MAX_EXACT = 1_000_000
"""Permutations up to which all are counted."""
N_DRAWS = 19_999
"""Permutations drawn where there are more."""
UNIT = 1e-10
"""Permuted differences are compared in whole multiples of this: floats that
should be equal are then equal."""

EXACT = "exact permutation of arms within cases"
DRAWN = f"{N_DRAWS} seeded permutations of arms within cases"
WELCH = "Welch-Satterthwaite t, stratified by case"
WELCH_LOG = f"{WELCH}, on logarithms"

_Units = NDArray[np.int64]
_Weights = NDArray[np.float64]


class Stratum(NamedTuple):
    """One case: values of its trials in the arm and in the comparator."""

    arm: tuple[float, ...]
    comparator: tuple[float, ...]

    @property
    def difference(self) -> float:
        """Mean of the arm less mean of the comparator."""
        return math.fsum(self.arm) / len(self.arm) - math.fsum(self.comparator) / len(
            self.comparator
        )


class Refusal(NamedTuple):
    """Why there is no number: a sentence."""

    sentence: str


class Interval(NamedTuple):
    """An interval, its degrees of freedom, and cells without any spread."""

    low: float
    high: float
    se: float
    df: float
    n_constant_cells: int


class PValue(NamedTuple):
    """A two-sided p over `n_permutations`, all counted or some drawn."""

    p: float
    n_permutations: int
    method: str


def mean_difference(strata: Sequence[Stratum]) -> float:
    """Mean over cases of the difference of means.

    Raises:
        ValueError: There is no case, or a case without trials.
    """
    if not strata or not all(s.arm and s.comparator for s in strata):
        raise ValueError("a difference needs a case, with trials in both arms")
    return math.fsum(s.difference for s in strata) / len(strata)


def permutation_test(strata: Sequence[Stratum], *, seed: int) -> PValue | Refusal:
    """Two-sided test that arms may be swapped freely among a case's trials.

    All permutations are counted up to `MAX_EXACT`; beyond, `N_DRAWS` are drawn
    and p is (b + 1) / (m + 1).

    Args:
        strata: One per case.
        seed: Of the draws.
    """
    observed = abs(sum(_unit(s.difference) for s in strata))
    alike = all(len({*s.arm, *s.comparator}) == 1 for s in strata)
    if alike:
        return Refusal(
            "no test: within every case all trials of both arms came out the same"
        )
    n_permutations = math.prod(
        math.comb(len(s.arm) + len(s.comparator), len(s.arm)) for s in strata
    )
    # Each stratum is rounded to whole units once.
    reached = observed - len(strata)
    if n_permutations > MAX_EXACT:
        rng = np.random.default_rng(seed)
        drawn = sum((_draws(s, rng) for s in strata), np.zeros(N_DRAWS, np.int64))
        n_reached = int((np.abs(drawn) >= reached).sum())
        return PValue((n_reached + 1) / (N_DRAWS + 1), n_permutations, DRAWN)
    values, weights = _distribution(strata)
    p = float(weights[np.abs(values) >= reached].sum())
    return PValue(min(p, 1.0), n_permutations, EXACT)


def welch_interval(
    strata: Sequence[Stratum], *, confidence: float
) -> Interval | Refusal:
    """Interval of `mean_difference`, from the spread inside each case and arm.

    Refuses where a cell has a single trial, or no cell has any spread.
    """
    cells = [cell for stratum in strata for cell in stratum]
    if any(len(cell) < 2 for cell in cells):
        return Refusal(
            "no interval: a case has fewer than two trials in an arm, so the spread "
            "between trials is not known"
        )
    terms = [_variance(cell) / len(cell) / len(strata) ** 2 for cell in cells]
    variance = math.fsum(terms)
    if not variance:
        return Refusal(
            "no interval: in every case all trials of an arm came out the same, so "
            "these trials cannot say how much others would vary"
        )
    df = variance**2 / math.fsum(
        term**2 / (len(cell) - 1) for term, cell in zip(terms, cells, strict=True)
    )
    se = math.sqrt(variance)
    half = se * float(scipy_stats.t.ppf((1 + confidence) / 2, df))
    middle = mean_difference(strata)
    return Interval(middle - half, middle + half, se, df, terms.count(0.0))


def log_strata(strata: Sequence[Stratum]) -> tuple[Stratum, ...] | Refusal:
    """The strata on logarithms, for ratios of geometric means.

    Refuses where a value is not above 0: it has no logarithm, and adding
    something to it would be arbitrary.
    """
    if any(value <= 0 for stratum in strata for cell in stratum for value in cell):
        return Refusal("no ratio of means: a trial has the value 0")
    return tuple(
        Stratum(
            tuple(math.log(value) for value in stratum.arm),
            tuple(math.log(value) for value in stratum.comparator),
        )
        for stratum in strata
    )


def ratio_of_totals(strata: Sequence[Stratum]) -> float | None:
    """Total of the arm over total of the comparator; None where that is 0."""
    below = math.fsum(value for stratum in strata for value in stratum.comparator)
    above = math.fsum(value for stratum in strata for value in stratum.arm)
    return above / below if below else None


def wilson(k: int, n: int, *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson interval of a rate, for display; None where n is 0."""
    return _proportion_interval(k, n, confidence, "wilson")


def clopper_pearson(
    k: int, n: int, *, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Clopper-Pearson interval of a rate, for gates; None where n is 0."""
    return _proportion_interval(k, n, confidence, "exact")


def _proportion_interval(
    k: int, n: int, confidence: float, method: str
) -> tuple[float, float] | None:
    if n == 0:
        return None
    found = scipy_stats.binomtest(k, n).proportion_ci(confidence, method=method)
    return float(found.low), float(found.high)


def _variance(cell: tuple[float, ...]) -> float:
    """Sample variance, exactly 0 where all values are the same."""
    return 0.0 if len(set(cell)) == 1 else float(np.var(cell, ddof=1))


def _unit(difference: float) -> int:
    return round(difference / UNIT)


def _distribution(strata: Sequence[Stratum]) -> tuple[_Units, _Weights]:
    """Distinct sums of permuted differences, and the share of each."""
    values: _Units = np.zeros(1, np.int64)
    weights: _Weights = np.ones(1)
    for stratum in strata:
        own = _permuted(stratum)
        total = own.total()
        more = np.array(list(own), np.int64)
        shares = np.array(list(own.values())) / total
        sums = np.add.outer(values, more).ravel()
        products = np.multiply.outer(weights, shares).ravel()
        values, places = np.unique(sums, return_inverse=True)
        weights = np.bincount(places, weights=products).astype(np.float64)
    return values, weights


def _permuted(stratum: Stratum) -> Counter[int]:
    """How often each difference occurs when arms are swapped in every way."""
    pooled = stratum.arm + stratum.comparator
    n_arm, n_comparator = len(stratum.arm), len(stratum.comparator)
    total = math.fsum(pooled)
    return Counter(
        _unit(part / n_arm - (total - part) / n_comparator)
        for chosen in combinations(pooled, n_arm)
        for part in (math.fsum(chosen),)
    )


def _draws(stratum: Stratum, rng: np.random.Generator) -> _Units:
    pooled = np.array(stratum.arm + stratum.comparator)
    drawn = rng.permuted(np.tile(pooled, (N_DRAWS, 1)), axis=1)
    n_arm = len(stratum.arm)
    differences = drawn[:, :n_arm].mean(axis=1) - drawn[:, n_arm:].mean(axis=1)
    return cast("_Units", np.rint(differences / UNIT).astype(np.int64))
