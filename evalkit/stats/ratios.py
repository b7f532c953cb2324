"""Cost, tokens and time: how many times as much? Pure.

Ratios of geometric means (differences on logarithms) beside ratios of totals. The
mean of ratios is not here: it depends on which arm stands below. A value of 0 has
no logarithm, and adding something to it would be arbitrary: totals only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evalkit.stats.results import Refusal, mean, same_length
from evalkit.stats.strata import WELCH, Stratum
from evalkit.stats.tasks import MIN_CASES, t_interval

WELCH_LOG = f"{WELCH}, on logarithms"


def log_strata(strata: Sequence[Stratum]) -> tuple[Stratum, ...] | Refusal:
    """The strata on logarithms, for ratios of geometric means.

    Refuses where a value is not above 0.
    """
    if any(value <= 0 for stratum in strata for cell in stratum for value in cell):
        return Refusal("no ratio of means: a trial has the value 0")
    return tuple(
        Stratum(
            tuple(math.log(value) for value in stratum.arm),
            tuple(math.log(value) for value in stratum.comparator),
        )
        for stratum in strata
    )


def ratio_of_totals(strata: Sequence[Stratum]) -> float | None:
    """Total of the arm over total of the comparator; None where that is 0."""
    below = math.fsum(value for stratum in strata for value in stratum.comparator)
    above = math.fsum(value for stratum in strata for value in stratum.arm)
    return above / below if below else None


class Ratio(NamedTuple):
    """A ratio of geometric means with its interval, by t on logarithms."""

    ratio: float
    low: float
    high: float
    df: float


def ratio_of_cases(
    strata: Sequence[Stratum], *, confidence: float, n_least: int = MIN_CASES
) -> Ratio | Refusal:
    """Tasks like these: the ratio of geometric means, cases being the unit.

    Refused where a value is 0, and where `tasks.t_interval` is.
    """
    logs = log_strata(strata)
    if isinstance(logs, Refusal):
        return logs
    return _raised([s.difference for s in logs], confidence, n_least)


def ratio_of_pairs(
    arm: Sequence[float],
    comparator: Sequence[float],
    *,
    confidence: float,
    n_least: int = MIN_CASES,
) -> Ratio | Refusal:
    """The same over pairs as if they were independent: to describe only."""
    same_length(arm, comparator)
    logs = log_strata(
        [Stratum((a,), (b,)) for a, b in zip(arm, comparator, strict=True)]
    )
    if isinstance(logs, Refusal):
        return logs
    return _raised([s.difference for s in logs], confidence, n_least)


def _raised(logs: Sequence[float], confidence: float, n_least: int) -> Ratio | Refusal:
    found = t_interval(logs, confidence=confidence, n_least=n_least)
    if isinstance(found, Refusal):
        return found
    low, high = math.exp(found.low), math.exp(found.high)
    return Ratio(math.exp(mean(logs)), low, high, found.df)
