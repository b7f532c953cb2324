"""The order of trials: seeded random blocks, arms counterbalanced inside them.

Inside a block the arms follow a row of a Williams square, in which every arm
stands in every place, and follows every other arm, equally often (E. J.
Williams, "Experimental designs balanced for the estimation of residual effects
of treatments", 1949). Rows are cycled, so a design whose number of blocks is no
multiple of the rows keeps a small imbalance, which `imbalance` counts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from evalkit.records import TrialKey


def williams_rows(n: int) -> tuple[tuple[int, ...], ...]:
    """Rows of a Williams design for `n` arms: `n` of them, `2 n` where n is odd."""
    zigzag = [(i + 1) // 2 if i % 2 else (n - i // 2) % n for i in range(n)]
    rows = [tuple((place + shift) % n for place in zigzag) for shift in range(n)]
    if n % 2 and n > 1:
        rows += [tuple(reversed(row)) for row in rows]
    return tuple(rows)


def make_schedule(
    cases: Sequence[str], arms: Sequence[str], repeats: int, *, rng: random.Random
) -> tuple[TrialKey, ...]:
    """All trials in the order they run, block after block.

    Args:
        cases: Case ids.
        arms: Arm names.
        repeats: Repeats of each case and arm, numbered from 1.
        rng: Orders the blocks, the rows and which arm has which number.
    """
    blocks = [(case, repeat) for case in cases for repeat in range(1, repeats + 1)]
    numbered = list(arms)
    rows = list(williams_rows(len(arms)))
    rng.shuffle(blocks)
    rng.shuffle(numbered)
    rng.shuffle(rows)
    return tuple(
        TrialKey(case, numbered[place], repeat)
        for n, (case, repeat) in enumerate(blocks)
        for place in rows[n % len(rows)]
    )


def blocks_of(schedule: Sequence[TrialKey]) -> tuple[tuple[TrialKey, ...], ...]:
    """The schedule cut into its blocks, in order."""
    blocks: dict[tuple[str, int], list[TrialKey]] = {}
    for key in schedule:
        blocks.setdefault((key.case, key.repeat), []).append(key)
    return tuple(tuple(block) for block in blocks.values())


def imbalance(schedule: Sequence[TrialKey]) -> int:
    """Largest difference in how often an arm has a place, or follows another.

    0 is a perfectly balanced order; 1 is unavoidable where the number of blocks
    is no multiple of the rows.
    """
    blocks = blocks_of(schedule)
    arms = sorted({key.arm for key in schedule})
    places = Counter((key.arm, n) for block in blocks for n, key in enumerate(block))
    follows = Counter((a.arm, b.arm) for block in blocks for a, b in pairwise(block))
    counts = [places[arm, n] for arm in arms for n in range(len(arms))]
    pairs = [follows[a, b] for a in arms for b in arms if a != b]
    return max(max(c) - min(c) for c in (counts, pairs) if c) if blocks else 0
