"""What must hold before a claim, and the status that follows.

Gates read an `Analysis` and nothing else. No program approves a release: the
best status asks for a review by people. Most gates close a claim unless they pass;
which do not, and why, stands in `verdict`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evalkit.conclusions import Analysis
from evalkit.gates import conduct, record, telling, verdict
from evalkit.gates.verdict import FAIL, PASS, UNKNOWN
from evalkit.records import Gate

__all__ = [
    "FAIL",
    "INCONCLUSIVE",
    "INSUFFICIENT",
    "PASS",
    "REPLAYED",
    "REVIEW",
    "SYNTHETIC",
    "UNKNOWN",
    "evaluate",
    "judge",
    "status_of",
]

SYNTHETIC = "synthetic-only"
REPLAYED = "replay-only"
INSUFFICIENT = "insufficient-sample"
INCONCLUSIVE = "inconclusive"
REVIEW = "review-required"
SENTENCES = {
    REPLAYED: "{stand_in}, so this shows only whether that run's verdicts come out "
    "again; it is no new measurement.",
    SYNTHETIC: "{stand_in}, so this shows only that the measurement works.",
    INSUFFICIENT: "Too few tasks were run to say anything about tasks like these; the "
    "numbers describe these tasks only.",
    INCONCLUSIVE: "A condition for a claim does not hold, so no claim is supported.",
    REVIEW: "Every condition checked here holds; people must now read the evidence and "
    "decide. This program approves nothing.",
}


def judge(analysis: Analysis) -> Analysis:
    """The analysis with its gates and its status."""
    gates = evaluate(analysis)
    status = REPLAYED if analysis.replay else status_of(gates)
    sentence = SENTENCES[status].format(
        stand_in=record.capital(analysis.stand_in or "")
    )
    return msgspec.structs.replace(
        analysis, gates=gates, status=status, status_sentence=sentence
    )


def evaluate(analysis: Analysis) -> tuple[Gate, ...]:
    """Every gate, in the order a reader asks.

    Can the record be believed, was the run carried out as planned, could it tell, and
    what did it tell?
    """
    found = (
        record.evidence_real(analysis),
        record.registration_intact(analysis),
        record.isolation_as_registered(analysis),
        record.graders_proven(analysis),
        record.verdicts_repeat(analysis),
        conduct.blocks_complete(analysis),
        conduct.budget_not_hit(analysis),
        conduct.treatment_arrived(analysis),
        conduct.usage_complete(analysis),
        telling.sample(analysis),
        *telling.pilot_signal(analysis),
        telling.not_saturated(analysis),
        telling.difference_detectable(analysis),
        telling.difference_seen(analysis),
    )
    return tuple(map(verdict.explained, found))


def status_of(gates: Sequence[Gate]) -> str:
    """The status that follows from the verdicts.

    A simulation beats all others; too many blocks lost, too small a sample.
    """
    closed = [gate.name for gate in gates if gate.closes]
    if verdict.REAL in closed:
        return SYNTHETIC
    if verdict.SAMPLE in closed and verdict.BLOCKS not in closed:
        return INSUFFICIENT
    return INCONCLUSIVE if closed else REVIEW
