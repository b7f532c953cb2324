"""What a design can find, before anything of it is run or paid for."""

from __future__ import annotations

import math

from evalkit import stats
from evalkit.records import Record

SPREADS = (0.1, 0.2, 0.3)
"""Standard deviations assumed of a case's trials in an arm."""
MIDDLE = 0.2
POWER = 0.8


class DesignReach(Record, frozen=True):
    """The least difference that a design finds, and the least p it can reach.

    `difference` is None where each cell has one trial, which has no spread; `p_least`
    is that of swapping arms within cases, if every trial of one arm did better.
    """

    n_cases: int
    repeats: int
    sd: float
    difference: float | None
    p_least: float


class Foresight(Record, frozen=True):
    """A design as planned under assumed spreads, and other designs under one.

    `beyond` are the same spreads, assumed of differences between cases, for tasks like
    these; empty with fewer cases than such a test needs.
    """

    confidence: float
    power: float
    planned: tuple[DesignReach, ...]
    others: tuple[DesignReach, ...]
    beyond: tuple[DesignReach, ...]


def foresee(n_cases: int, repeats: int, *, confidence: float) -> Foresight:
    """What some cases and repeats can find between two arms.

    Args:
        n_cases: Cases.
        repeats: Trials of each case in each arm.
        confidence: Of the registered intervals; the test has the level 1 - confidence.
    """
    other = dict.fromkeys(
        [
            (n_cases, repeats + 1),
            (n_cases, 2 * repeats),
            (n_cases + 1, repeats),
            (2 * n_cases, repeats),
        ]
    )
    return Foresight(
        confidence,
        POWER,
        tuple(_row(n_cases, repeats, sd, confidence) for sd in SPREADS),
        tuple(_row(n, k, MIDDLE, confidence) for n, k in other),
        tuple(_beyond(n_cases, repeats, sd, confidence) for sd in SPREADS)
        if n_cases >= stats.MIN_CASES
        else (),
    )


def _row(n_cases: int, repeats: int, sd: float, confidence: float) -> DesignReach:
    ways = math.comb(2 * repeats, repeats) ** n_cases
    found = None
    if repeats > 1:
        (cell,) = stats.stratified_detectable(
            [(repeats, repeats)] * n_cases, [sd], alpha=1 - confidence, power=POWER
        )
        found = cell.difference
    return DesignReach(n_cases, repeats, sd, found, min(1.0, 2 / ways))


def _beyond(n_cases: int, repeats: int, sd: float, confidence: float) -> DesignReach:
    found = stats.t_detectable(n_cases, sd=sd, alpha=1 - confidence, power=POWER)
    return DesignReach(n_cases, repeats, sd, found, stats.sign_flip_floor(n_cases))
