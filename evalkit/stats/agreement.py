"""How much alike are trials of one case, and the two sides of a pair? Pure.

ICC(1) from the one-way analysis of variance (Shrout and Fleiss, 1979). With few
cases it is too noisy to plan from, and refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from evalkit.stats.results import Refusal, alike, mean, same_length, variance
from evalkit.stats.tasks import MIN_CASES, clustered_error


def icc1(
    values: Sequence[float], clusters: Sequence[Hashable], *, n_least: int = MIN_CASES
) -> float | Refusal:
    """Share of the variance that lies between clusters; may be below 0.

    Clusters of different sizes enter by the usual corrected mean size.
    """
    n = same_length(values, clusters)
    sizes = Counter(clusters)
    refusal = _refused(values, sizes, n_least)
    if refusal:
        return refusal
    groups = [
        [x for x, at in zip(values, clusters, strict=True) if at == g] for g in sizes
    ]
    middle = mean(values)
    between = math.fsum(len(g) * (mean(g) - middle) ** 2 for g in groups)
    between /= len(groups) - 1
    within = math.fsum((len(g) - 1) * variance(g) for g in groups if len(g) > 1)
    within /= n - len(groups)
    size = (n - sum(m * m for m in sizes.values()) / n) / (len(groups) - 1)
    return (between - within) / (between + (size - 1) * within)


def design_effect(
    values: Sequence[float], clusters: Sequence[Hashable], *, n_least: int = MIN_CASES
) -> float | Refusal:
    """1 + (m - 1) ICC(1) at the mean cluster size m (Kish, 1965)."""
    share = icc1(values, clusters, n_least=n_least)
    if isinstance(share, Refusal):
        return share
    return 1 + (len(values) / len(set(clusters)) - 1) * share


def variance_ratio(
    values: Sequence[float], clusters: Sequence[Hashable], *, n_least: int = MIN_CASES
) -> float | Refusal:
    """The design effect as seen: squared clustered error over the naive one."""
    refusal = _refused(values, Counter(clusters), n_least)
    found = refusal or clustered_error(values, clusters)
    if isinstance(found, Refusal):
        return found
    return found.se**2 / (variance(values) / len(values))


def correlation(one: Sequence[float], other: Sequence[float]) -> float | Refusal:
    """Pearson's correlation of the two sides of pairs; describes only."""
    same_length(one, other)
    if alike(one) or alike(other):
        return Refusal("no correlation: one side of the pairs is always the same")
    at, beside = mean(one), mean(other)
    both = math.fsum((x - at) * (y - beside) for x, y in zip(one, other, strict=True))
    return both / (len(one) - 1) / math.sqrt(variance(one) * variance(other))


def _refused(
    values: Sequence[float], sizes: Counter[Hashable], n_least: int
) -> Refusal | None:
    if len(sizes) < max(2, n_least):
        return Refusal(
            f"no agreement: {len(sizes)} of at least {max(2, n_least)} cases, too few "
            f"to plan from"
        )
    if len(values) == len(sizes):
        return Refusal("no agreement: every case has a single trial")
    if alike(values):
        return Refusal("no agreement: all trials came out the same")
    return None
