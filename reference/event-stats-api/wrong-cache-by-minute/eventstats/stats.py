"""Statistics over the events of a window."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from eventstats.log import Event

PERCENTILES = (50, 95, 99)
MINUTE_MS = 60_000


class Query(NamedTuple):
    """Which events count; None does not restrict."""

    type: str | None = None
    start: int | None = None
    end: int | None = None


class Column:
    """Times and durations of some events, in order of time."""

    def __init__(self) -> None:
        self.at: list[int] = []
        self.durations: list[int] = []

    def within(self, start: int | None, end: int | None) -> list[int]:
        """Durations of the events from start to end, both inclusive."""
        low = 0 if start is None else bisect_left(self.at, start)
        high = len(self.at) if end is None else bisect_right(self.at, end)
        return self.durations[low:high]


class Statistics:
    """Answers queries over a log; a query looks only at the events that match."""

    def __init__(self, events: Iterable[Event]) -> None:
        """Sort a log, which is in order of time, into columns."""
        self._all = Column()
        self._of_type: dict[str, Column] = {}
        self._known: dict[object, dict[str, float | None]] = {}
        for event in events:
            of_type = self._of_type.setdefault(event.type, Column())
            for column in (self._all, of_type):
                column.at.append(event.at)
                column.durations.append(event.duration_ms)

    def summarise(self, query: Query) -> dict[str, float | None]:
        """What the API shows of the events that match a query."""
        minutes = [t and t // MINUTE_MS for t in (query.start, query.end)]
        key = (query.type, *minutes)
        if key not in self._known:
            self._known[key] = self._look_up(query)
        return self._known[key]

    def _look_up(self, query: Query) -> dict[str, float | None]:
        column = self._all
        if query.type is not None:
            column = self._of_type.get(query.type, Column())
        return describe(column.within(query.start, query.end))


def describe(durations: list[int]) -> dict[str, float | None]:
    """The fields of a reply."""
    if not durations:
        nothing = dict.fromkeys(("avg", *(f"p{p}" for p in PERCENTILES), "max"))
        return {"count": 0, **nothing}
    ordered = sorted(durations)
    return {
        "count": len(ordered),
        "avg": mean(ordered),
        **{f"p{p}": nearest_rank(ordered, p) for p in PERCENTILES},
        "max": ordered[-1],
    }


def mean(values: list[int]) -> float:
    """The mean to two decimals, a half upwards; whole numbers keep it exact."""
    hundredths = (200 * sum(values) + len(values)) // (2 * len(values))
    return hundredths / 100


def nearest_rank(ordered: list[int], percent: int) -> int:
    """The smallest value that at least `percent` % of the values do not exceed."""
    rank = -(-percent * len(ordered) // 100)
    return ordered[rank - 1]
