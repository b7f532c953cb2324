"""When a request may leave: so many at once, and none while the provider is busy.

One account for all calls, so that what one of them is told, all others heed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from evalkit.outcomes import RETRY_GROWTH

BUSY = frozenset({429, 503, 529})
"""What a provider answers that has too much to do; others do not pass with time."""
BUSY_KINDS = ("overloaded_error", "rate_limit_error")
"""What it calls that in a stream that began well."""
MAX_GROWN = 2
MAX_GROWTH = RETRY_GROWTH**MAX_GROWN


class Heard(NamedTuple):
    """What a provider said to a request, as far as it tells whether others may come."""

    status: int | None
    error: str
    retry_after: str | None

    @property
    def is_busy(self) -> bool:
        """True where it asks to be spared."""
        told = any(kind in self.error for kind in BUSY_KINDS)
        failed = self.status is not None and self.status >= 400
        return told or self.status in BUSY or (failed and self.retry_after is not None)

    @property
    def is_well(self) -> bool:
        """True where it answered as one that has time."""
        return self.status is not None and self.status < 400 and not self.is_busy


class Holding:
    """Holds requests back.

    Where the provider is busy, all wait: as long as it says, else the registered wait,
    four times as long each time that it is busy again, sixteen times at most.

    Args:
        at_once: Requests under way at most; None is any number.
        wait_s: The registered wait.
        monotonic: A clock, in seconds.
    """

    def __init__(
        self,
        at_once: int | None,
        wait_s: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places = asyncio.Semaphore(at_once) if at_once else nullcontext()
        self._wait_s = wait_s
        self._monotonic = monotonic
        self._until_s = 0.0
        self._n_in_row = 0

    @asynccontextmanager
    async def leave(self) -> AsyncGenerator[float]:
        """Wait for a place and a time to leave; gives that time."""
        async with self._places:
            while (left_s := self._until_s - self._monotonic()) > 0:
                await asyncio.sleep(left_s)
            yield self._monotonic()

    def hear(self, left_at_s: float, heard: Heard) -> None:
        """Heed what the provider said to a request that left at this time."""
        # Those that left before it was known tell nothing new.
        is_news = left_at_s >= self._until_s
        if heard.is_well and is_news:
            self._n_in_row = 0
        if not heard.is_busy:
            return
        self._n_in_row += is_news
        asked_s = seconds_of(heard.retry_after)
        if asked_s is None:
            n_before = min(max(self._n_in_row - 1, 0), MAX_GROWN)
            asked_s = self._wait_s * RETRY_GROWTH**n_before
        until_s = self._monotonic() + min(asked_s, self._wait_s * MAX_GROWTH)
        self._until_s = max(self._until_s, until_s)


def seconds_of(retry_after: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a `retry-after` asks for, or until its date; None if it is neither."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        until = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max((aware - (now or datetime.now(UTC))).total_seconds(), 0.0)
