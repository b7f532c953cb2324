"""Work on threads that ends at once, and in order, on Ctrl-C or a fault."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple, Self

from evalkit import process

END_AGAIN_S = 0.1
Call = Callable[[], None]


class Hold(NamedTuple):
    """Nothing begins before so many seconds have passed, or a call ended."""

    seconds: float


class InFlight:
    """Carries out calls on threads.

    While it is open, Ctrl-C interrupts nothing by itself, however often it comes:
    it is an order that `feed` obeys. So it can tear no write in two, nor
    break off the ending that an earlier one began. Outside the main thread, where
    no Ctrl-C arrives, nothing changes.

    Args:
        n_workers: Calls at once.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
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
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)

    def carry_out(self, calls: Iterable[Call]) -> None:
        """Carry out calls; where one fails, the others are ended.

        Raises:
            KeyboardInterrupt: Ctrl-C came since this was opened.
            Exception: What the first call to fail raised.
        """
        given = iter(calls)
        self.feed(lambda: next(given, None))

    def feed(
        self,
        ask: Callable[[], Call | Hold | None],
        *,
        n_workers: int | None = None,
        room: Callable[[], int] | None = None,
        end: Callable[[], None] = process.end_all,
    ) -> None:
        """Carry out calls that are asked for one by one, until there are no more.

        Args:
            ask: Asked by this thread whenever a worker is free; gives a call, or
                None where there is none, at least until one that is under way ends.
            n_workers: Calls at once; as many as at first where it is None.
            room: How many of them there is room for now; asked again and again.
            end: Ends what calls wait for.

        Raises:
            KeyboardInterrupt: Ctrl-C came since this was opened.
            Exception: What `ask`, or the first call to fail, raised.
        """
        n_at_once = self.n_workers if n_workers is None else n_workers
        under_way: set[Future[None]] = set()
        with ThreadPoolExecutor(n_at_once) as pool:
            try:
                while True:
                    n_now = room() if room else n_at_once
                    held = self._fill(pool, n_now, under_way, ask)
                    if not under_way and held is None:
                        return
                    if ended := self._next(held):
                        under_way.discard(ended)
                        ended.result()
            except BaseException:
                _abandon(under_way, end)
                raise

    def _fill(
        self,
        pool: Executor,
        n_at_once: int,
        under_way: set[Future[None]],
        ask: Callable[[], Call | Hold | None],
    ) -> Hold | None:
        """Begin calls as long as a worker is free and there are some."""
        while len(under_way) < n_at_once:
            if self._ordered_to_stop:
                raise KeyboardInterrupt
            given = ask()
            if given is None or isinstance(given, Hold):
                return given
            future = pool.submit(given)
            under_way.add(future)
            future.add_done_callback(self._news.put)
        return None

    def _next(self, held: Hold | None) -> Future[None] | None:
        """Wait for a call to end; None where the time to hold off is over."""
        try:
            ended = self._news.get(timeout=held.seconds if held else None)
        except Empty:
            return None
        if ended is None:
            raise KeyboardInterrupt
        return ended

    def _stop(self, *_: object) -> None:
        # A handler may interrupt any line, one that holds a lock too: only a
        # SimpleQueue may be put to from here.
        self._ordered_to_stop = True
        self._news.put(None)


def _abandon(futures: Collection[Future[None]], end: Callable[[], None]) -> None:
    """End what is in flight: its attempts have no evidence and run again."""
    for future in futures:
        future.cancel()
    while not all(future.done() for future in futures):
        # Again and again: between two processes there was none to end.
        end()
        wait(futures, END_AGAIN_S)
