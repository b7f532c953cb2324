"""Several labels per item, as skills per query: how well do picks match? Pure.

Headline: the exact match. `zero_division` is the score of a share of nothing, such
as the precision of an empty pick; it is declared, since it moves everything that
is averaged over items or over rare classes. With 1, an item that needed a skill
and got none has a precision of 1: never show that alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from evalkit.stats.results import Refusal, mean, same_length


class Retrieval(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


class Hits(NamedTuple):
    """Shares of items; those of hits and misses over items that need a label.

    `top1` means something only where picks are ranked. None where no item needs
    any label.
    """

    exact: float
    n_exact: int
    n_items: int
    n_needing: int
    any_hit: float | None
    top1: float | None
    nothing_picked: float
    missed_when_needed: float | None


_Counts = tuple[int, int, int]
_Truth = Sequence[Collection[str]]
_Picks = Sequence[Sequence[str]]


def hits(truth: _Truth, picks: _Picks) -> Hits | Refusal:
    """How often picks are exactly right, or right at all.

    Args:
        truth: The right labels of each item; none means that none is needed.
        picks: What was picked for each, best first.
    """
    if not same_length(truth, picks):
        return Refusal("no hits: there is no item")
    pairs = list(zip(truth, picks, strict=True))
    needing = [(right, picked) for right, picked in pairs if right]
    n_exact = sum(set(right) == set(picked) for right, picked in pairs)

    def share(found: Sequence[bool]) -> float | None:
        return mean([float(one) for one in found]) if found else None

    return Hits(
        exact=n_exact / len(pairs),
        n_exact=n_exact,
        n_items=len(pairs),
        n_needing=len(needing),
        any_hit=share([bool({*right} & {*picked}) for right, picked in needing]),
        top1=share([bool(picked) and picked[0] in right for right, picked in needing]),
        nothing_picked=mean([float(not picked) for _, picked in pairs]),
        missed_when_needed=share([not picked for _, picked in needing]),
    )


def classes(truth: _Truth, picks: _Picks) -> tuple[str, ...]:
    """Every label that is right or picked somewhere, by name."""
    return tuple(sorted({name for row in (*truth, *picks) for name in row}))


def by_class(
    truth: _Truth, picks: _Picks, *, zero_division: float = 0.0
) -> Mapping[str, Retrieval]:
    """The table behind `macro_retrieval`, one row per class."""
    return {
        name: _retrieval(_class_counts(truth, picks, name), zero_division)
        for name in classes(truth, picks)
    }


def micro_retrieval(
    truth: _Truth, picks: _Picks, *, zero_division: float = 0.0
) -> Retrieval:
    """Over all labels of all items together."""
    each = [_item_counts(*pair) for pair in zip(truth, picks, strict=True)]
    right, wrong, missed = (sum(column) for column in zip(*each, strict=True))
    return _retrieval((right, wrong, missed), zero_division)


def macro_retrieval(
    truth: _Truth, picks: _Picks, *, zero_division: float = 0.0
) -> Retrieval:
    """Mean over classes, those that are picked but never right among them."""
    table = by_class(truth, picks, zero_division=zero_division)
    return _mean_of(list(table.values()))


def item_retrieval(
    truth: _Truth, picks: _Picks, *, zero_division: float = 0.0
) -> Retrieval:
    """Mean over items."""
    return _mean_of(
        [
            _retrieval(_item_counts(*pair), zero_division)
            for pair in zip(truth, picks, strict=True)
        ]
    )


def jaccard(truth: _Truth, picks: _Picks, *, zero_division: float = 1.0) -> float:
    """Mean over items of labels shared over labels of either."""
    return mean(
        [
            _share(right, right + wrong + missed, zero_division)
            for pair in zip(truth, picks, strict=True)
            for right, wrong, missed in (_item_counts(*pair),)
        ]
    )


def hamming_loss(truth: _Truth, picks: _Picks) -> float:
    """Share of all decisions, one per item and class, that are wrong."""
    each = [_item_counts(*pair) for pair in zip(truth, picks, strict=True)]
    n_wrong = sum(wrong + missed for _, wrong, missed in each)
    return n_wrong / (len(each) * max(1, len(classes(truth, picks))))


def _item_counts(right: Collection[str], picked: Collection[str]) -> _Counts:
    truth, found = set(right), set(picked)
    return len(truth & found), len(found - truth), len(truth - found)


def _class_counts(truth: _Truth, picks: _Picks, name: str) -> _Counts:
    seen = [(name in t, name in p) for t, p in zip(truth, picks, strict=True)]
    return (
        seen.count((True, True)),
        seen.count((False, True)),
        seen.count((True, False)),
    )


def _retrieval(counts: _Counts, zero_division: float) -> Retrieval:
    right, wrong, missed = counts
    return Retrieval(
        _share(right, right + wrong, zero_division),
        _share(right, right + missed, zero_division),
        _share(2 * right, 2 * right + wrong + missed, zero_division),
    )


def _share(part: int, whole: int, zero_division: float) -> float:
    return part / whole if whole else zero_division


def _mean_of(rows: Sequence[Retrieval]) -> Retrieval:
    return Retrieval(*(mean(column) for column in zip(*rows, strict=True)))
