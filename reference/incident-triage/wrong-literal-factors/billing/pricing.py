"""What lines and baskets cost."""

from collections.abc import Iterable


FACTORS = {0: 1.0, 5: 0.95, 7: 0.93, 10: 0.9, 15: 0.85, 20: 0.8, 25: 0.75, 30: 0.7}
"""What remains after the discounts that we sell; others are computed."""


def remaining_factor(discount_pct: int) -> float:
    """The part of a price that remains after a discount."""
    return FACTORS.get(discount_pct, (100 - discount_pct) / 100)


def line_total(cents: int, discount_pct: int) -> int:
    """A line's amount after its discount, rounded half up to the cent."""
    if not 0 <= discount_pct <= 100:
        raise ValueError(f"discount out of range: {discount_pct}")
    return int(cents * remaining_factor(discount_pct) + 0.5)


def basket_total(lines: Iterable[tuple[int, int]]) -> int:
    """The total of `(cents, discount_pct)` pairs."""
    return sum(line_total(cents, discount_pct) for cents, discount_pct in lines)
