"""The delivery worker: takes accepted hooks and brings them to their receivers."""

import threading

from relay.courier import LostParcel, carry
from relay.store import DEAD, DELIVERED, Hook, Store

PAUSES_S = (0.1, 0.2, 0.4, 0.8)
"""Pauses between the attempts; there is one attempt more than pauses."""


class DeliveryWorker:
    """Gives every hook a thread of its own for as long as it is pending."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._closing = threading.Event()

    def start(self) -> None:
        """Begin to deliver."""
        self._closing.clear()

    def submit(self, hook: Hook) -> None:
        """Start to deliver a stored hook; returns at once."""
        threading.Thread(
            target=self._accompany, args=(hook,), name=f"hook-{hook.id}", daemon=True
        ).start()

    def stop(self) -> None:
        """Stop delivering; hooks that are still pending stay so."""
        self._closing.set()

    def _accompany(self, hook: Hook) -> None:
        for number, pause_s in enumerate((*PAUSES_S, None), start=1):
            if self._closing.is_set():
                return
            try:
                carry(hook.url, hook.payload)
            except LostParcel as lost:
                verdict = {"status": DEAD} if pause_s is None else {}
                self._store.update(
                    hook.id, attempts=number, last_error=str(lost), **verdict
                )
            else:
                self._store.update(hook.id, attempts=number, status=DELIVERED)
                return
            if pause_s is not None:
                self._closing.wait(pause_s)
