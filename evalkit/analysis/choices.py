"""How choices of a skill came out, against the skills that were called for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from evalkit import stats
from evalkit.analysis.tallies import mean
from evalkit.conclusions import Choices, Overlap, Recalled, SkillRow


class Pick(NamedTuple):
    """What was called for, what was picked, and what it could be picked from."""

    query: tuple[str, str]
    canonical: frozenset[str]
    picked: frozenset[str]
    candidates: frozenset[str]

    @property
    def exact(self) -> bool:
        """True where just the canonical skills were picked, or rightly none."""
        return self.picked == self.canonical

    @property
    def any_hit(self) -> bool:
        """True where a canonical skill was picked."""
        return bool(self.picked & self.canonical)

    @property
    def held(self) -> bool:
        """True where a canonical skill stands among the candidates."""
        return bool(self.candidates & self.canonical)

    @property
    def exact_possible(self) -> bool:
        """True where picking one of the candidates, or none, can be exact."""
        return not self.canonical or (self.held and len(self.canonical) == 1)


def choices(picks: Sequence[Pick]) -> Choices:
    """Each pick as one of five."""
    n = Counter(_kind(pick) for pick in picks)
    return Choices(**{kind: n[kind] for kind in Choices.__struct_fields__})


def _kind(pick: Pick) -> str:
    if pick.exact:
        return "exact"
    if not pick.canonical:
        return "needless"
    if not pick.picked:
        return "missed"
    return "partly" if pick.any_hit else "wrong"


def recalled(
    picks: Sequence[Pick], library: Collection[str], *, n_candidates: int
) -> Recalled:
    """Recall of the candidates; a query counts once, since they are sealed."""
    queries = {pick.query: pick for pick in picks}.values()
    return Recalled(
        n_held=sum(len(pick.canonical & pick.candidates) for pick in queries),
        n=sum(len(pick.canonical) for pick in queries),
        ceiling=sum(
            min(len(pick.canonical & {*library}), n_candidates) for pick in queries
        ),
        n_candidates=n_candidates,
    )


def overlap(picks: Sequence[Pick], rows: Sequence[SkillRow]) -> Overlap:
    """Precision, recall and likeness of all picks, and the mean over skills."""
    truth, taken = _labels(picks)
    found = stats.micro_retrieval(truth, taken)
    n_picked, n_needed = sum(map(len, taken)), sum(map(len, truth))
    return Overlap(
        n_right=sum(len(pick.canonical & pick.picked) for pick in picks),
        n_picked=n_picked,
        n_needed=n_needed,
        precision=found.precision if n_picked else None,
        recall=found.recall if n_needed else None,
        f1=found.f1 if n_picked or n_needed else None,
        jaccard=stats.jaccard(truth, taken, zero_division=1.0),
        macro_f1=mean([row.f1 for row in rows if row.support]),
    )


def skill_rows(picks: Sequence[Pick]) -> tuple[SkillRow, ...]:
    """Every skill that was called for or picked, those called for first."""
    truth, taken = _labels(picks)
    table = stats.by_class(truth, taken)
    support, picked, hits = (
        Counter(skill for pick in picks for skill in names(pick))
        for names in (
            lambda pick: pick.canonical,
            lambda pick: pick.picked,
            lambda pick: pick.canonical & pick.picked,
        )
    )
    rows = [
        SkillRow(
            skill=skill,
            support=support[skill],
            picked=picked[skill],
            hits=hits[skill],
            f1=table[skill].f1 if support[skill] else None,
        )
        for skill in stats.classes(truth, taken)
    ]
    return tuple(sorted(rows, key=lambda row: row.support == 0))


def _labels(picks: Sequence[Pick]) -> tuple[list[list[str]], list[list[str]]]:
    return (
        [sorted(pick.canonical) for pick in picks],
        [sorted(pick.picked) for pick in picks],
    )
