"""How the run went: who worked, by which way, and how attempts ended."""

from __future__ import annotations

from urllib.parse import urlsplit

from evalkit import wording
from evalkit.conclusions import Analysis
from evalkit.markup import Column, Page, Table
from evalkit.records import Access

NO_MODEL = "none: it calls no model"
_WAYS = {
    Access.GATEWAY: "through the gateway, which holds the credential and counts each "
    "request",
    Access.DIRECT: "DIRECT, which is weaker: the agent's tools could read the "
    "credential, and usage is the agent's own account",
}


def agent(analysis: Analysis) -> Table:
    """The agent that worked, and its way to its model."""
    seals = analysis.seals
    way = _WAYS[seals.access] if seals.access else NO_MODEL
    asked = (
        ("Model", model(analysis)),
        ("Who answers for the model", provider(analysis)),
        ("Way to the model", way),
    )
    rows = (
        ("Agent", wording.agent(seals.agent, seals.agent_version)),
        ("sha256 of its executable", seals.executable_sha256),
        *(asked if seals.provider else asked[:1]),
    )
    columns = (Column("What"), Column("As registered"))
    return Table("The agent, and its way to its model", columns, rows)


def model(analysis: Analysis) -> str:
    """The model that did the work; for a control the one that is only named."""
    seals = analysis.seals
    if seals.provider:
        return seals.model
    return (
        f"{NO_MODEL} (the plan names {seals.model}, whose rates price what it claims)"
    )


def provider(analysis: Analysis) -> str:
    """Who answered the agent's requests."""
    if analysis.seals.provider is None:
        return NO_MODEL
    host = urlsplit(analysis.seals.provider).hostname or analysis.seals.provider
    if analysis.replay is not None:
        return f"a recording of what {host} answered, so a {analysis.stamp}"
    if analysis.simulated:
        return f"a program on this machine ({host}), so SIMULATED"
    return host


def attempts(analysis: Analysis) -> Page:
    """Attempts by how they ended, and the blocks that are left out."""
    rows = [
        (
            row.outcome.replace("_", " "),
            row.ended.replace("_", " "),
            wording.count(row.n),
            wording.count(row.n_again),
            "; ".join(row.details),
        )
        for row in analysis.attempts
    ]
    table = Table(
        "Attempts, by what they count as and how they ended",
        (
            *map(Column, ("Counts as", "How it ended")),
            *(Column(head, number=True) for head in ("Attempts", "Tried again")),
            Column("In its words"),
        ),
        tuple(rows),
        note="A fault of the provider or of the machine counts as infrastructure: it is "
        "never a score, and the trial is tried again. What counts as what was sealed "
        "with the plan.",
        empty="no attempt was begun.",
    ).without_empty()
    return Page((table, _lost_blocks(analysis)))


def _lost_blocks(analysis: Analysis) -> Table:
    rows = [
        (
            f"{row.case}, repeat {row.repeat}",
            wording.listed(
                f"{arm} ({status.replace('_', ' ')})"
                for arm, status in row.missing.items()
            ),
        )
        for row in analysis.lost_blocks
    ]
    design = analysis.design
    lost = wording.k_of(len(rows), design.n_blocks)
    return Table(
        f"Blocks left out of every comparison: {lost}",
        (Column("Block"), Column("Without a result")),
        tuple(rows),
        empty="every block is whole.",
    )
