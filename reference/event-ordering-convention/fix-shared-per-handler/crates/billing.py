"""Charges for crates."""

from typing import Any

from crates.repeats import first_time, forget


class BillingHandler:
    def __init__(self, billing: Any) -> None:
        self._billing = billing

    def __call__(self, event: dict[str, Any]) -> None:
        if not first_time(event, "billing"):
            return
        try:
            self._billing.charge(event["customer"], event["cents"])
        except Exception:
            forget(event, "billing")
            raise
