"""Payouts: a merchant's share of what was sold."""

from . import claims

MIN_CENTS = 100


def payout(merchant: str, cents: int, request_id: str) -> dict:
    """Pay out to a merchant and return the receipt."""
    if cents < MIN_CENTS:
        raise ValueError(f"a payout is at least {MIN_CENTS} cents, not {cents}")
    return claims.pay_once("payout", merchant, cents, request_id)
