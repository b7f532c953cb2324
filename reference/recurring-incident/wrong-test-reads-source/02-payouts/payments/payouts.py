"""Payouts: a merchant's share of what was sold."""

from payments import gateway, ledger
from payments.once import once

KIND = "payout"
MIN_CENTS = 100


def payout(merchant: str, cents: int, request_id: str) -> dict:
    """Pay out to a merchant and return the receipt."""
    if cents < MIN_CENTS:
        raise ValueError(f"a payout is at least {MIN_CENTS} cents, not {cents}")

    def pay() -> dict:
        transfer = gateway.send(KIND, merchant, cents, request_id)
        return ledger.append(KIND, merchant, cents, request_id, transfer)

    return once(KIND, request_id, pay)
