"""How far differences can be believed: equivalence, other methods, what is missing."""

from __future__ import annotations

from evalkit.records import Record


class EquivalenceRow(Record, frozen=True):
    """Is a difference in the outcome shown to be of no importance?

    Two one-sided tests against the registered margin; `low` to `high` is the interval
    that goes with them (90 % at a level of 0.05).
    """

    arm: str
    comparator: str
    margin: float
    p: float | None
    low: float | None
    high: float | None
    shown: bool
    refusal: str | None = None


class BeyondRow(Record, frozen=True):
    """A difference for tasks like these: the case is the unit, not the trial."""

    arm: str
    comparator: str
    n_cases: int
    estimate: float | None
    low: float | None
    high: float | None
    p: float | None
    interval_method: str | None = None
    p_method: str | None = None
    refusal: str | None = None


class SensitivityRow(Record, frozen=True):
    """The main difference by another method, or on other trials.

    `registered` marks the one that was planned; `assumes` says what would have to
    hold for this one to be right.
    """

    arm: str
    comparator: str
    method: str
    assumes: str
    registered: bool
    estimate: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    refusal: str | None = None


class MissingRow(Record, frozen=True):
    """What blocks without a result could change: differences over all planned pairs.

    `low` and `high` take every missing score at its worst and its best for the arm,
    `all_zero` counts each as 0.
    """

    arm: str
    comparator: str
    n_planned: int
    n_complete: int
    complete_case: float | None
    low: float
    high: float
    all_zero: float
    straddles: bool
    sentence: str


class DetectableRow(Record, frozen=True):
    """The least true difference that a design finds in four runs of five.

    `sd` is the spread of trials of a case in an arm; `seen` says that it is that of
    this run, pooled, else it is assumed.
    """

    arm: str
    comparator: str
    sd: float
    seen: bool
    difference: float
