"""Payouts: a merchant's share of what was sold."""

from payments import gateway, ledger
from payments.settling import settled_once

KIND = "payout"
MIN_CENTS = 100


@settled_once(KIND)
def payout(merchant: str, cents: int, request_id: str) -> dict:
    """Pay out to a merchant and return the receipt."""
    if cents < MIN_CENTS:
        raise ValueError(f"a payout is at least {MIN_CENTS} cents, not {cents}")
    transfer = gateway.send(KIND, merchant, cents, request_id)
    return ledger.append(KIND, merchant, cents, request_id, transfer)
