"""Tasks like these: the unit is the case, so few cases say little. Pure.

Each case gives one number, its mean difference. Below `MIN_CASES` there is no p
and no interval, since no exact test can reach 0.05. What is clustered by case is
judged by t with one degree less than there are cases, never by z. Only what shows
how methods differ on one set of data lowers `n_least`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy

from evalkit.stats.grids import grid_of
from evalkit.stats.permutations import flips, halved
from evalkit.stats.results import (
    CLOSE,
    Interval,
    PValue,
    Refusal,
    alike,
    mean,
    same_length,
    variance,
)

MIN_CASES = 6
"""The fewest cases whose sign flip can reach a two-sided p of 0.05."""
N_FLIPS = 19_999
"""Sign flips drawn where there are too many to count."""
FLIPPED = "exact sign flip of case means"
FLIPS_DRAWN = f"{N_FLIPS} seeded sign flips of case means"
T_CASES = "t on case means"

Alternative = Literal["two-sided", "greater"]


class StudentT(NamedTuple):
    """Student's t of a mean difference against 0."""

    mean: float
    se: float
    t: float
    df: float
    p: float


class ClusteredError(NamedTuple):
    """Standard error of a mean over clusters, with and without G / (G - 1)."""

    mean: float
    se: float
    se_uncorrected: float
    df: float


def sign_flip_floor(n: int) -> float:
    """The least two-sided p that a sign flip of n differences can give."""
    return min(1.0, 2.0 / 2.0**n)


def cases_needed(alpha: float) -> int:
    """The fewest cases whose sign flip can reach a two-sided alpha."""
    return math.ceil(math.log2(2 / alpha) - CLOSE)


def extreme_mass(n: int) -> float:
    """Share of bootstrap samples of n cases that hold only the greatest one."""
    return float(n) ** -n


def t_quantile(df: float, *, confidence: float = 0.95) -> float:
    """The t to either side of which half of what is left lies."""
    return float(scipy.special.stdtrit(df, (1 + confidence) / 2))


def sign_flip_test(
    differences: Sequence[float],
    *,
    seed: int,
    alternative: Alternative = "two-sided",
    n_least: int = MIN_CASES,
) -> PValue | Refusal:
    """Exact test that each case's difference may as well have the other sign.

    Args:
        differences: One per case.
        seed: Of the flips, where too many sums are distinct to count them all.
        alternative: `greater` asks whether the arm is the better one.
        n_least: Fewest cases.
    """
    n = len(differences)
    refusal = too_few(n, n_least)
    if refusal:
        return refusal
    if alike((*differences, 0.0)):
        return Refusal("no test: the two arms came out the same in every case")
    grid = grid_of(differences)
    observed, slack = sum(grid.units(d) for d in differences), grid.slack(n)
    # In one order, lest that of cases decide whether flips are counted or drawn.
    law = halved((flips(d, grid) for d in sorted(map(abs, differences))), grid)
    if law is not None:
        share = law.greater if alternative == "greater" else law.two_sided
        return PValue(share(observed, slack), 2**n, FLIPPED)
    sizes = np.rint(np.sort(np.abs(differences)) * grid.per_one)
    signs = np.random.default_rng(seed).integers(0, 2, (N_FLIPS, n)) * 2 - 1
    sums = signs @ sizes
    if alternative == "two-sided":
        sums, observed = np.abs(sums), abs(observed)
    p = (int((sums >= observed - slack).sum()) + 1) / (N_FLIPS + 1)
    return PValue(p, 2**n, FLIPS_DRAWN)


def t_test(
    differences: Sequence[float], *, n_least: int = MIN_CASES
) -> StudentT | Refusal:
    """Two-sided t of the mean over cases."""
    refusal = too_few(len(differences), n_least) or spreadless(differences)
    if refusal:
        return refusal
    middle, df = mean(differences), len(differences) - 1
    se = math.sqrt(variance(differences) / len(differences))
    t = middle / se
    return StudentT(middle, se, t, df, 2 * float(scipy.special.stdtr(df, -abs(t))))


def t_interval(
    differences: Sequence[float], *, confidence: float, n_least: int = MIN_CASES
) -> Interval | Refusal:
    """Interval of the mean over cases."""
    refusal = too_few(len(differences), n_least) or spreadless(differences)
    if refusal:
        return refusal
    middle, df = mean(differences), len(differences) - 1
    se = math.sqrt(variance(differences) / len(differences))
    half = se * t_quantile(df, confidence=confidence)
    return Interval(middle - half, middle + half, se, df)


def clustered_error(
    values: Sequence[float], clusters: Sequence[Hashable]
) -> ClusteredError | Refusal:
    """Standard error of a mean whose values come in clusters.

    Miller (2024), appendix A, times sqrt(G / (G - 1)). One cluster has no
    standard error, which is not a standard error of 0.
    """
    n = same_length(values, clusters)
    n_clusters = len(set(clusters))
    if n_clusters < 2:
        return Refusal("no standard error: it takes at least two cases")
    middle = mean(values)
    left = [
        math.fsum(x - middle for x, at in zip(values, clusters, strict=True) if at == g)
        for g in dict.fromkeys(clusters)
    ]
    noise = CLOSE * n * max(1.0, *map(abs, values))
    if max(map(abs, left)) <= noise:
        return Refusal(
            "no standard error: every case came out the same, so these cases cannot "
            "say how much others would vary"
        )
    plain = math.sqrt(math.fsum(x * x for x in left)) / n
    corrected = plain * math.sqrt(n_clusters / (n_clusters - 1))
    return ClusteredError(middle, corrected, plain, n_clusters - 1)


def clustered_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    confidence: float,
    n_least: int = MIN_CASES,
) -> Interval | Refusal:
    """Interval of a mean whose values come in clusters, by t(G - 1)."""
    found = too_few(len(set(clusters)), n_least) or clustered_error(values, clusters)
    if isinstance(found, Refusal):
        return found
    half = found.se * t_quantile(found.df, confidence=confidence)
    return Interval(found.mean - half, found.mean + half, found.se, found.df)


def too_few(n: int, n_least: int) -> Refusal | None:
    """The refusal of a claim from so few independent differences."""
    n_least = max(n_least, 2)
    if n >= n_least:
        return None
    return Refusal(
        f"too few: {n}, where at least {n_least} are needed (no exact test of {n} can "
        f"give a p below {sign_flip_floor(n):.3g})"
    )


def spreadless(differences: Sequence[float]) -> Refusal | None:
    """The refusal where all cases differ by the same amount."""
    if not alike(differences):
        return None
    return Refusal(
        "no interval: the difference is the same in every case, so these cases cannot "
        "say how much others would vary"
    )
