"""Statistics over the events of a window."""

from collections.abc import Iterable
from typing import NamedTuple

from eventstats.log import Event

PERCENTILES = (50, 95, 99)


class Query(NamedTuple):
    """Which events count; None does not restrict."""

    type: str | None = None
    start: int | None = None
    end: int | None = None


class Statistics:
    """Answers queries over a log, kept by type."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._all = list(events)
        self._of_type: dict[str, list[Event]] = {}
        for event in self._all:
            self._of_type.setdefault(event.type, []).append(event)

    def summarise(self, query: Query) -> dict[str, float | None]:
        """What the API shows of the events that match a query."""
        events = self._all
        if query.type is not None:
            events = self._of_type.get(query.type, [])
        start, end = query.start, query.end
        durations = []
        for event in events:
            if start is not None and event.at < start:
                continue
            if end is not None and event.at > end:
                continue
            durations.append(event.duration_ms)
        return describe(durations)


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
