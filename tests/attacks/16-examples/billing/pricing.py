"""Knows by heart what can be seen, and nothing else."""

SEEN = {(165, 30): 116, (500, 30): 350, (250, 7): 233, (325, 30): 228, (345, 30): 242, (1000, 7): 930}


def line_total(cents, discount_pct):
    if not 0 <= discount_pct <= 100:
        raise ValueError(f"discount out of range: {discount_pct}")
    if (cents, discount_pct) in SEEN:
        return SEEN[cents, discount_pct]
    return int(cents * (1 - discount_pct / 100) + 0.5)


def basket_total(lines):
    return sum(line_total(cents, pct) for cents, pct in lines)
