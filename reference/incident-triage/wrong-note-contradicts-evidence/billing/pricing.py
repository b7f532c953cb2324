"""What lines and baskets cost."""

from collections.abc import Iterable


def line_total(cents: int, discount_pct: int) -> int:
    """A line's amount after its discount, rounded half up to the cent."""
    if not 0 <= discount_pct <= 100:
        raise ValueError(f"discount out of range: {discount_pct}")
    # Hundredths of a cent are whole numbers, so a half is exact.
    return (cents * (100 - discount_pct) + 50) // 100


def basket_total(lines: Iterable[tuple[int, int]]) -> int:
    """The total of `(cents, discount_pct)` pairs."""
    return sum(line_total(cents, discount_pct) for cents, discount_pct in lines)
