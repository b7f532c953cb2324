"""Pairs of which a side is missing: what could they change? Pure.

Complete pairs, the bounds of Manski (1990), and every missing side as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evalkit.stats.results import CLOSE, Refusal, mean, same_length


class MissingPairs(NamedTuple):
    """Mean differences over all planned pairs, by what the missing ones may be."""

    n_planned: int
    n_complete: int
    complete_case: float | None
    low: float
    high: float
    all_zero: float

    @property
    def straddles(self) -> bool:
        """True where the missing sides could give either sign."""
        return self.low < -CLOSE and self.high > CLOSE

    @property
    def sentence(self) -> str:
        """What that means, in plain words."""
        n_missing = self.n_planned - self.n_complete
        if not n_missing:
            return "no pair is missing"
        known = f"{n_missing} of {self.n_planned} pairs are missing a side"
        if self.straddles:
            return f"{known}: missing data could reverse the difference"
        return f"{known}: no values of theirs would turn its sign"


def missing_pairs(
    arm: Sequence[float | None],
    comparator: Sequence[float | None],
    *,
    least: float = 0.0,
    most: float = 1.0,
) -> MissingPairs | Refusal:
    """Bounds of the mean difference over all planned pairs.

    Args:
        arm: Value of each planned pair in the arm; None where missing.
        comparator: The same in the comparator.
        least: The lowest value a trial can have.
        most: The highest.
    """
    n_planned = same_length(arm, comparator)
    if not n_planned:
        return Refusal("no bounds: no pair was planned")
    pairs = list(zip(arm, comparator, strict=True))
    complete = [a - b for a, b in pairs if a is not None and b is not None]

    def filled(for_arm: float, for_comparator: float) -> float:
        return mean(
            [
                (for_arm if a is None else a) - (for_comparator if b is None else b)
                for a, b in pairs
            ]
        )

    return MissingPairs(
        n_planned,
        len(complete),
        mean(complete) if complete else None,
        filled(least, most),
        filled(most, least),
        filled(0.0, 0.0),
    )
