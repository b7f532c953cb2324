"""Whole units in which floats are compared, so that equal sums are equal. Pure.

Scores are fractions of small denominators, and their sums are whole multiples of one
small step. Other values are compared in multiples of a relative 1e-10; scores given
to 12 places are far finer than that.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

UNIT = 1e-10
"""Values that differ by less than this share of the largest are one value."""
MAX_DENOMINATOR = 1 << 12
"""The greatest denominator that a value is taken to be a fraction of."""
_COARSE = 8
"""A step is so many times `UNIT`, or noise could move a sum to the next."""


class Grid(NamedTuple):
    """Units of which `per_one` make 1; `exact` where every sum is a whole number."""

    per_one: float
    exact: bool

    def units(self, value: float) -> int:
        """A value in whole units."""
        return round(value * self.per_one)

    def slack(self, n: int) -> int:
        """By how many units a sum of n values can be off."""
        return 0 if self.exact else n


def scale_of(values: Iterable[float]) -> float:
    """The largest size among values; 1 where all are 0."""
    return max(map(abs, values), default=0.0) or 1.0


def grid_of(values: Collection[float], n_parts: int = 1) -> Grid:
    """The grid on which values lie, and their n-th parts."""
    scale = scale_of(values)
    most = 1 / (UNIT * scale)
    common = common_denominator(set(values), scale, int(most / _COARSE / n_parts))
    if common is None:
        return Grid(most, exact=False)
    return Grid(float(common * n_parts), exact=True)


def common_denominator(
    values: Iterable[float], scale: float, most: int = MAX_DENOMINATOR
) -> int | None:
    """The least denominator of all values; None where there is none so small."""
    common = 1
    for value in values:
        near = _fraction(value)
        common = math.lcm(common, near.denominator)
        if common > most or abs(value - near) > UNIT * scale:
            return None
    return common


@lru_cache(maxsize=MAX_DENOMINATOR)
def _fraction(value: float) -> Fraction:
    return Fraction(value).limit_denominator(MAX_DENOMINATOR)
