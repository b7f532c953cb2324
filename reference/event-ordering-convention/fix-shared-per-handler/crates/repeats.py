"""The broker may send an event more than once."""

import threading
from typing import Any

_lock = threading.Lock()
_seen: set[tuple[str, str]] = set()


def first_time(event: dict[str, Any], who: str) -> bool:
    """False for an event that this handler had before."""
    with _lock:
        if (who, event["id"]) in _seen:
            return False
        _seen.add((who, event["id"]))
        return True


def forget(event: dict[str, Any], who: str) -> None:
    """The handler failed: the next time counts as the first."""
    with _lock:
        _seen.discard((who, event["id"]))
