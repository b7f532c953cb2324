"""What routing chose, against what was called for."""

from __future__ import annotations

from evalkit import wording
from evalkit.conclusions import NONE, Analysis, Proportion, Routing
from evalkit.markup import Column, Fold, Page, Prose, Shown, Table
from evalkit.tables.treatment import NOT_SEEN, counted

FEW = 10
"""Queries below which shares would say more than there is: counts stand alone."""
_CHOICES = ("partly", "wrong", "missed", "needless")


def routing(analysis: Analysis) -> Shown:
    """How often routing chose what a case calls for, in all and skill by skill."""
    if analysis.routing_refusal:
        return Prose((analysis.routing_refusal,))
    return Page(
        (
            _chosen(analysis),
            _overlaps(analysis),
            *(part for row in analysis.routing for part in _of_arm(row)),
        )
    )


def _chosen(analysis: Analysis) -> Table:
    """Every choice as one of five, and what the candidates allowed."""
    rows = [
        (
            row.arm,
            f"{row.exact.n} {row.unit}",
            _of_ceiling(row.exact, row.exact_ceiling),
            _interval(row.exact),
            *(wording.count(getattr(row.choices, name)) for name in _CHOICES),
            _of_ceiling(row.any_hit, row.any_hit_ceiling),
            wording.k_of_n(row.nothing_picked),
        )
        for row in analysis.routing
    ]
    heads = (
        "Exactly right", "Wilson interval", "Partly", "Wrong", "Missed", "Needless",
        "At least one right", "Nothing picked",
    )  # fmt: skip
    return Table(
        "What routing chose",
        (
            *map(Column, ("Arm", "Choices")),
            *(Column(head, number=True) for head in heads),
        ),
        tuple(rows),
        empty="no arm of this run was routed.",
        note="Each choice is exactly right (the canonical skills and no other), partly right (one of several that were needed), "
        "wrong (another than needed), missed (none though one was needed) or needless. "
        "At least one: of those that need a skill. Repeats of one query that all choose "
        "alike are one choice. The ceiling counts those where the candidates, sealed "
        "with the plan, let one picked skill be right: nobody who picks from them can "
        "do better.",
    )


def _of_ceiling(found: Proportion, ceiling: Proportion) -> str:
    return f"{wording.k_of_n(found)} (ceiling {ceiling.k})"


def _interval(found: Proportion) -> str:
    """As shares: percent would sound like more queries than there are."""
    if found.low is None or found.high is None:
        return wording.NOT_APPLICABLE
    return f"{wording.score(found.low)} to {wording.score(found.high)}"


def _overlaps(analysis: Analysis) -> Table:
    """Recall of the candidates, and how far picks and canonical skills agree."""
    few = min(row.n_queries for row in analysis.routing) < FEW
    shares = () if few else ("F1", "Jaccard", "Mean F1 of skills")
    heads = (
        f"Canonical skills among {analysis.routing[0].recalled.n_candidates} candidates",
        "Picked skills that are canonical",
        "Canonical skills that were picked",
        *shares,
    )
    few_note = f" With fewer than {FEW} queries, counts only." if few else ""
    return Table(
        "Candidates and picks against canonical skills",
        (Column("Arm"), *(Column(head, number=True) for head in heads)),
        tuple(_overlap(row, few=few) for row in analysis.routing),
        note="Recall of the candidates is over queries, its ceiling what a list of that "
        "length from the arm's library could hold. Precision and recall of picks are "
        "over all choices together; Jaccard is 1 where nothing was needed or picked; "
        f"the mean F1 leaves out skills that no query calls for.{few_note}",
    )


def _overlap(row: Routing, *, few: bool) -> tuple[str, ...]:
    held, found = row.recalled, row.overlap
    counts = (
        f"{wording.k_of(held.n_held, held.n)} (ceiling {held.ceiling})",
        wording.k_of(found.n_right, found.n_picked),
        wording.k_of(found.n_right, found.n_needed),
    )
    if few:
        return row.arm, *counts
    parts = (found.precision, found.recall)
    return (
        row.arm,
        counts[0],
        *(f"{n} ({_share(part)})" for n, part in zip(counts[1:], parts, strict=True)),
        *map(_share, (found.f1, found.jaccard, found.macro_f1)),
    )


def _share(value: float | None) -> str:
    return wording.NOT_APPLICABLE if value is None else wording.score(value)


def _of_arm(found: Routing) -> tuple[Shown, ...]:
    return (
        _matrix(found),
        Fold(f"Every skill and every routed step of {found.arm}", _details(found)),
    )


def _matrix(found: Routing) -> Table:
    """Canonical against picked skills, with a row and a column for none."""
    n = {(cell.canonical, cell.picked): cell.n for cell in found.cells}
    wanted, picked = (
        [*sorted({pair[side] for pair in n} - {NONE}), NONE] for side in (0, 1)
    )
    return Table(
        f"Called for (rows) and picked (columns) in {found.arm}",
        (
            Column("Called for", whole=True),
            *(Column(name, number=True) for name in picked),
        ),
        tuple(
            (name, *(wording.count(n.get((name, other), 0)) for other in picked))
            for name in wanted
        ),
        note=f"Counts of {wording.n_of(found.n_steps, 'step')} of trials.",
    )


def _details(found: Routing) -> tuple[Shown, ...]:
    rows = [
        (row.skill, *map(wording.count, (row.support, row.picked, row.hits)))
        for row in found.skills
    ]
    unneeded = wording.listed(row.skill for row in found.skills if not row.support)
    heads = ("Called for", "Picked", "Both")
    skills = Table(
        f"Each skill in {found.arm}, by {found.unit}",
        (
            Column("Skill", whole=True),
            *(Column(head, number=True) for head in heads),
        ),
        tuple(rows),
        note=f"Picked but never called for, and in no mean of skills: {unneeded}.",
        empty="none was called for or picked.",
    )
    return skills, _routes(found)


def _routes(found: Routing) -> Table:
    """What was ranked for each query, picked, and used."""
    rows = [
        (
            f"{row.case}, {row.step}",
            wording.listed(row.canonical),
            wording.listed(f"{c.skill} {c.score:.1f}" for c in row.candidates),
            counted(row.picked),
            counted(row.how),
            wording.k_of(row.n_asked, row.n_steps),
            wording.listed(row.offered),
            NOT_SEEN if row.listed is None else wording.listed(row.listed),
            counted(row.invoked),
            counted(row.read),
        )
        for row in found.rows
    ]
    heads = (
        "Step", "Canonical", "Candidates, with scores", "Picked", "How",
        "A model was asked", "Offered at home", "The model was told of", "Invoked",
        "File read",
    )  # fmt: skip
    return Table(
        f"Routing of {found.arm}, step by step (how often in brackets)",
        tuple(map(Column, heads)),
        tuple(rows),
    )
