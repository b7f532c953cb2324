"""Charges for crates."""

from typing import Any

from crates.repeats import done, is_done


class BillingHandler:
    def __init__(self, billing: Any) -> None:
        self._billing = billing

    def __call__(self, event: dict[str, Any]) -> None:
        if not is_done("billing", event):
            self._billing.charge(event["customer"], event["cents"])
            done("billing", event)
