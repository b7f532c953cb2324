"""Gives events to their handlers."""

from collections.abc import Callable
from typing import Any

from crates import repeats

Event = dict[str, Any]
Handler = Callable[[Event], None]


class DeliveryError(Exception):
    """A handler could not do its part."""


class Bus:
    def __init__(self) -> None:
        self._handlers: dict[str, list[Handler]] = {}

    def subscribe(self, kind: str, handler: Handler) -> None:
        self._handlers.setdefault(kind, []).append(handler)

    def deliver(self, event: Event) -> None:
        """Give an event to every handler of its kind, whatever one of them does."""
        if event["kind"] == "crate.packed" and not repeats.first_time(event):
            return
        failed: list[Exception] = []
        for handler in self._handlers.get(event["kind"], []):
            try:
                handler(event)
            except Exception as error:
                failed.append(error)
        if failed:
            repeats.forget(event)
            raise DeliveryError("; ".join(map(repr, failed))) from failed[0]
