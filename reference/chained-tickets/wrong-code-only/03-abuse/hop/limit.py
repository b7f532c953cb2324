"""How much a client may do."""

import threading
from collections import Counter


class Limiter:
    """Counts the calls of each client, from zero again every `period_s`."""

    def __init__(self, most: int, period_s: float) -> None:
        self._most = most
        self._period_s = period_s
        self._lock = threading.Lock()
        self._since_s = 0.0
        self._counts: Counter[str] = Counter()

    def allows(self, client: str, now_s: float) -> bool:
        """Count a call; False if it is one too many."""
        with self._lock:
            if now_s - self._since_s >= self._period_s:
                self._since_s = now_s
                self._counts.clear()
            self._counts[client] += 1
            return self._counts[client] <= self._most
