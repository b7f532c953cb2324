"""What lines and baskets cost."""

from collections.abc import Iterable


def half_up(hundredths: int) -> int:
    """Cents of an amount in hundredths of a cent, a half going up."""
    cents, rest = divmod(hundredths, 100)
    return cents + (rest >= 50)


def line_total(cents: int, discount_pct: int) -> int:
    """A line's amount after its discount, rounded half up to the cent."""
    if not 0 <= discount_pct <= 100:
        raise ValueError(f"discount out of range: {discount_pct}")
    return half_up(cents * (100 - discount_pct))


def basket_total(lines: Iterable[tuple[int, int]]) -> int:
    """The total of `(cents, discount_pct)` pairs."""
    total = 0
    for cents, discount_pct in lines:
        total += line_total(cents, discount_pct)
    return total
