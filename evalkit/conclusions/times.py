"""How long the work took, where some of it was cut off at a limit."""

from __future__ import annotations

from evalkit.records import Record


class TimePoint(Record, frozen=True):
    """One trial: the seconds it was at work, to the limit at most.

    One of a chain that was cut off in a step was so before the limit.
    """

    case: str
    repeat: int
    seconds: float
    finished: bool


class TimeRow(Record, frozen=True):
    """Trials of one arm until they finished, over cases with one limit in common.

    Of `n` trials `n_cut` were cut off by the clock. `n_failed` others neither finished
    nor were cut off so (a crash, a refusal, a cap other than time, a chain that ended
    early): they are in no other number here. The restricted mean is that of the time
    or the limit, whichever is less; the median is None where half did not finish. A
    refusal says why there is neither.
    """

    arm: str
    cases: tuple[str, ...]
    limit_s: float
    n: int
    n_cut: int
    n_failed: int
    restricted_mean_s: float | None
    median_s: float | None
    points: tuple[TimePoint, ...]
    refusal: str | None = None


class TimeContrast(Record, frozen=True):
    """An arm less a comparator, in seconds to the limit; p of the log-rank test.

    The p takes trials as independent and cases as one group. A refusal says why
    there is no p, or no difference at all.
    """

    arm: str
    comparator: str
    limit_s: float
    difference_s: float | None
    p: float | None
    refusal: str | None = None
