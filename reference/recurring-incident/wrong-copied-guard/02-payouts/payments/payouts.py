"""Payouts: a merchant's share of what was sold."""

import fcntl

from payments import gateway, ledger

KIND = "payout"
MIN_CENTS = 100


def payout(merchant: str, cents: int, request_id: str) -> dict:
    """Pay out to a merchant and return the receipt."""
    if cents < MIN_CENTS:
        raise ValueError(f"a payout is at least {MIN_CENTS} cents, not {cents}")
    turns = ledger.path().with_name("payouts.lock")
    turns.parent.mkdir(parents=True, exist_ok=True)
    with turns.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for entry in ledger.entries():
            if entry["kind"] == KIND and entry["request_id"] == request_id:
                return entry
        transfer = gateway.send(KIND, merchant, cents, request_id)
        return ledger.append(KIND, merchant, cents, request_id, transfer)
