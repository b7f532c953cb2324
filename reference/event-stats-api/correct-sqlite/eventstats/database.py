"""The log in an indexed table, and the questions asked of it."""

import sqlite3
import threading
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


class Database:
    """Answers questions about a log; one connection, one question at a time."""

    def __init__(self, rows: Iterable[tuple[int, str, int]]) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._connection.execute("CREATE TABLE events (at INT, type TEXT, ms INT)")
        self._connection.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)
        self._connection.execute("CREATE INDEX by_time ON events (at, ms)")
        self._connection.execute("CREATE INDEX by_type ON events (type, at, ms)")
        self._connection.execute("ANALYZE")

    def report(self, conditions: dict[str, object]) -> dict[str, float | None]:
        """The statistics of the events for which all conditions hold."""
        where = " AND ".join(conditions) or "1"
        sql = f"SELECT ms FROM events WHERE {where}"
        with self._lock:
            found = self._connection.execute(sql, list(conditions.values())).fetchall()
        return _fields(sorted(ms for (ms,) in found))

    def close(self) -> None:
        """Give the table up."""
        self._connection.close()


def _fields(ms: list[int]) -> dict[str, float | None]:
    count = len(ms)
    if not count:
        return dict(count=0, avg=None, p50=None, p95=None, p99=None, max=None)
    average = (Decimal(sum(ms)) / count).quantize(CENT, rounding=ROUND_HALF_UP)
    p50, p95, p99 = (ms[(count * p + 99) // 100 - 1] for p in (50, 95, 99))
    return dict(count=count, avg=float(average), p50=p50, p95=p95, p99=p99, max=ms[-1])
