"""What routing chose, and what reached the agent."""

from __future__ import annotations

from collections.abc import Iterable

from evalkit import wording
from evalkit.conclusions import Analysis, Proportion, Routing, TreatmentRow
from evalkit.markup import Column, Fold, Page, Prose, Shown, Table

NOT_SEEN = "nobody looked"


def routing(analysis: Analysis) -> Shown:
    """How often routing chose what a case calls for."""
    if analysis.routing_refusal:
        return Prose((analysis.routing_refusal,))
    rows = [
        (
            row.arm,
            wording.count(row.n_queries),
            _of_ceiling(row.exact, row.exact_ceiling),
            _of_ceiling(row.any_hit, row.any_hit_ceiling),
            wording.k_of_n(row.nothing_picked),
            wording.interval(row.exact),
            row.unit,
        )
        for row in analysis.routing
    ]
    heads = ("Queries", "Exactly the canonical skills", "One of them", "Nothing picked")
    table = Table(
        "What routing chose",
        (
            Column("Arm"),
            *(Column(head, number=True) for head in heads),
            Column("Interval of exact (Wilson)", number=True),
            Column("Counted are"),
        ),
        tuple(rows),
        empty="no arm of this run was routed.",
        note="The ceiling counts those where the candidates, sealed with the plan, "
        "let one picked skill be right: nobody who picks from them can do better.",
    )
    return Page((table, *(_routes(row) for row in analysis.routing)))


def treatment(analysis: Analysis) -> Page:
    """What each arm gave, what the agent's requests showed of it, what it used."""
    rows = [_treatment(row) for row in analysis.treatments]
    heads = (
        "Steps",
        "Skills at home",
        "the model was told of all",
        "Text in the prompt",
        "all of it in a request",
        "Skill invoked",
        "Skill file read",
    )
    table = Table(
        "What reached the agent, by steps",
        (Column("Arm"), *(Column(head, number=True) for head in heads)),
        tuple(rows),
        note="What the model was told is taken from the agent's requests as they "
        f"passed the gateway: {NOT_SEEN} where none stood, or no request was made.",
    )
    used = [
        (row.arm, _counted(row.skills_invoked))
        for row in analysis.treatments
        if row.skills_invoked
    ]
    columns = (Column("Arm"), Column("Skills (how often)"))
    invoked = Table("Skills invoked", columns, tuple(used), empty="none, in any arm.")
    return Page((table, _strays(analysis), invoked))


def _treatment(row: TreatmentRow) -> tuple[str, ...]:
    seen = [
        wording.NOT_APPLICABLE
        if of == 0
        else NOT_SEEN
        if found is None
        else wording.k_of(found, of)
        for found, of in (
            (row.n_listed, row.n_offered),
            (row.n_carried, row.n_injected),
        )
    ]
    return (
        row.arm,
        wording.count(row.n_steps),
        wording.k_of(row.n_offered, row.n_steps),
        seen[0],
        wording.k_of(row.n_injected, row.n_steps),
        seen[1],
        wording.k_of(row.n_invoked, row.n_steps),
        wording.k_of(row.n_read, row.n_steps),
    )


def _strays(analysis: Analysis) -> Table:
    """Where requests show another treatment than was delivered."""
    rows = [
        (
            f"{row.trial}, {row.step}",
            *map(_or_dash, (row.not_listed, row.not_carried, row.not_offered)),
        )
        for row in analysis.strays
    ]
    looked = any(row.n_looked for row in analysis.treatments)
    heads = (
        "Step",
        "At home, but the model was not told of",
        "In the prompt, but in no request",
        "The model was told of, but not at home",
    )
    return Table(
        "Steps whose requests show another treatment than was delivered",
        tuple(map(Column, heads)),
        tuple(rows),
        empty="none." if looked else "not known, since nobody looked.",
    )


def _or_dash(names: Iterable[str]) -> str:
    return ", ".join(names) or wording.NOT_APPLICABLE


def _of_ceiling(found: Proportion, ceiling: Proportion) -> str:
    return f"{wording.k_of_n(found)} (ceiling {ceiling.k})"


def _routes(found: Routing) -> Fold:
    """What was ranked for each query, picked, and used."""
    rows = [
        (
            f"{row.case}, {row.step}",
            wording.listed(row.canonical),
            wording.listed(f"{c.skill} {c.score:.1f}" for c in row.candidates),
            _counted(row.picked),
            _counted(row.how),
            wording.k_of(row.n_asked, row.n_steps),
            wording.listed(row.offered),
            NOT_SEEN if row.listed is None else wording.listed(row.listed),
            _counted(row.invoked),
            _counted(row.read),
        )
        for row in found.rows
    ]
    heads = (
        "Step", "Canonical", "Candidates, with scores", "Picked", "How",
        "A model was asked", "Offered at home", "The model was told of", "Invoked",
        "File read",
    )  # fmt: skip
    table = Table(
        f"Routing of {found.arm}, step by step (how often in brackets)",
        tuple(map(Column, heads)),
        tuple(rows),
    )
    return Fold(f"Every routed step of {found.arm}", (table,))


def _counted(found: dict[str, int]) -> str:
    return wording.listed(f"{name} ({n})" for name, n in found.items())
