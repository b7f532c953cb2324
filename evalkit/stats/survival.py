"""Time to finish, where some were cut off at a limit. Pure.

Times cut off are right-censored: dropping them would reward an arm for its
timeouts. Medians after Kaplan and Meier (1958), restricted means to the common
limit, the log-rank test. A crash is a failure, not a censored time: leave it out
here and count it elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import scipy

from evalkit.stats.results import CLOSE, Refusal, same_length


class Times(NamedTuple):
    """Seconds of each trial of an arm, whether it finished, and the arm's limit."""

    seconds: tuple[float, ...]
    finished: tuple[bool, ...]
    limit_s: float


class LogRank(NamedTuple):
    """z below 0 where the first arm finished less often than expected; two-sided p."""

    z: float
    p: float


class TimeContrast(NamedTuple):
    """Restricted mean and median of both arms to the common limit."""

    limit_s: float
    mean_s: float
    comparator_mean_s: float
    median_s: float | None
    comparator_median_s: float | None
    test: LogRank | Refusal


def restricted_mean_time(times: Times) -> float:
    """Mean seconds to the limit: the area under the curve of Kaplan and Meier.

    With no time cut off before the limit it is the mean of min(time, limit).

    Raises:
        ValueError: There is no trial.
    """
    if not times.seconds:
        raise ValueError("a mean time needs a trial")
    area, before, left = 0.0, 0.0, 1.0
    for at, still in _curve(times):
        until = min(at, times.limit_s)
        area += left * (until - before)
        before, left = until, still
    return area + left * (times.limit_s - before)


def median_time(times: Times) -> float | None:
    """The first time by which more than half had finished; None where it never was."""
    for at, still in _curve(times):
        # The curve is a product of fractions, so one half is met only nearly.
        if still < 0.5 - CLOSE:
            return at
    return None


def log_rank(arm: Times, comparator: Times) -> LogRank | Refusal:
    """Two-sided log-rank test; refused where limits differ or nothing finished."""
    refusal = _refused(arm, comparator)
    if refusal:
        return refusal
    if not any((*arm.finished, *comparator.finished)):
        return Refusal("no test of times: no trial finished within the limit")
    if len({*arm.seconds, *comparator.seconds}) == 1:
        return Refusal("no test of times: every trial took the same time")
    found = scipy.stats.logrank(_censored(arm), _censored(comparator))
    z, p = float(found.statistic), float(found.pvalue)
    if math.isnan(z):
        return Refusal("no test of times: no moment tells the arms apart")
    return LogRank(z, p)


def contrast_times(arm: Times, comparator: Times) -> TimeContrast | Refusal:
    """Everything of this module about two arms; refused where limits differ."""
    refusal = _refused(arm, comparator)
    if refusal:
        return refusal
    return TimeContrast(
        arm.limit_s,
        restricted_mean_time(arm),
        restricted_mean_time(comparator),
        median_time(arm),
        median_time(comparator),
        log_rank(arm, comparator),
    )


def _refused(arm: Times, comparator: Times) -> Refusal | None:
    for times in (arm, comparator):
        if not same_length(times.seconds, times.finished):
            return Refusal("no comparison of times: an arm has no trial")
    if not math.isclose(arm.limit_s, comparator.limit_s, rel_tol=CLOSE):
        return Refusal(
            f"no comparison of times: the arms had different limits "
            f"({arm.limit_s:g} s and {comparator.limit_s:g} s)"
        )
    return None


def _curve(times: Times) -> Sequence[tuple[float, float]]:
    """Times at which trials finished, and the share still at work after each."""
    rows = sorted(zip(times.seconds, times.finished, strict=True))
    curve: list[tuple[float, float]] = []
    left = 1.0
    for at in sorted({at for at, finished in rows if finished}):
        n_at_work = sum(time >= at for time, _ in rows)
        n_now = sum(time == at and finished for time, finished in rows)
        left *= 1 - n_now / n_at_work
        curve.append((at, left))
    return curve


def _censored(times: Times) -> scipy.stats.CensoredData:
    return scipy.stats.CensoredData.right_censored(
        times.seconds, [not finished for finished in times.finished]
    )
