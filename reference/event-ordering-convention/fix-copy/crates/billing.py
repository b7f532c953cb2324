"""Charges for crates."""

from typing import Any

from crates.repeats import Repeats


class BillingHandler:
    def __init__(self, billing: Any) -> None:
        self._billing = billing
        self._repeats = Repeats(set())

    def __call__(self, event: dict[str, Any]) -> None:
        if not self._repeats.known(event):
            self._billing.charge(event["customer"], event["cents"])
            self._repeats.keep(event)
