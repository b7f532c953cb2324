"""The broker may send an event more than once."""

import threading
from typing import Any

_seen: set[str] = set()
_lock = threading.Lock()


def first_time(event: dict[str, Any]) -> bool:
    """False for an event that was here before."""
    with _lock:
        if event["id"] in _seen:
            return False
        _seen.add(event["id"])
        return True
