"""The delivery worker: takes accepted hooks and brings them to their receivers."""

import json
import threading
import urllib.request
from typing import Any

from relay.store import DEAD, DELIVERED, Hook, Store

FIRST_DELAY_S = 0.1
MAX_ATTEMPTS = 5
TIMEOUT_S = 2.0


class DeliveryWorker:
    """Delivers hooks in the background and writes the outcome to the store.

    Every attempt is a timer of its own, so that none waits for another.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin to deliver; timers need no preparation."""

    def submit(self, hook: Hook) -> None:
        """Queue a stored hook for delivery; returns at once."""
        self._attempt_in(0, hook, 1)

    def stop(self) -> None:
        """Stop delivering; hooks that are still pending stay so."""
        self._stopped.set()

    def _attempt_in(self, delay_s: float, hook: Hook, number: int) -> None:
        threading.Timer(delay_s, self._attempt, (hook, number)).start()

    def _attempt(self, hook: Hook, number: int) -> None:
        if self._stopped.is_set():
            return
        error = send(hook)
        if error is None:
            self._store.update(hook.id, attempts=number, status=DELIVERED)
        elif number == MAX_ATTEMPTS:
            self._store.update(hook.id, attempts=number, status=DEAD, last_error=error)
        else:
            self._store.update(hook.id, attempts=number, last_error=error)
            delay_s = FIRST_DELAY_S * 2 ** (number - 1)
            self._attempt_in(delay_s, hook, number + 1)


class _KeepRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the reply it is: only a 2xx is a success."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_opener = urllib.request.build_opener(_KeepRedirects)


def send(hook: Hook) -> str | None:
    """Make one attempt; None for a success, else what went wrong."""
    try:
        request = urllib.request.Request(
            hook.url,
            data=json.dumps(hook.payload).encode(),
            headers={"Content-Type": "application/json"},
            method="POST",
        )
        with _opener.open(request, timeout=TIMEOUT_S):
            return None
    except Exception as error:  # a receiver can break an attempt in any way
        return f"{type(error).__name__}: {error}"
