"""Means of resamples, without drawing an index for every unit. Pure.

A resample is known by how often each distinct value occurs: one multinomial. Where
values are multiples of one small fraction, as scores of integer weights are, even
the counts need no drawing, for the law of their sum is known: the power of one
value's characteristic function (by FFT), exact but for the noise of floats.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from evalkit.stats.grids import UNIT, common_denominator, scale_of

_Floats = NDArray[np.float64]

_INDICES_AT_ONCE = 1 << 22
"""So many, or all of one resample, are held in memory together."""
_INDICES_PER_COUNT = 16
_POINTS_PER_COUNT = 3
"""What a count costs in indices, and in points of a law: the cheapest way is taken."""
_MAX_WIDTH = 1 << 20
_DEVIATIONS = 10
"""Standard deviations to either side beyond which a sum is as good as impossible."""
_UNHEARD = 1e-30
"""Waves below this, which nearly all are, come to less than the noise of floats."""


class _Cells(NamedTuple):
    """Distinct values, the most frequent first, and how often each occurs."""

    values: _Floats
    counts: NDArray[np.int64]

    @property
    def n(self) -> int:
        return int(self.counts.sum())


class _Law(NamedTuple):
    """Probability up to each sum; these go by 1 / `denominator` from `first` of them."""

    first: int
    denominator: int
    reached: _Floats


def bootstrap_means(pairs: ArrayLike, n_resamples: int, seed: int) -> _Floats:
    """Means of differences over resampled pairs.

    Args:
        pairs: Either one difference per unit, or rows of arm and comparator.
        n_resamples: Resamples.
        seed: Of the draws. The order of pairs does not matter.

    Returns:
        One mean per resample.
    """
    given = np.asarray(pairs, dtype=np.float64)
    differences = given if given.ndim == 1 else given[:, 0] - given[:, 1]
    if not len(differences):
        raise ValueError("a resample needs a pair")
    cells = _cells(differences)
    rng = np.random.default_rng(seed)
    law = _law_of_sum(cells, len(cells.values) * n_resamples)
    if law is not None:
        return _by_law(law, n_resamples, rng) / cells.n
    if len(cells.values) * _INDICES_PER_COUNT > cells.n:
        return _by_index(cells, n_resamples, rng) / cells.n
    return _by_counts(cells, n_resamples, rng) / cells.n


def _cells(differences: _Floats) -> _Cells:
    # Differences that should be equal are one cell.
    scale = scale_of([float(np.abs(differences).max())])
    units = np.rint(differences / scale / UNIT)
    values, counts = np.unique(units, return_counts=True)
    # Frequent values first: what is left for the rare ones is soon little.
    order = np.argsort(-counts, kind="stable")
    return _Cells(values[order] * (UNIT * scale), counts[order])


def _by_law(law: _Law, n_resamples: int, rng: np.random.Generator) -> _Floats:
    """Sums, each the first that is reached by as much probability as was drawn."""
    # A table is searched four times as fast in its own order.
    drawn = np.sort(rng.random(n_resamples)) * law.reached[-1]
    sums = (law.first + np.searchsorted(law.reached, drawn)) / law.denominator
    rng.shuffle(sums)
    return sums


def _by_counts(cells: _Cells, n_resamples: int, rng: np.random.Generator) -> _Floats:
    """Sums by multinomial counts: value after value, how many of those left have it.

    A binomial for all resamples at once takes half the time of `rng.multinomial`.
    """
    left = np.full(n_resamples, cells.n)
    shares = cells.counts / np.cumsum(cells.counts[::-1])[::-1]
    sums = np.zeros(n_resamples)
    for value, share in zip(cells.values, shares, strict=True):
        drawn = rng.binomial(left, share)
        sums += drawn * value
        left -= drawn
    return sums


def _by_index(cells: _Cells, n_resamples: int, rng: np.random.Generator) -> _Floats:
    """Sums by drawing every unit."""
    units = np.repeat(cells.values, cells.counts)
    step = max(1, _INDICES_AT_ONCE // cells.n)
    sizes = [min(step, n_resamples - start) for start in range(0, n_resamples, step)]
    return np.concatenate(
        [units[rng.integers(0, cells.n, (size, cells.n))].sum(axis=1) for size in sizes]
    )


def _law_of_sum(cells: _Cells, n_counts: int) -> _Law | None:
    """The law of a resampled sum; None where counts are cheaper."""
    values = cells.values.tolist()
    denominator = common_denominator(values, scale_of(values))
    if denominator is None:
        return None
    n, shares = cells.n, cells.counts / cells.n
    steps = np.rint(cells.values * denominator).astype(np.int64)
    middle = float(shares @ steps)
    spread = math.sqrt(float(shares @ (steps - middle) ** 2) * n)
    least, most = n * int(steps.min()), n * int(steps.max())
    width = min(most - least + 1, 2 * math.ceil(_DEVIATIONS * spread) + 1)
    if width > min(_MAX_WIDTH, n_counts * _POINTS_PER_COUNT):
        return None
    width = scipy.fft.next_fast_len(width, real=True)
    # Sums wrap around at the width: the window must hold possible ones only.
    first = max(least, min(round(n * middle) - width // 2, most - width + 1))
    one = np.zeros(width)
    np.add.at(one, steps % width, shares)
    waves = scipy.fft.rfft(one)
    heard = np.flatnonzero(np.abs(waves) > _UNHEARD ** (1 / n))
    turns = heard * (first % width) % width / width
    powers = np.zeros(heard[-1] + 1, complex)
    powers[heard] = waves[heard] ** n * np.exp(2j * np.pi * turns)
    law = scipy.fft.irfft(powers, width)
    np.maximum(law, 0.0, out=law)
    return _Law(first, denominator, np.cumsum(law, out=law))
