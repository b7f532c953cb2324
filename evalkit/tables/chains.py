"""Chains, step by step."""

from __future__ import annotations

from collections import Counter

from evalkit import wording
from evalkit.conclusions import Analysis, StepRow
from evalkit.markup import Column, Page, Shown, Table
from evalkit.records import Ended

FINISHED = Ended.FINISHED.value


def steps(analysis: Analysis) -> Shown:
    """Each step of each chain in each arm: how far trials came, and at what price.

    Nothing without a chain: the figure of steps says so.
    """
    if not analysis.steps:
        return Page(())
    rows = [
        (
            row.case,
            f"{row.n} {row.step}",
            row.arm,
            wording.k_of(row.n_reached, row.n_trials),
            wording.score(row.score),
            *(_of_calls(row) if row.n_reached else (wording.NOT_APPLICABLE,) * 5),
        )
        for row in analysis.steps
    ]
    numbers = ("Reached", "Mean score", "Tokens", "Dollars", "Time")
    return Table(
        "Each step in each arm",
        (
            *map(Column, ("Case", "Step")),
            Column("Arm", whole=True),
            *(Column(head, number=True) for head in numbers),
            *map(Column, ("Routed to", "Failed")),
        ),
        tuple(rows),
        note="The mean score is over all analysed trials, and a step that was not "
        "reached counts 0 in it; tokens, dollars and time are means over the trials "
        "that reached the step. Failed: calls that did not finish by themselves.",
    )


def _of_calls(row: StepRow) -> tuple[str, ...]:
    """What is told of the calls of a step that was reached."""
    return (
        wording.count(row.tokens),
        wording.usd(row.usd),
        wording.seconds(row.wall_s),
        _picked(row),
        _failed(row),
    )


def _picked(row: StepRow) -> str:
    found = Counter(p.picked for p in row.points if p.picked is not None)
    return (
        ", ".join(f"{name} ({n})" for name, n in sorted(found.items())) or "not routed"
    )


def _failed(row: StepRow) -> str:
    ended = Counter(p.ended for p in row.points if p.ended not in (None, FINISHED))
    return (
        ", ".join(f"{n} {how}" for how, n in sorted(ended.items(), key=str)) or "none"
    )
