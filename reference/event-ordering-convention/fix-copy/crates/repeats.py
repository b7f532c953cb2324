"""The broker may send an event more than once."""

from typing import Any


class Repeats:
    """What one handler had."""

    def __init__(self, seen: set[str]) -> None:
        self._seen = set(seen)

    def known(self, event: dict[str, Any]) -> bool:
        return event["id"] in self._seen

    def keep(self, event: dict[str, Any]) -> None:
        self._seen.add(event["id"])
