"""Many comparisons at once. Pure.

Holm (1979) over the declared confirmatory family; Benjamini and Hochberg (1995)
for what is explored.
"""

from __future__ import annotations

from collections.abc import Mapping

import scipy


def holm(family: Mapping[str, float | None]) -> dict[str, float | None]:
    """Adjusted p of each member of a declared family.

    A member without a p (refused) keeps none but still counts: a family does not
    shrink because of what was found.
    """
    ranked = sorted((p, name) for name, p in family.items() if p is not None)
    adjusted: dict[str, float | None] = dict.fromkeys(family)
    least = 0.0
    for rank, (p, name) in enumerate(ranked):
        least = max(least, min(1.0, p * (len(family) - rank)))
        adjusted[name] = least
    return adjusted


def benjamini_hochberg(family: Mapping[str, float | None]) -> dict[str, float | None]:
    """Adjusted p (rate of false discoveries) of each explored comparison."""
    known = {name: p for name, p in family.items() if p is not None}
    adjusted: dict[str, float | None] = dict.fromkeys(family)
    if known:
        # Those without a p count as 1, as in `holm`.
        padded = [*known.values(), *[1.0] * (len(family) - len(known))]
        found = scipy.stats.false_discovery_control(padded).tolist()
        adjusted.update(zip(known, found, strict=False))
    return adjusted
