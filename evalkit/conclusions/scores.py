"""What was delivered: scores by arm, case, step and check."""

from __future__ import annotations

from evalkit.records import Complaint, Record


class Proportion(Record, frozen=True):
    """`k` of `n`, with its Wilson interval; no interval where `n` is 0."""

    k: int
    n: int
    low: float | None
    high: float | None


class Point(Record, frozen=True):
    """One analysed trial."""

    repeat: int
    score: float
    passed: bool
    outcome: str
    tokens: int | None
    usd: float | None
    wall_s: float | None


class CaseArm(Record, frozen=True):
    """One case in one arm, with the trials behind it in order of repeat."""

    case: str
    arm: str
    score: float | None
    passed: Proportion
    points: tuple[Point, ...]


class StepPoint(Record, frozen=True):
    """One step of one analysed trial; the rest is None where it was not reached.

    `ended` tells how its last call did; `picked` is the skill that routing gave it,
    `none` if it gave none, and None where the arm is not routed.
    """

    repeat: int
    score: float | None = None
    ended: str | None = None
    usd: float | None = None
    tokens: int | None = None
    wall_s: float | None = None
    picked: str | None = None


class StepRow(Record, frozen=True):
    """One step of a chain in one arm, with its points in order of repeat.

    `score` is the mean over all analysed trials, in which a step that was not
    reached counts 0. The other means are over the trials that reached it, and None
    where one of those does not report.
    """

    case: str
    step: str
    n: int
    arm: str
    n_trials: int
    n_reached: int
    score: float | None
    tokens: float | None
    usd: float | None
    wall_s: float | None
    points: tuple[StepPoint, ...]


class CaseContrast(Record, frozen=True):
    """Difference of mean scores in one case; `pairs` are those of its blocks."""

    case: str
    arm: str
    comparator: str
    difference: float
    pairs: tuple[float, ...]


class CheckRow(Record, frozen=True):
    """How often one check passed in one arm: `k` of `n` analysed trials.

    `n_not_reached` and `n_grader_died` are among the `n - k` that did not.
    `weight` is None where no trial shows it.
    """

    case: str
    step: str
    check: str
    complaint: Complaint | None
    weight: int | None
    arm: str
    k: int
    n: int
    n_not_reached: int
    n_grader_died: int


class ComplaintRow(Record, frozen=True):
    """Checks of one complaint in one arm: `k` passed of `n` carried out or due."""

    complaint: Complaint
    arm: str
    k: int
    n: int
