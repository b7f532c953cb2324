"""Exact laws of sums under relabelling, by convolution. Pure.

Values are compared in whole units of a relative 1e-10, so floats that should be
equal are equal; scores given to 12 places are far finer than that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

UNIT = 1e-10
"""Sums are compared in whole multiples of this share of the largest value."""
MAX_EXACT = 1_000_000
"""Up to so many ways to relabel a case, and sums of a law, all are counted."""

Units = NDArray[np.int64]
_Law = Counter[int]


class Law(NamedTuple):
    """Distinct sums, in units, and the probability of each."""

    sums: Units
    shares: NDArray[np.float64]

    def two_sided(self, observed: int, slack: int) -> float:
        """Probability of a sum at least so far from 0."""
        return self._share(np.abs(self.sums) >= abs(observed) - slack)

    def greater(self, observed: int, slack: int) -> float:
        """Probability of a sum at least so great."""
        return self._share(self.sums >= observed - slack)

    def _share(self, reached: NDArray[np.bool_]) -> float:
        return min(1.0, float(self.shares[reached].sum()))


def scale_of(values: Iterable[float]) -> float:
    """The largest size among values; 1 where all are 0."""
    return max(map(abs, values), default=0.0) or 1.0


def in_units(value: float, scale: float) -> int:
    """A value in whole units of `UNIT` of the scale."""
    return round(value / scale / UNIT)


def swaps(
    arm: Sequence[float], comparator: Sequence[float], scale: float
) -> _Law | None:
    """How often each difference of means occurs when labels are swapped in every way.

    None where there are too many ways to go through.
    """
    # In one order, so that float sums do not hang on the order of trials.
    pooled = sorted((*arm, *comparator))
    n_arm, n_other = len(arm), len(comparator)
    total = math.fsum(pooled)
    chosen = _chosen(pooled, n_arm)
    if chosen is None:
        return None
    law: _Law = Counter()
    for part, ways in chosen.items():
        law[in_units(part / n_arm - (total - part) / n_other, scale)] += ways
    return law


def flips(value: float, scale: float) -> _Law:
    """A value and its opposite, once each."""
    size = in_units(value, scale)
    return Counter([size, -size])


def convolved(laws: Iterable[_Law | None]) -> Law | None:
    """The law of the sum of independent parts; None where it is too wide."""
    sums: Units = np.zeros(1, np.int64)
    shares = np.ones(1)
    for law in laws:
        if law is None or len(sums) * len(law) > MAX_EXACT:
            return None
        total = law.total()
        more = np.array(list(law), np.int64)
        own = np.array([ways / total for ways in law.values()])
        every = np.add.outer(sums, more).ravel()
        products = np.multiply.outer(shares, own).ravel()
        sums, places = np.unique(every, return_inverse=True)
        shares = np.bincount(places, weights=products).astype(np.float64)
    return Law(sums, shares)


def _chosen(pooled: Sequence[float], n_chosen: int) -> dict[float, int] | None:
    """How often each sum occurs among the ways to choose so many values."""
    counts = Counter(pooled)
    n_ways = math.comb(len(pooled), n_chosen)
    n_states = math.prod(n + 1 for n in counts.values())
    if min(n_ways, n_states) > MAX_EXACT:
        return None
    if n_ways <= n_states:
        return Counter(math.fsum(chosen) for chosen in combinations(pooled, n_chosen))
    # Equal values are chosen by their number, which has far fewer ways.
    partial: dict[tuple[int, float], int] = {(0, 0.0): 1}
    for value, n in counts.items():
        grown: dict[tuple[int, float], int] = Counter()
        for (taken, part), ways in partial.items():
            for more in range(min(n, n_chosen - taken) + 1):
                key = taken + more, part + more * value
                grown[key] += ways * math.comb(n, more)
        partial = grown
    return {part: ways for (taken, part), ways in partial.items() if taken == n_chosen}
