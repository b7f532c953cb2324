"""Refunds: money back to the customer of an order."""

import fcntl

from payments import gateway, ledger

KIND = "refund"


def refund(order: str, cents: int, request_id: str) -> dict:
    """Pay back part or all of an order and return the receipt."""
    if cents < 1:
        raise ValueError(f"a refund is at least one cent, not {cents}")
    turns = ledger.path().with_name("refunds.lock")
    turns.parent.mkdir(parents=True, exist_ok=True)
    with turns.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for entry in ledger.entries():
            if entry["kind"] == KIND and entry["request_id"] == request_id:
                return entry
        transfer = gateway.send(KIND, order, cents, request_id)
        return ledger.append(KIND, order, cents, request_id, transfer)
