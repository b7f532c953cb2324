"""Verdicts of gates, and what each verdict means for a claim."""

from __future__ import annotations

import msgspec

from evalkit.records import Gate

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"

REAL = "evidence real"
INTACT = "registration intact"
ISOLATION = "isolation as registered"
GRADERS = "graders proven"
REPEAT = "verdicts repeat"
BLOCKS = "blocks complete"
BUDGET = "budget not hit"
ARRIVED = "treatment arrived"
USAGE = "usage complete"
SAMPLE = "sample"
PILOT = "pilot signal"
ROOM = "not saturated"
DETECTABLE = "difference detectable"
SEEN = "difference seen"

INFORMS = {
    BUDGET: "This informs and closes no claim: blocks run in the sealed order, so no "
    "result chose which are missing, and how many may be is judged apart.",
    USAGE: "This informs and closes no claim about what was delivered: tokens and "
    "dollars say beside each number what they lack.",
    DETECTABLE: "This informs and closes no claim: a difference that was seen is not "
    "unseen by it.",
}
"""Gates that never close a claim, and why."""
MAY_BE_UNKNOWN = {
    REPEAT: "Nobody has to grade again, so not knowing closes no claim.",
    ARRIVED: "No agent has to show what its model is told, so not knowing closes no "
    "claim.",
}
"""Gates that close a claim only where they fail, and why."""


def closes(gate: Gate) -> bool:
    """True where no claim stands against this verdict."""
    if gate.verdict == PASS or gate.name in INFORMS:
        return False
    return gate.verdict == FAIL or gate.name not in MAY_BE_UNKNOWN


def explained(gate: Gate) -> Gate:
    """The gate with whether it closes a claim, and where it does not pass why not."""
    if closes(gate):
        return msgspec.structs.replace(gate, closes=True)
    if gate.verdict == PASS:
        return gate
    why = {**INFORMS, **MAY_BE_UNKNOWN}[gate.name]
    return msgspec.structs.replace(gate, sentence=f"{gate.sentence} {why}")
