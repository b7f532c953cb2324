"""The delivery worker: takes accepted hooks and brings them to their receivers."""

import heapq
import itertools
import json
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from relay.store import DEAD, DELIVERED, PENDING, Hook, Store

FIRST_DELAY_S = 0.1
MAX_ATTEMPTS = 5
TIMEOUT_S = 2.0
MAX_UNDER_WAY = 32


class DeliveryWorker:
    """Delivers hooks in the background and writes the outcome to the store.

    One thread waits for the earliest due attempt and hands it to a pool, so a
    hook that waits for its next attempt occupies no thread of the pool.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._due: list[tuple[float, int, str]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._stopped = False
        self._pool = ThreadPoolExecutor(MAX_UNDER_WAY, "delivery")
        self._scheduler = threading.Thread(target=self._schedule, daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._scheduler.start()

    def submit(self, hook: Hook) -> None:
        """Queue a stored hook for delivery; returns at once."""
        self._put(hook.id, time.monotonic())

    def stop(self) -> None:
        """Stop delivering; hooks that are still pending stay so."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _put(self, hook_id: str, due: float) -> None:
        with self._changed:
            heapq.heappush(self._due, (due, next(self._order), hook_id))
            self._changed.notify()

    def _schedule(self) -> None:
        while True:
            with self._changed:
                while not self._stopped and not self._is_due():
                    self._changed.wait(self._until_due_s())
                if self._stopped:
                    return
                _, _, hook_id = heapq.heappop(self._due)
            try:
                self._pool.submit(self._attempt, hook_id)
            except RuntimeError:
                return

    def _is_due(self) -> bool:
        return bool(self._due) and self._due[0][0] <= time.monotonic()

    def _until_due_s(self) -> float | None:
        return max(0.0, self._due[0][0] - time.monotonic()) if self._due else None

    def _attempt(self, hook_id: str) -> None:
        hook = self._store.get(hook_id)
        if hook is None or hook.status != PENDING:
            return
        attempts = hook.attempts + 1
        if send(hook):
            self._store.update(hook_id, status=DELIVERED, attempts=attempts)
            return
        dead = attempts >= MAX_ATTEMPTS
        self._store.update(
            hook_id,
            status=DEAD if dead else PENDING,
            attempts=attempts,
        )
        if not dead:
            delay_s = FIRST_DELAY_S * 2 ** (attempts - 1)
            self._put(hook_id, time.monotonic() + delay_s)


class _KeepRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the reply it is: only a 2xx is a success."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_opener = urllib.request.build_opener(_KeepRedirects)


def send(hook: Hook) -> bool:
    """Make one attempt; True for a success."""
    try:
        request = urllib.request.Request(
            hook.url,
            data=json.dumps(hook.payload).encode(),
            headers={"Content-Type": "application/json"},
            method="POST",
        )
        with _opener.open(request, timeout=TIMEOUT_S) as response:
            return 200 <= response.status < 300
    except Exception:  # a receiver can break an attempt in any way
        return False
