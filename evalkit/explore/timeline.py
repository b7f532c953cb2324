"""A transcript as a strip: what happened where, in as many pieces as there is room."""

from __future__ import annotations

from collections import Counter

from evalkit.errors import InputError
from evalkit.explore.index import Transcript
from evalkit.explore.items import Facet, ItemKind, kind_of
from evalkit.records import Record
from evalkit.transcript import Tokens

N_BUCKETS = 1_000


class Bucket(Record, frozen=True):
    """Items that stand together on a strip, from `start` to before `stop`.

    Args:
        start: Number of its first item.
        stop: Number of the first item after it.
        counts: Items by kind, of the kinds that are in it.
        has_error: An item of it tells of an error.
        has_edit: One edits a file.
        has_skill: One uses a skill, or is its text.
        cumulative: Usage of all requests up to its last item.
        time: When its first item was, as its row says; None where it does not.
    """

    start: int
    stop: int
    counts: dict[ItemKind, int]
    has_error: bool
    has_edit: bool
    has_skill: bool
    cumulative: Tokens
    time: str | None


def timeline(transcript: Transcript, n_buckets: int = N_BUCKETS) -> tuple[Bucket, ...]:
    """A transcript in buckets of as many items, give or take one, in order.

    It is made of the index alone, and of the times of the buckets' first items.

    Args:
        transcript: What to sum up.
        n_buckets: How many at most; a shorter transcript has a bucket an item.

    Raises:
        InputError: There is no room for a bucket.
    """
    if n_buckets < 1:
        raise InputError(
            "buckets",
            expected="one or more",
            found=str(n_buckets),
            cure="give a strip some room",
        )
    n = min(n_buckets, len(transcript))
    ends = [len(transcript) * k // n for k in range(n + 1)] if n else [0]
    times = transcript.times(ends[:-1])
    return tuple(
        _bucket(transcript, start, stop, time)
        for start, stop, time in zip(ends, ends[1:], times, strict=False)
    )


def _bucket(transcript: Transcript, start: int, stop: int, time: str | None) -> Bucket:
    alike = Counter(transcript.facets(start, stop))
    counts: Counter[ItemKind] = Counter()
    together = 0
    for facets, n in alike.items():
        counts[kind_of(facets)] += n
        together |= facets
    return Bucket(
        start=start,
        stop=stop,
        counts=dict(counts),
        has_error=bool(together & Facet.ERROR),
        has_edit=bool(together & Facet.EDIT),
        has_skill=bool(together & Facet.SKILL),
        cumulative=transcript.cumulative(stop - 1),
        time=time,
    )
