"""Order and sign rather than size: for secondary outcomes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy

from evalkit.stats.grids import grid_of
from evalkit.stats.permutations import flips, halved
from evalkit.stats.results import CLOSE, Refusal, mean
from evalkit.stats.strata import Stratum
from evalkit.stats.tasks import MIN_CASES

PLACES = 12
"""Differences are rounded to this, or the noise of floats would break ties."""


class SignedRanks(NamedTuple):
    """The lesser sum of ranks, and the exact two-sided p."""

    statistic: float
    p: float
    n_nonzero: int


def sign_test(n_greater: int, n_nonzero: int) -> float | Refusal:
    """Two-sided exact p that differences fall to either side alike."""
    if not 0 <= n_greater <= n_nonzero:
        raise ValueError(f"expected 0 <= {n_greater} <= {n_nonzero}")
    if not n_nonzero:
        return Refusal("no test: no difference is other than 0")
    return float(scipy.stats.binomtest(n_greater, n_nonzero).pvalue)


def signed_rank_test(
    differences: Sequence[float],
    *,
    zeros: Literal["wilcox", "pratt"] = "pratt",
    n_least: int = MIN_CASES,
) -> SignedRanks | Refusal:
    """Wilcoxon's test (1945) by counting every flip of signs.

    Args:
        differences: One per pair or case.
        zeros: `wilcox` drops them before ranking, `pratt` (1959) after.
        n_least: Fewest differences other than 0.
    """
    rounded = np.round(np.array(differences, float), PLACES)
    n_nonzero = int(np.count_nonzero(rounded))
    if n_nonzero < max(n_least, 1):
        return Refusal(
            f"no test of ranks: {n_nonzero} of at least {max(n_least, 1)} differences "
            f"are other than 0"
        )
    ranked = rounded if zeros == "pratt" else rounded[rounded != 0]
    ranks = scipy.stats.rankdata(np.abs(ranked))[ranked != 0].tolist()
    signs = np.sign(ranked[ranked != 0]).tolist()
    grid = grid_of(ranks)
    law = halved((flips(rank, grid) for rank in ranks), grid)
    if law is None:
        return Refusal("no test of ranks: too many distinct ranks to count")
    signed = [rank * sign for rank, sign in zip(ranks, signs, strict=True)]
    observed = sum(grid.units(rank) for rank in signed)
    greater = sum(rank for rank in signed if rank > 0)
    statistic = min(greater, sum(ranks) - greater)
    return SignedRanks(
        statistic, law.two_sided(observed, grid.slack(len(ranks))), n_nonzero
    )


def hodges_lehmann(
    differences: Sequence[float], *, keep_zeros: bool = True
) -> float | Refusal:
    """Median of all means of two differences (each also with itself).

    For differences of logarithms; scores have too many ties for it. Whether zeros
    stay is a choice to be declared.
    """
    kept = np.array([d for d in differences if keep_zeros or abs(d) > CLOSE], float)
    if not len(kept):
        return Refusal("no shift: no difference is left")
    one, other = np.triu_indices(len(kept))
    return float(np.median((kept[one] + kept[other]) / 2))


def probability_of_improvement(stratum: Stratum) -> float:
    """Share of pairings of a case's trials in which the arm is better; ties half."""
    return mean(
        [
            0.5 if abs(a - b) < 10**-PLACES else float(a > b)
            for a in stratum.arm
            for b in stratum.comparator
        ]
    )
