"""Payouts: a merchant's share of what was sold."""

import threading

from payments import gateway, ledger

KIND = "payout"
_lock = threading.Lock()
_done: dict[str, dict] = {}
MIN_CENTS = 100


def payout(merchant: str, cents: int, request_id: str) -> dict:
    """Pay out to a merchant and return the receipt."""
    if cents < MIN_CENTS:
        raise ValueError(f"a payout is at least {MIN_CENTS} cents, not {cents}")
    with _lock:
        if request_id not in _done:
            transfer = gateway.send(KIND, merchant, cents, request_id)
            _done[request_id] = ledger.append(
                KIND, merchant, cents, request_id, transfer
            )
        return _done[request_id]
