"""Which skills routing ranks and picks, as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit import wording
from evalkit.console.layout import align, share

if TYPE_CHECKING:
    from evalkit.probes import Answered, ProbeScores
    from evalkit.recall import Recall
    from evalkit.records import Candidate, Selection


def route_lines(selection: Selection, *, asks: bool) -> list[str]:
    """Ranked skills and why, the one picked, and whether a model would be asked."""
    rows = [
        (
            c.skill,
            f"{c.score:.2f}",
            "admitted" if c.direct else "",
            ", ".join([*map(repr, c.phrases), *c.words]),
        )
        for c in selection.candidates
    ]
    then = "" if selection.picked else ", no call of a model"
    if asks:
        then = ", a model is asked to choose one of these or none"
    return [
        *(align(rows) if rows else []),
        f"picked: {selection.picked or 'none'} ({selection.how}){then}",
    ]


def recall_lines(found: Recall) -> list[str]:
    """What routing can reach, before any model; and what a fixed list would."""
    return [
        f"an accepted skill is among the candidates of {found.n_held} of "
        f"{found.n_needing} that need one: the ceiling of every accuracy",
        f"no ranking, the same {len(found.constant)} for all: would hold one for "
        f"{found.n_constant_held} of {found.n_needing} "
        f"({', '.join(found.constant) or 'none'})",
        f"{found.n_admitted} of {found.n} admitted without a model, "
        f"{found.n_admitted_right} of them rightly; {found.n_abstained} of {found.n} "
        f"get none without asking",
    ]


def answered_lines(answered: Answered, kept: str) -> list[str]:
    """Who answered, what came out, and where it is kept."""
    agent, n = answered.agent, len(answered.answers)
    stamp = " (SIMULATED)" if answered.simulated else ""
    who = (
        f"{wording.agent(agent.name, agent.version)}{stamp}, model {answered.plan.model}: "
        f"{answered.n_calls} of {n} probes took a call"
        if agent
        else f"{n} probes, answered by the ranking alone"
    )
    return [who, *probe_lines(answered.scores), f"kept in runs/{kept}"]


def probe_lines(found: ProbeScores) -> list[str]:
    """A row per category of probes, with Wilson intervals, and what routing reaches.

    `spared` are probes that need no skill, get none, and cost no call.
    """
    heads = (
        "",
        "n",
        "right",
        "best ranked",
        "among ranked",
        "picked rightly",
        "spared",
    )
    rows = [
        (
            row.category,
            f"{row.n}",
            *map(share, (row.right, row.first, row.held, row.precise, row.spared)),
        )
        for row in found.categories
    ]
    how = (
        "a model chose"
        if found.asked
        else "no model was asked: right are those that the ranking settles alone"
    )
    return [
        f"probes of the library {found.library} ({how})",
        *align([heads, *rows]),
        "spared: of those that need no skill, how many get none and cost no call",
        *recall_lines(found.recall),
        f"picked wrongly: {', '.join(found.wrong) or 'none'}",
        f"no accepted skill among the candidates: "
        f"{', '.join(found.out_of_reach) or 'none'}",
    ]


def scored(candidates: Sequence[Candidate]) -> str:
    """Candidates with their scores, best first."""
    return ", ".join(f"{c.skill} {c.score:.1f}" for c in candidates) or "none"
