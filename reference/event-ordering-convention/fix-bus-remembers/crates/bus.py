"""Gives events to their handlers."""

import threading
from collections.abc import Callable
from typing import Any

Event = dict[str, Any]
Handler = Callable[[Event], None]


class DeliveryError(Exception):
    """A handler could not do its part."""


class Bus:
    def __init__(self) -> None:
        self._handlers: dict[str, list[Handler]] = {}
        self._lock = threading.Lock()
        self._done: set[tuple[int, str]] = set()

    def subscribe(self, kind: str, handler: Handler) -> None:
        self._handlers.setdefault(kind, []).append(handler)

    def deliver(self, event: Event) -> None:
        """Give an event to every handler of its kind, whatever one of them does."""
        failed: list[Exception] = []
        for handler in self._handlers.get(event["kind"], []):
            key = (id(handler), event["id"])
            with self._lock:
                if key in self._done:
                    continue
                self._done.add(key)
            try:
                handler(event)
            except Exception as error:
                failed.append(error)
                with self._lock:
                    self._done.discard(key)
        if failed:
            raise DeliveryError("; ".join(map(repr, failed))) from failed[0]
