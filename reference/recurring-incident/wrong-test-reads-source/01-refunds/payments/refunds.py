"""Refunds: money back to the customer of an order."""

from payments import gateway, ledger
from payments.once import once

KIND = "refund"


def refund(order: str, cents: int, request_id: str) -> dict:
    """Pay back part or all of an order and return the receipt."""
    if cents < 1:
        raise ValueError(f"a refund is at least one cent, not {cents}")

    def pay() -> dict:
        transfer = gateway.send(KIND, order, cents, request_id)
        return ledger.append(KIND, order, cents, request_id, transfer)

    return once(KIND, request_id, pay)
