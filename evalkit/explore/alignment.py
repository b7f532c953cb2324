"""Two sequences side by side: equal keys meet, then those that share a part. Pure.

Kindred keys meet last. A small gap is aligned at best, by the algorithm of Needleman
and Wunsch. In a larger one, keys that each side holds once are anchors, as in a
patience diff, with gaps between them; where there are none, the k-th of a key meets
the k-th of it on the other side. So time and memory grow with the length of the
sides, whatever they hold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

MAX_CELLS = 250_000
"""Left times right of a gap that is aligned at best: five hundred on a side."""
EQUAL, SHARING, KINDRED = 4, 2, 1
"""What it is worth that two keys are equal, share a part, or are kindred only."""
_BOTH, _LEFT, _RIGHT = range(3)
"""Ways through the cells of a gap."""


class Key(NamedTuple):
    """What an element is: `exact` meets its equal, `kind` its kindred.

    Each of `parts` meets an element that has it too, whatever else either has.
    """

    exact: Hashable
    kind: Hashable
    parts: frozenset[Hashable] = frozenset()


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

    Without any, pairs that are the k-th of their key; then those that share a part,
    then those of their kind.
    """
    mine = left[gap.left : gap.left_end]
    theirs = right[gap.right : gap.right_end]
    for names in (_exact, _parts, _kind):
        named = [
            [(n, name) for n, key in enumerate(side) for name in names(key)]
            for side in (mine, theirs)
        ]
        alone = [_alone(side) for side in named]
        counted = [_counted(side) for side in named]
        for ours, others in (alone, counted):
            pairs = [(n, others[key]) for key, n in ours.items() if key in others]
            if pairs:
                kept = _rising(pairs)
                return [(gap.left + i, gap.right + j) for i, j in kept]
    return []


def _exact(key: Key) -> Iterable[Hashable]:
    return (key.exact,)


def _parts(key: Key) -> Iterable[Hashable]:
    return key.parts


def _kind(key: Key) -> Iterable[Hashable]:
    return (key.kind,)


def _alone(named: list[tuple[int, Hashable]]) -> dict[Hashable, int]:
    counts = Counter(name for _, name in named)
    return {name: n for n, name in named if counts[name] == 1}


def _counted(named: list[tuple[int, Hashable]]) -> dict[Hashable, int]:
    seen: Counter[Hashable] = Counter()
    found: dict[Hashable, int] = {}
    for n, name in named:
        found[name, seen[name]] = n
        seen[name] += 1
    return found


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of pairs that rises on both sides."""
    # Of pairs that are one place on the left, the last first: no two of them rise.
    pairs = sorted(pairs, key=lambda pair: (pair[0], -pair[1]))
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
    if not key.parts.isdisjoint(other.parts):
        return SHARING
    return KINDRED if key.kind == other.kind else 0
