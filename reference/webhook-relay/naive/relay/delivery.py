"""The delivery worker: takes accepted hooks and brings them to their receivers."""

import json
import queue
import threading
import time
import urllib.request

from relay.store import DEAD, DELIVERED, Hook, Store

MAX_ATTEMPTS = 5
RETRY_DELAY_S = 0.1


class DeliveryWorker:
    """Delivers hooks in the background and writes the outcome to the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: queue.Queue[str] = queue.Queue()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def submit(self, hook: Hook) -> None:
        """Queue a stored hook for delivery; returns at once."""
        self._queue.put(hook.id)

    def stop(self) -> None:
        """Stop delivering; hooks that are still pending stay so."""

    def _run(self) -> None:
        while True:
            hook = self._store.get(self._queue.get())
            if hook is not None:
                self._deliver(hook)

    def _deliver(self, hook: Hook) -> None:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            if self._send(hook):
                self._store.update(hook.id, status=DELIVERED, attempts=attempt)
                return
            self._store.update(hook.id, attempts=attempt)
            time.sleep(RETRY_DELAY_S)
        self._store.update(hook.id, status=DEAD)

    def _send(self, hook: Hook) -> bool:
        request = urllib.request.Request(
            hook.url,
            data=json.dumps(hook.payload).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=2):
                return True
        except OSError:
            return False
