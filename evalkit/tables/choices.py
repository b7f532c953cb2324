"""What was chosen against what was called for, of trials and of probes alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evalkit import wording
from evalkit.conclusions import NONE, Accuracy, Proportion
from evalkit.markup import Column, Table

FEW = 10
"""Queries below which shares would say more than there is: counts stand alone."""
MAX_COLUMNS = 8
"""Skills picked, up to which each has a column of a matrix."""
_ITSELF = "That very skill"
_CHOICES = ("partly", "wrong", "missed", "needless")


def chosen(
    caption: str, who: str, rows: Mapping[str, Accuracy], *, note: str = ""
) -> Table:
    """Every choice as one of five, and what the candidates allowed."""
    heads = (
        "Exactly right", "Wilson interval", "Partly", "Wrong", "Missed", "Needless",
        "At least one right", "Nothing picked",
    )  # fmt: skip
    return Table(
        caption,
        (
            *map(Column, (who, "Choices")),
            *(Column(head, number=True) for head in heads),
        ),
        tuple(_chosen(name, found) for name, found in rows.items()),
        note="Each choice is exactly right (the canonical skills and no other), partly right (one of several that were needed), "
        "wrong (another than needed), missed (none though one was needed) or needless. "
        f"At least one: of those that need a skill. {note}",
    )


def _chosen(name: str, found: Accuracy) -> tuple[str, ...]:
    return (
        name,
        f"{found.exact.n} {found.unit}",
        _of_ceiling(found.exact, found.exact_ceiling),
        interval(found.exact),
        *(wording.count(getattr(found.choices, kind)) for kind in _CHOICES),
        _of_ceiling(found.any_hit, found.any_hit_ceiling),
        wording.k_of_n(found.nothing_picked),
    )


def _of_ceiling(found: Proportion, ceiling: Proportion) -> str:
    return f"{wording.k_of_n(found)} (ceiling {ceiling.k})"


def interval(found: Proportion) -> str:
    """As shares: percent would sound like more queries than there are."""
    if found.low is None or found.high is None:
        return wording.NOT_APPLICABLE
    return f"{wording.score(found.low)} to {wording.score(found.high)}"


def overlaps(caption: str, who: str, rows: Mapping[str, Accuracy]) -> Table:
    """Recall of the candidates, and how far picks and canonical skills agree."""
    few = min(found.n_queries for found in rows.values()) < FEW
    shares = () if few else ("F1", "Jaccard", "Mean F1 of skills")
    n_candidates = next(iter(rows.values())).recalled.n_candidates
    heads = (
        f"Canonical skills among {n_candidates} candidates",
        "Picked skills that are canonical",
        "Canonical skills that were picked",
        *shares,
    )
    few_note = f" With fewer than {FEW} queries, counts only." if few else ""
    return Table(
        caption,
        (Column(who), *(Column(head, number=True) for head in heads)),
        tuple(_overlap(name, found, few=few) for name, found in rows.items()),
        note="Recall of the candidates is over queries, its ceiling what a list of that "
        "length from the arm's library could hold. Precision and recall of picks are "
        "over all choices together; Jaccard is 1 where nothing was needed or picked; "
        f"the mean F1 leaves out skills that no query calls for.{few_note}",
    )


def _overlap(name: str, row: Accuracy, *, few: bool) -> tuple[str, ...]:
    held, found = row.recalled, row.overlap
    counts = (
        f"{wording.k_of(held.n_held, held.n)} (ceiling {held.ceiling})",
        wording.k_of(found.n_right, found.n_picked),
        wording.k_of(found.n_right, found.n_needed),
    )
    if few:
        return name, *counts
    parts = (found.precision, found.recall)
    return (
        name,
        counts[0],
        *(f"{n} ({_share(part)})" for n, part in zip(counts[1:], parts, strict=True)),
        *map(_share, (found.f1, found.jaccard, found.macro_f1)),
    )


def _share(value: float | None) -> str:
    return wording.NOT_APPLICABLE if value is None else wording.score(value)


def matrix(caption: str, found: Accuracy) -> Table:
    """Canonical against picked skills, with a row and a column for none.

    Of many skills only those have a column that were picked where another was called
    for, or none; the rest is one column.
    """
    n = {(cell.canonical, cell.picked): cell.n for cell in found.cells}
    wanted = [*sorted({want for want, _ in n} - {NONE}), NONE]
    picked = sorted({pick for _, pick in n} - {NONE})
    itself = len(picked) > MAX_COLUMNS
    if itself:
        picked = [name for name in picked if any(b == name != a for a, b in n)]
    rows = [
        (
            want,
            *([_itself(n, want, picked)] if itself else []),
            *(wording.count(n.get((want, pick), 0)) for pick in (*picked, NONE)),
        )
        for want in wanted
    ]
    heads = (*([_ITSELF] if itself else []), *picked, NONE)
    told = (
        f" {_ITSELF}: picked where it was called for, of skills that were picked "
        f"nowhere else and so have no column."
    )
    return Table(
        caption,
        (
            Column("Called for", whole=True),
            *(Column(head, number=True) for head in heads),
        ),
        tuple(rows),
        note=f"Counts of {wording.n_of(sum(n.values()), 'choice')}."
        f"{told if itself else ''}",
    )


def _itself(n: Mapping[tuple[str, str], int], want: str, shown: Sequence[str]) -> str:
    """How often a skill without a column of its own was rightly picked."""
    if want == NONE or want in shown:
        return wording.NOT_APPLICABLE
    return wording.count(n.get((want, want), 0))


def skills(caption: str, found: Accuracy) -> Table:
    """Each skill: how often called for, picked, and both."""
    rows = [
        (row.skill, *map(wording.count, (row.support, row.picked, row.hits)))
        for row in found.skills
    ]
    unneeded = wording.listed(row.skill for row in found.skills if not row.support)
    heads = ("Called for", "Picked", "Both")
    return Table(
        caption,
        (
            Column("Skill", whole=True),
            *(Column(head, number=True) for head in heads),
        ),
        tuple(rows),
        note=f"Picked but never called for, and in no mean of skills: {unneeded}.",
        empty="none was called for or picked.",
    )
