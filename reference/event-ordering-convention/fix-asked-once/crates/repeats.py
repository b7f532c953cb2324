"""The broker may send an event more than once."""

from typing import Any

_seen: set[str] = set()


def first_time(event: dict[str, Any]) -> bool:
    """False for an event that was here before."""
    if event["id"] in _seen:
        return False
    _seen.add(event["id"])
    return True


def forget(event: dict[str, Any]) -> None:
    """The next time counts as the first."""
    _seen.discard(event["id"])
