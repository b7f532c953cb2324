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

_MAX_CELLS = 1 << 22
_CELLS_PER_INDEX = 8
"""A count costs about as much as so many indices: where most values are distinct,
indices are the cheaper."""
_MAX_WIDTH = 1 << 19
_DEVIATIONS = 10
"""Standard deviations to either side beyond which a sum is as good as impossible."""


class _Cells(NamedTuple):
    """Distinct values, the most frequent first, and how often each occurs."""

    values: _Floats
    counts: NDArray[np.int64]

    @property
    def n(self) -> int:
        return int(self.counts.sum())


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
        sums, reached = law
        places = np.searchsorted(reached, rng.random(n_resamples) * reached[-1])
        return sums[places] / cells.n
    return _counted(cells, n_resamples, rng)


def _cells(differences: _Floats) -> _Cells:
    # Differences that should be equal are one cell.
    scale = scale_of([float(np.abs(differences).max())])
    units = np.rint(differences / scale / UNIT)
    values, counts = np.unique(units, return_counts=True)
    # Frequent values first: what is left for the rare ones is soon little.
    order = np.argsort(-counts, kind="stable")
    return _Cells(values[order] * (UNIT * scale), counts[order])


def _counted(cells: _Cells, n_resamples: int, rng: np.random.Generator) -> _Floats:
    n, values = cells.n, cells.values
    by_index = len(values) * _CELLS_PER_INDEX > n
    step = max(1, _MAX_CELLS // (n if by_index else len(values)))
    sizes = [min(step, n_resamples - start) for start in range(0, n_resamples, step)]
    if by_index:
        units = np.repeat(values, cells.counts)
        drawn = [units[rng.integers(0, n, (size, n))].sum(axis=1) for size in sizes]
    else:
        shares = cells.counts / n
        drawn = [rng.multinomial(n, shares, size) @ values for size in sizes]
    return np.concatenate(drawn) / n


def _law_of_sum(cells: _Cells, n_counts: int) -> tuple[_Floats, _Floats] | None:
    """Possible sums and the probability up to each; None where counts are cheaper."""
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
    if width > min(_MAX_WIDTH, n_counts):
        return None
    width = scipy.fft.next_fast_len(width, real=True)
    one = np.zeros(width)
    np.add.at(one, steps % width, shares)
    law = scipy.fft.irfft(scipy.fft.rfft(one) ** n, width).clip(0.0)
    # Sums wrap around at the width: the window must hold possible ones only.
    first = max(least, min(round(n * middle) - width // 2, most - width + 1))
    sums = np.arange(first, first + width)
    return sums / denominator, np.cumsum(law[sums % width])
