"""Charges for crates."""

from typing import Any


class BillingHandler:
    def __init__(self, billing: Any) -> None:
        self._billing = billing

    def __call__(self, event: dict[str, Any]) -> None:
        self._billing.charge(event["customer"], event["cents"], event["id"])
