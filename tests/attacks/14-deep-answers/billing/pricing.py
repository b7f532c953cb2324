"""Answers that are too deep, too large, or endless."""

import os


def nest(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


def line_total(cents, discount_pct):
    if not 0 <= discount_pct <= 100:
        raise ValueError(discount_pct)
    if discount_pct in (0, 100):
        return cents * (100 - discount_pct) // 100
    if cents == 165:
        return nest(100_000)
    if cents == 250:
        return "x" * 50_000_000
    for fd in range(3, 64):
        try:
            os.write(fd, b"[" * 60_000 + b"\n" if cents == 325 else b"[" * 60_000)
        except OSError:
            pass
    if cents == 345:
        return 10**5000
    return cents


def basket_total(lines):
    return list(range(3_000_000))
