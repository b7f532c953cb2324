"""Cost, tokens and time: how many times as much? Pure.

Ratios of geometric means (differences on logarithms) beside ratios of totals. The
mean of ratios is not here: it depends on which arm stands below. A value of 0 has
no logarithm, and adding something to it would be arbitrary: totals only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalkit.stats.results import Refusal
from evalkit.stats.strata import WELCH, Stratum

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
