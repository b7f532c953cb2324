"""These tasks: strata are cases, units are trials. Pure.

A stratum is the trials of one case in the two arms compared. Cases weigh the
same, however many trials they have. Where a number would say more than the
trials do, there is a `Refusal` in its place: no interval of width 0, no p of 1
for trials that are all alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy

from evalkit.stats.grids import Grid, grid_of
from evalkit.stats.permutations import Units, halved, swaps
from evalkit.stats.results import Interval, PValue, Refusal, alike, mean, variance

N_DRAWS = 19_999
"""Permutations drawn where there are too many to count."""

EXACT = "exact permutation of arms within cases"
DRAWN = f"{N_DRAWS} seeded permutations of arms within cases"
WELCH = "Welch-Satterthwaite t, stratified by case"

Alternative = Literal["two-sided", "greater"]


class Stratum(NamedTuple):
    """One case: values of its trials in the arm and in the comparator."""

    arm: tuple[float, ...]
    comparator: tuple[float, ...]

    @property
    def difference(self) -> float:
        """Mean of the arm less mean of the comparator."""
        return mean(self.arm) - mean(self.comparator)


class Error(NamedTuple):
    """Standard error of a stratified difference, and its degrees of freedom."""

    se: float
    df: float
    n_constant_cells: int


def mean_difference(strata: Sequence[Stratum]) -> float:
    """Mean over cases of the difference of means.

    Raises:
        ValueError: There is no case, or a case without trials.
    """
    if not strata or not all(s.arm and s.comparator for s in strata):
        raise ValueError("a difference needs a case, with trials in both arms")
    return mean([s.difference for s in strata])


def permutation_test(
    strata: Sequence[Stratum], *, seed: int, alternative: Alternative = "two-sided"
) -> PValue | Refusal:
    """Test that arms may be swapped freely among a case's trials.

    On passes as 0 and 1 this is the exact test of Cochran, Mantel and Haenszel
    with cases of equal weight. Every permutation counts wherever few sums are
    distinct, as with scores; else `N_DRAWS` are drawn and p is (b + 1) / (m + 1).

    Args:
        strata: One per case.
        seed: Of the draws.
        alternative: `greater` asks whether the arm is the better one.
    """
    mean_difference(strata)
    if all(alike((*s.arm, *s.comparator)) for s in strata):
        return Refusal(
            "no test: within every case all trials of both arms came out the same"
        )
    n_permutations = math.prod(
        math.comb(len(s.arm) + len(s.comparator), len(s.arm)) for s in strata
    )
    cells = [cell for stratum in strata for cell in stratum]
    grid = grid_of([x for cell in cells for x in cell], math.lcm(*map(len, cells)))
    observed = sum(grid.units(s.difference) for s in strata)
    # A p must not hang on which arm is called the first, nor on the order of cases
    # and trials, also where it is drawn.
    turned = alternative == "two-sided" and observed < 0
    ordered = _in_order([Stratum(*s[::-1]) if turned else s for s in strata])
    observed = -observed if turned else observed
    slack = grid.slack(len(strata))
    law = halved((swaps(s.arm, s.comparator, grid) for s in ordered), grid)
    if law is not None:
        share = law.greater if alternative == "greater" else law.two_sided
        return PValue(share(observed, slack), n_permutations, EXACT)
    drawn = _drawn(ordered, grid, seed)
    reached = (drawn if alternative == "greater" else np.abs(drawn)) >= observed - slack
    return PValue((int(reached.sum()) + 1) / (N_DRAWS + 1), n_permutations, DRAWN)


def welch_error(strata: Sequence[Stratum]) -> Error | Refusal:
    """Standard error of `mean_difference`, from the spread inside each cell.

    Degrees of freedom after Satterthwaite (1946). Refuses where a cell has a
    single trial, or no cell has any spread.
    """
    return _error([cell for stratum in strata for cell in stratum], len(strata))


def welch_interval(
    strata: Sequence[Stratum], *, confidence: float
) -> Interval | Refusal:
    """Interval of `mean_difference`; refused where `welch_error` is."""
    middle = mean_difference(strata)
    error = welch_error(strata)
    if isinstance(error, Refusal):
        return error
    half = error.se * float(scipy.special.stdtrit(error.df, (1 + confidence) / 2))
    return Interval(middle - half, middle + half, *error)


def _in_order(strata: Sequence[Stratum]) -> list[Stratum]:
    return sorted(
        Stratum(tuple(sorted(s.arm)), tuple(sorted(s.comparator))) for s in strata
    )


def mean_interval(
    cells: Sequence[Sequence[float]], *, confidence: float
) -> Interval | Refusal:
    """Interval of the mean over cases of one arm's means, as `welch_interval`.

    Args:
        cells: The trials of each case.
        confidence: Of the interval.
    """
    error = _error(cells, len(cells))
    if isinstance(error, Refusal):
        return error
    middle = mean([mean(cell) for cell in cells])
    half = error.se * float(scipy.special.stdtrit(error.df, (1 + confidence) / 2))
    return Interval(middle - half, middle + half, *error)


def _error(cells: Sequence[Sequence[float]], n_cases: int) -> Error | Refusal:
    """Error of a mean over cases of (differences of) means of cells."""
    if any(len(cell) < 2 for cell in cells):
        return Refusal(
            "no interval: a case has fewer than two trials in an arm, so the spread "
            "between trials is not known"
        )
    terms = [variance(cell) / len(cell) / n_cases**2 for cell in cells]
    total = math.fsum(terms)
    if not total:
        return Refusal(
            "no interval: in every case all trials of an arm came out the same, so "
            "these trials cannot say how much others would vary"
        )
    df = 1 / math.fsum(
        (term / total) ** 2 / (len(cell) - 1)
        for term, cell in zip(terms, cells, strict=True)
    )
    return Error(math.sqrt(total), df, terms.count(0.0))


def _drawn(strata: Sequence[Stratum], grid: Grid, seed: int) -> Units:
    """Sums of differences under drawn labels, in units."""
    rng = np.random.default_rng(seed)
    total: Units = np.zeros(N_DRAWS, np.int64)
    for arm, comparator in strata:
        pooled, n_arm = np.array(sorted(arm + comparator)), len(arm)
        labels = rng.permuted(np.tile(pooled, (N_DRAWS, 1)), axis=1)
        differences = labels[:, :n_arm].mean(axis=1) - labels[:, n_arm:].mean(axis=1)
        total += np.rint(differences * grid.per_one).astype(np.int64)
    return total
