"""The delivery worker: takes accepted hooks and brings them to their receivers."""

import json
import logging
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from relay.store import DEAD, DELIVERED, Hook, Store

FIRST_DELAY_S = 0.1
MAX_ATTEMPTS = 5
TIMEOUT_S = 2.0
THREADS = 4

log = logging.getLogger("relay.delivery")


class DeliveryWorker:
    """Delivers hooks in a pool of threads and writes the outcome to the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = threading.Event()
        self._pool = ThreadPoolExecutor(THREADS, "delivery")

    def start(self) -> None:
        """Begin to deliver."""

    def submit(self, hook: Hook) -> None:
        """Queue a stored hook for delivery; returns at once."""
        self._pool.submit(self._deliver, hook)

    def stop(self) -> None:
        """Stop delivering; hooks that are still pending stay so."""
        self._stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _deliver(self, hook: Hook) -> None:
        delay_s = FIRST_DELAY_S
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                send(hook)
            except Exception as error:  # a receiver can break an attempt in any way
                log.warning("hook %s, attempt %d: %s", hook.id, attempt, error)
                status = DEAD if attempt == MAX_ATTEMPTS else hook.status
                self._store.update(
                    hook.id, status=status, attempts=attempt, last_error=repr(error)
                )
            else:
                self._store.update(hook.id, status=DELIVERED, attempts=attempt)
                return
            if self._stopped.wait(delay_s):
                return
            delay_s *= 2


def send(hook: Hook) -> None:
    """Make one attempt; raises where it fails."""
    request = urllib.request.Request(
        hook.url,
        data=json.dumps(hook.payload).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_S):
        pass
