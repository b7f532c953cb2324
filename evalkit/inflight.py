"""Work on threads that ends at once, and in order, on Ctrl-C or a fault."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self

from evalkit import process

END_AGAIN_S = 0.1


class InFlight:
    """Carries out calls on threads.

    While it is open, Ctrl-C interrupts nothing by itself, however often it comes:
    it is an order that `carry_out` obeys. So it can tear no write in two, nor
    break off the ending that an earlier one began. Outside the main thread, where
    no Ctrl-C arrives, nothing changes.

    Args:
        n_workers: Calls at once.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pool = ThreadPoolExecutor(n_workers)
        self._news: SimpleQueue[Future[None] | None] = SimpleQueue()
        self._ordered_to_stop = False
        self._handler: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._handler = signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown()
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)

    def carry_out(self, calls: Sequence[Callable[[], None]]) -> None:
        """Carry out calls; where one fails, the others are ended.

        Raises:
            KeyboardInterrupt: Ctrl-C came since this was opened.
            Exception: What the first call to fail raised.
        """
        if self._ordered_to_stop:
            raise KeyboardInterrupt
        futures = [self._pool.submit(call) for call in calls]
        for future in futures:
            future.add_done_callback(self._news.put)
        try:
            for _ in futures:
                self._next().result()
        except BaseException:
            _abandon(futures)
            raise

    def pause(self, seconds: float) -> None:
        """Wait, between calls.

        Raises:
            KeyboardInterrupt: Ctrl-C came since this was opened.
        """
        with suppress(Empty):
            if self._ordered_to_stop or self._news.get(timeout=seconds) is None:
                raise KeyboardInterrupt

    def _next(self) -> Future[None]:
        """Wait for a call to end."""
        ended = self._news.get()
        if ended is None:
            raise KeyboardInterrupt
        return ended

    def _stop(self, *_: object) -> None:
        # A handler may interrupt any line, one that holds a lock too: only a
        # SimpleQueue may be put to from here.
        self._ordered_to_stop = True
        self._news.put(None)


def _abandon(futures: Sequence[Future[None]]) -> None:
    """End what is in flight: its attempts have no evidence and run again."""
    for future in futures:
        future.cancel()
    while not all(future.done() for future in futures):
        # Again and again: between two processes there was none to end.
        process.end_all()
        wait(futures, END_AGAIN_S)
