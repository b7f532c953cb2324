"""Two sequences side by side: equal keys meet, then kindred ones. Pure.

A small gap is aligned at best, by the algorithm of Needleman and Wunsch. In a larger
one, keys that each side holds once are anchors, as in a patience diff, with gaps
between them; where there are none, the k-th of a key meets the k-th of it on the
other side. So time and memory grow with the length of the sides, whatever they hold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

MAX_CELLS = 250_000
"""Left times right of a gap that is aligned at best: five hundred on a side."""
EQUAL, KINDRED = 3, 1
"""What it is worth that two keys are equal, or kindred only."""
_BOTH, _LEFT, _RIGHT = range(3)
"""Ways through the cells of a gap."""


class Key(NamedTuple):
    """What an element is: `exact` meets its equal, `kind` its kindred."""

    exact: Hashable
    kind: Hashable


class Meeting(NamedTuple):
    """Places of two elements that stand side by side; None: nothing on that side."""

    left: int | None
    right: int | None


class _Gap(NamedTuple):
    """From `left` to before `left_end`, and so on the right."""

    left: int
    left_end: int
    right: int
    right_end: int

    @property
    def n_cells(self) -> int:
        return (self.left_end - self.left) * (self.right_end - self.right)


def align(left: Sequence[Key], right: Sequence[Key]) -> list[Meeting]:
    """Every element of both sides once, in order.

    Between two meetings, what stands on the left alone comes first.
    """
    found: list[Meeting] = []
    done_left = done_right = 0
    for i, j in [*sorted(_met(left, right)), (len(left), len(right))]:
        found += [Meeting(n, None) for n in range(done_left, i)]
        found += [Meeting(None, n) for n in range(done_right, j)]
        found.append(Meeting(i, j))
        done_left, done_right = i + 1, j + 1
    return found[:-1]


def _met(left: Sequence[Key], right: Sequence[Key]) -> Iterator[tuple[int, int]]:
    gaps = [_Gap(0, len(left), 0, len(right))]
    while gaps:
        gap = gaps.pop()
        while gap.n_cells and left[gap.left].exact == right[gap.right].exact:
            yield gap.left, gap.right
            gap = gap._replace(left=gap.left + 1, right=gap.right + 1)
        while gap.n_cells and left[gap.left_end - 1].exact == (
            right[gap.right_end - 1].exact
        ):
            gap = gap._replace(left_end=gap.left_end - 1, right_end=gap.right_end - 1)
            yield gap.left_end, gap.right_end
        if gap.n_cells <= MAX_CELLS:
            yield from _at_best(left, right, gap)
            continue
        anchors = _anchors(left, right, gap)
        yield from anchors
        if anchors:
            gaps += _between(gap, anchors)


def _between(gap: _Gap, anchors: list[tuple[int, int]]) -> Iterator[_Gap]:
    i, j = gap.left, gap.right
    for at, other in [*anchors, (gap.left_end, gap.right_end)]:
        yield _Gap(i, at, j, other)
        i, j = at + 1, other + 1


def _anchors(
    left: Sequence[Key], right: Sequence[Key], gap: _Gap
) -> list[tuple[int, int]]:
    """Pairs that are alone of their key on each side, the most that keep the order.

    Without any, pairs that are the k-th of their key; then those of their kind.
    """
    mine = left[gap.left : gap.left_end]
    theirs = right[gap.right : gap.right_end]
    for name in ("exact", "kind"):
        keys = [[getattr(key, name) for key in side] for side in (mine, theirs)]
        alone = [_alone(side) for side in keys]
        counted = [_counted(side) for side in keys]
        for ours, others in (alone, counted):
            pairs = [(n, others[key]) for key, n in ours.items() if key in others]
            if pairs:
                kept = _rising(sorted(pairs))
                return [(gap.left + i, gap.right + j) for i, j in kept]
    return []


def _alone(keys: list[Hashable]) -> dict[Hashable, int]:
    counts = Counter(keys)
    return {key: n for n, key in enumerate(keys) if counts[key] == 1}


def _counted(keys: list[Hashable]) -> dict[Hashable, int]:
    seen: Counter[Hashable] = Counter()
    found: dict[Hashable, int] = {}
    for n, key in enumerate(keys):
        found[key, seen[key]] = n
        seen[key] += 1
    return found


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of pairs, which rise on the left, that rises on the right."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for n, (_, j) in enumerate(pairs):
        at = bisect_left(ends, j)
        before.append(last[at - 1] if at else -1)
        ends[at : at + 1] = [j]
        last[at : at + 1] = [n]
    kept: list[tuple[int, int]] = []
    n = last[-1] if last else -1
    while n >= 0:
        kept.append(pairs[n])
        n = before[n]
    return kept[::-1]


def _at_best(
    left: Sequence[Key], right: Sequence[Key], gap: _Gap
) -> Iterator[tuple[int, int]]:
    """The pairs of a gap that are worth most together."""
    mine = left[gap.left : gap.left_end]
    theirs = right[gap.right : gap.right_end]
    worth = [0] * (len(theirs) + 1)
    ways: list[bytearray] = []
    for key in mine:
        now = [0]
        row = bytearray()
        for n, other in enumerate(theirs):
            both = _worth(key, other)
            best, way = worth[n + 1], _LEFT
            if now[n] > best:
                best, way = now[n], _RIGHT
            if both and worth[n] + both >= best:
                best, way = worth[n] + both, _BOTH
            now.append(best)
            row.append(way)
        worth = now
        ways.append(row)
    i, j = len(mine), len(theirs)
    while i and j:
        way = ways[i - 1][j - 1]
        i -= way != _RIGHT
        j -= way != _LEFT
        if way == _BOTH:
            yield gap.left + i, gap.right + j


def _worth(key: Key, other: Key) -> int:
    if key.exact == other.exact:
        return EQUAL
    return KINDRED if key.kind == other.kind else 0
