"""Charges for crates."""

import threading
from typing import Any


class BillingHandler:
    def __init__(self, billing: Any) -> None:
        self._billing = billing
        self._lock = threading.Lock()

    def __call__(self, event: dict[str, Any]) -> None:
        with self._lock:
            self._billing.charge(event["customer"], event["cents"], event["id"])
