"""The bootstrap, as a check on other intervals where cases are many. Pure.

With few cases the percentiles are nothing but the extreme cases: `exact_bootstrap`
shows that, and `bootstrap_interval` refuses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evalkit.stats.grids import UNIT, grid_of
from evalkit.stats.permutations import convolved
from evalkit.stats.resamples import bootstrap_means
from evalkit.stats.results import Refusal, alike
from evalkit.stats.tasks import sign_flip_floor

MIN_CLUSTERS = 10
"""The fewest cases for a bootstrap over cases."""
N_RESAMPLES = 10_000


class Percentiles(NamedTuple):
    """A percentile interval, and how many seeded resamples it rests on."""

    low: float
    high: float
    n_resamples: int


class ExactBootstrap(NamedTuple):
    """The bootstrap over a few cases, every resample counted.

    `tail_mass` is the share of resamples at the least mean; `coverage` that of the
    range of cases for their median under a symmetric law; `sign_flip_floor` what
    the wild bootstrap (Rademacher weights) could reach at best.
    """

    n_distinct: int
    low: float
    high: float
    is_range: bool
    tail_mass: float
    coverage: float
    sign_flip_floor: float


def bootstrap_interval(
    differences: Sequence[float],
    *,
    confidence: float,
    seed: int,
    n_resamples: int = N_RESAMPLES,
) -> Percentiles | Refusal:
    """Tasks like these: percentile interval of the mean over cases.

    Args:
        differences: One per case; refused below `MIN_CLUSTERS`.
        confidence: Of the interval.
        seed: Of the draws.
        n_resamples: Resamples.
    """
    n = len(differences)
    if n < MIN_CLUSTERS:
        return Refusal(
            f"no bootstrap over cases: {n} of at least {MIN_CLUSTERS}, and with few "
            f"cases its limits are the extreme cases themselves"
        )
    if alike(differences):
        return Refusal("no bootstrap: the difference is the same in every case")
    means = bootstrap_means(differences, n_resamples, seed)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Percentiles(float(low), float(high), n_resamples)


def exact_bootstrap(
    differences: Sequence[float], *, confidence: float = 0.95
) -> ExactBootstrap | Refusal:
    """What a bootstrap over few cases amounts to: to show why it is refused."""
    n = len(differences)
    if n < 2 or alike(differences):
        return Refusal("no bootstrap: fewer than two cases, or all the same")
    grid = grid_of(differences)
    law = convolved([Counter(map(grid.units, differences))] * n, grid)
    if law is None:
        return Refusal("no exact bootstrap: too many resamples to count")
    means = law.sums / (grid.per_one * n)
    shares = law.ways / law.ways.sum()
    reached = np.cumsum(shares)
    tail = (1 - confidence) / 2
    # The least mean whose share of resamples, counted from below, is enough.
    first, last = np.searchsorted(reached, [tail - UNIT, 1 - tail - UNIT])
    return ExactBootstrap(
        n_distinct=1 + int((np.diff(law.sums) > grid.slack(n)).sum()),
        low=float(means[first]) if first else min(differences),
        high=float(means[last]) if last < len(means) - 1 else max(differences),
        is_range=bool(first == 0 and last == len(means) - 1),
        tail_mass=float(shares[0]),
        coverage=1 - math.ldexp(1.0, 1 - n),
        sign_flip_floor=sign_flip_floor(n),
    )
