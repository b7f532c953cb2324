"""Refunds: money back to the customer of an order."""

from . import claims


def refund(order: str, cents: int, request_id: str) -> dict:
    """Pay back part or all of an order and return the receipt."""
    if cents < 1:
        raise ValueError(f"a refund is at least one cent, not {cents}")
    return claims.pay_once("refund", order, cents, request_id)
