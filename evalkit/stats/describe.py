"""Descriptions, never headlines. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evalkit.stats.results import CLOSE, Refusal, mean

NEAR_CEILING = 0.9
"""A score before, above which a normalised gain says little."""


class Gain(NamedTuple):
    """A normalised gain, and whether so little was left that it says little."""

    share: float
    near_ceiling: bool


def interquartile_mean(values: Sequence[float]) -> float:
    """Mean of the middle half: hides rare failures, so it stands beside a mean."""
    cut = int(0.25 * len(values))
    return mean(sorted(values)[cut : len(values) - cut])


def share_at_least(values: Sequence[float], level: float) -> float:
    """Share of values that reach a level."""
    return mean([float(x >= level - CLOSE) for x in values])


def share_above(values: Sequence[float], level: float) -> float:
    """Share of values above a level; 0 at the ceiling, whatever they are."""
    return mean([float(x > level + CLOSE) for x in values])


def optimality_gap(values: Sequence[float], *, target: float = 1.0) -> float:
    """Mean of what is short of a target."""
    return mean([max(0.0, target - x) for x in values])


def normalised_gain(before: float, after: float) -> Gain | Refusal:
    """The share of what was left to gain that was gained (Hake, 1998).

    It is lopsided: a loss of 0.1 from 0.9 counts -1. Refused at a score of 1
    before, with a warning above `NEAR_CEILING`.
    """
    if before >= 1 - CLOSE:
        return Refusal("no gain: the score before was already 1")
    return Gain((after - before) / (1 - before), before > NEAR_CEILING + CLOSE)


def pareto_front(points: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Names of the points that no other beats, cheapest first; ties stay.

    Args:
        points: Cost and quality by name.
    """

    def beaten(name: str) -> bool:
        cost, quality = points[name]
        return any(
            c <= cost + CLOSE
            and q >= quality - CLOSE
            and (c < cost - CLOSE or q > quality + CLOSE)
            for c, q in points.values()
        )

    return tuple(sorted((n for n in points if not beaten(n)), key=lambda n: points[n]))
