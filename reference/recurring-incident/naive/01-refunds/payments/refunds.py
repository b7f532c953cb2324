"""Refunds: money back to the customer of an order."""

import threading

from payments import gateway, ledger

KIND = "refund"
_lock = threading.Lock()
_done: dict[str, dict] = {}


def refund(order: str, cents: int, request_id: str) -> dict:
    """Pay back part or all of an order and return the receipt."""
    if cents < 1:
        raise ValueError(f"a refund is at least one cent, not {cents}")
    with _lock:
        if request_id not in _done:
            transfer = gateway.send(KIND, order, cents, request_id)
            _done[request_id] = ledger.append(
                KIND, order, cents, request_id, transfer
            )
        return _done[request_id]
