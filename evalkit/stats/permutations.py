"""Exact laws of sums under relabelling, by convolution. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.stats.grids import Grid

MAX_EXACT = 1_000_000
"""Up to so many ways to relabel a case, and pairs of sums, all are gone through."""
MAX_ADDED = 100_000_000
"""Up to so many places of an exact grid are added to add one case."""
_WHOLE = 2.0**53
"""Up to this, floats count without rounding."""

Units = NDArray[np.int64]
_Law = Counter[int]


class Law(NamedTuple):
    """Distinct sums in rising order, in units, and the weight of each."""

    sums: Units
    ways: NDArray[np.float64]

    @property
    def mirrored(self) -> Law:
        """The law of the opposite."""
        return Law(-self.sums[::-1], self.ways[::-1])


_ZERO = Law(np.zeros(1, np.int64), np.ones(1))


class Halves(NamedTuple):
    """The law of a sum, as two independent parts that are each narrow enough."""

    one: Law
    other: Law

    def two_sided(self, observed: int, slack: int) -> float:
        """Probability of a sum at least so far from 0."""
        limit = abs(observed) - slack
        if limit <= 0:
            return 1.0
        mirrored = Halves(self.one.mirrored, self.other.mirrored)
        return min(1.0, self.greater(limit, 0) + mirrored.greater(limit, 0))

    def greater(self, observed: int, slack: int) -> float:
        """Probability of a sum at least so great."""
        tails = np.append(np.cumsum(self.one.ways[::-1])[::-1], 0.0)
        missing = observed - slack - self.other.sums
        reached = tails[np.searchsorted(self.one.sums, missing)] @ self.other.ways
        return min(1.0, float(reached / (tails[0] * self.other.ways.sum())))


def swaps(arm: Sequence[float], comparator: Sequence[float], grid: Grid) -> _Law | None:
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
        law[grid.units(part / n_arm - (total - part) / n_other)] += ways
    return law


def flips(value: float, grid: Grid) -> _Law:
    """A value and its opposite, once each."""
    size = grid.units(value)
    return Counter([size, -size])


def convolved(laws: Iterable[_Law], grid: Grid) -> Law | None:
    """The law of the sum of independent parts; None where it is too wide."""
    whole = _ZERO
    for law in laws:
        grown = _grown(whole, law, grid)
        if grown is None:
            return None
        whole = grown
    return whole


def halved(laws: Iterable[_Law | None], grid: Grid) -> Halves | None:
    """The same in two halves, which reach much farther."""
    full, growing = None, _ZERO
    for law in laws:
        if law is None:
            return None
        grown = _grown(growing, law, grid)
        if grown is None and full is None:
            full, grown = growing, _grown(_ZERO, law, grid)
        if grown is None:
            return None
        growing = grown
    return Halves(growing, full or _ZERO)


def _grown(law: Law, more: _Law, grid: Grid) -> Law | None:
    """The law with one independent part more; None where it is too wide."""
    if len(law.sums) * len(more) <= MAX_EXACT:
        found = _by_pairs(law, more)
    elif grid.exact:
        found = _by_places(law, more)
    else:
        return None
    if found is None:
        return None
    total = found.ways.sum()
    return found if total <= _WHOLE else Law(found.sums, found.ways / total)


def _by_pairs(law: Law, more: _Law) -> Law:
    steps, ways = np.array(list(more), np.int64), np.array(list(more.values()), float)
    every = np.add.outer(law.sums, steps).ravel()
    products = np.multiply.outer(law.ways, ways).ravel()
    sums, places = np.unique(every, return_inverse=True)
    return Law(sums, np.bincount(places, weights=products).astype(np.float64))


def _by_places(law: Law, more: _Law) -> Law | None:
    """Each place of the grid is one sum, where many pairs have the same."""
    least, first = min(more), int(law.sums[0])
    n_places = int(law.sums[-1]) - first + 1
    width = n_places + max(more) - least
    if width * len(more) > MAX_ADDED:
        return None
    before, after = np.zeros(n_places), np.zeros(width)
    before[law.sums - first] = law.ways
    for step, ways in more.items():
        after[step - least : step - least + n_places] += ways * before
    reached = np.flatnonzero(after)
    return Law(reached + (first + least), after[reached])


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
