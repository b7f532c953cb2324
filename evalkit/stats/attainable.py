"""The least p that a test could give at all, whatever the labels said. Pure.

Each is the two-sided exact p had every label fallen out as extreme as these values
allow. Where it is above the level, the test cannot reach it, and its p says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evalkit.stats.results import CLOSE, mean
from evalkit.stats.strata import Stratum, mean_difference
from evalkit.stats.tasks import sign_flip_floor


class _Extreme(NamedTuple):
    """A case's greatest difference, and the share of relabellings that give it."""

    difference: float
    share: float


def least_p_of_strata(strata: Sequence[Stratum]) -> float:
    """Of `permutation_test`, were all permutations counted.

    1 where all trials of each case came out the same, and for one trial in each arm.
    """
    mean_difference(strata)
    greatest = [_greatest(s) for s in strata]
    least = [_greatest(Stratum(s.comparator, s.arm)) for s in strata]
    sides = [
        _Extreme(
            math.fsum(x.difference for x in side), math.prod(x.share for x in side)
        )
        for side in (greatest, least)
    ]
    far = max(side.difference for side in sides)
    near = CLOSE * max(1.0, far)
    return min(1.0, sum(s.share for s in sides if far - s.difference <= near))


def least_p_of_cases(differences: Sequence[float]) -> float:
    """Of `sign_flip_test`: a difference of 0 has no sign to flip."""
    near = CLOSE * max(1.0, *map(abs, (0.0, *differences)))
    return sign_flip_floor(sum(abs(d) > near for d in differences))


def least_p_of_pairs(b: int, c: int) -> float:
    """Of `mcnemar`, of the pairs that passed in one arm only."""
    if min(b, c) < 0:
        raise ValueError("counts of pairs are not negative")
    return sign_flip_floor(b + c)


def _greatest(stratum: Stratum) -> _Extreme:
    """Of the arm's mean less the comparator's, over all ways to swap labels."""
    n_arm = len(stratum.arm)
    pooled = sorted((*stratum.arm, *stratum.comparator), reverse=True)
    top, rest = pooled[:n_arm], pooled[n_arm:]
    near = CLOSE * max(1.0, *map(abs, pooled))
    # Ways to choose the greatest differ only in which of equal values they hold.
    tied = [abs(x - top[-1]) <= near for x in pooled]
    ways = math.comb(sum(tied), sum(tied[:n_arm]))
    share = ways / math.comb(len(pooled), n_arm)
    return _Extreme(mean(top) - mean(rest), share)
