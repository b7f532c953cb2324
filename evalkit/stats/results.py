"""What a statistic gives back: an interval, a p, or a sentence in their place. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

CLOSE = 1e-12
"""Floats that differ by this, or by this share of the largest, are one number."""

_NOTHING: Mapping[str, float] = {}


class Refusal(NamedTuple):
    """Why there is no number: a sentence, and what the data bound all the same."""

    sentence: str
    bounds: Mapping[str, float] = _NOTHING


class Interval(NamedTuple):
    """An interval, its degrees of freedom, and cells without any spread."""

    low: float
    high: float
    se: float
    df: float
    n_constant_cells: int = 0


class PValue(NamedTuple):
    """A p over `n_permutations`, all counted or some drawn."""

    p: float
    n_permutations: int
    method: str


def alike(values: Sequence[float]) -> bool:
    """True where all values are one number, but for the noise of floats."""
    if not values:
        return True
    scale = max(1.0, *map(abs, values))
    return max(values) - min(values) <= CLOSE * scale


def mean(values: Sequence[float]) -> float:
    """Mean, independent of the order of the values.

    Raises:
        ValueError: There are none.
    """
    if not values:
        raise ValueError("a mean needs a value")
    return math.fsum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    """Sample variance (over n - 1), exactly 0 where all values are alike."""
    if alike(values):
        return 0.0
    middle = mean(values)
    return math.fsum((x - middle) ** 2 for x in values) / (len(values) - 1)


def same_length(*columns: Sequence[object]) -> int:
    """The common length of some columns.

    Raises:
        ValueError: They differ.
    """
    lengths = {len(column) for column in columns}
    if len(lengths) != 1:
        raise ValueError(f"columns of one length expected, found {sorted(lengths)}")
    return lengths.pop()
