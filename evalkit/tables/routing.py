"""What routing chose in trials, against what was called for."""

from __future__ import annotations

from evalkit import wording
from evalkit.conclusions import Analysis, Routing
from evalkit.markup import Column, Fold, Page, Prose, Shown, Table
from evalkit.tables import choices
from evalkit.tables.treatment import NOT_SEEN, counted

_CEILING = (
    "Repeats of one query that all choose alike are one choice. The ceiling counts "
    "those where the candidates, sealed with the plan, let one picked skill be right: "
    "nobody who picks from them can do better."
)


def routing(analysis: Analysis) -> Shown:
    """How often routing chose what a case calls for, in all and skill by skill."""
    if analysis.routing_refusal:
        return Prose((analysis.routing_refusal,))
    rows = {row.arm: row for row in analysis.routing}
    return Page(
        (
            choices.chosen("What routing chose", "Arm", rows, note=_CEILING),
            choices.overlaps(
                "Candidates and picks against canonical skills", "Arm", rows
            ),
            *(part for row in analysis.routing for part in _of_arm(row)),
        )
    )


def _of_arm(found: Routing) -> tuple[Shown, ...]:
    caption = f"Called for (rows) and picked (columns) in {found.arm}"
    skills = choices.skills(f"Each skill in {found.arm}, by {found.unit}", found)
    return (
        choices.matrix(caption, found),
        Fold(
            f"Every skill and every routed step of {found.arm}",
            (skills, _routes(found)),
        ),
    )


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
