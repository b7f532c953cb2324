"""Charges for crates."""

import threading
from typing import Any


class BillingHandler:
    def __init__(self, billing: Any) -> None:
        self._billing = billing
        self._lock = threading.Lock()
        self._done: set[str] = set()

    def __call__(self, event: dict[str, Any]) -> None:
        with self._lock:
            if event["id"] not in self._done:
                self._billing.charge(event["customer"], event["cents"])
                self._done.add(event["id"])
