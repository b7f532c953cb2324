"""Gives events to their handlers."""

import asyncio
from collections.abc import Callable
from typing import Any

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
        failed = asyncio.run(self._deliver(event))
        if failed:
            raise DeliveryError("; ".join(map(repr, failed))) from failed[0]

    async def _deliver(self, event: Event) -> list[Exception]:
        handlers = self._handlers.get(event["kind"], [])
        made = (asyncio.to_thread(handler, event) for handler in handlers)
        outcomes = await asyncio.gather(*made, return_exceptions=True)
        return [each for each in outcomes if isinstance(each, Exception)]
