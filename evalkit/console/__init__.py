"""Text for a terminal: lines for each thing a command shows, and a bar."""

from evalkit.console.advance import bar
from evalkit.console.choosing import (
    answered_lines,
    probe_lines,
    recall_lines,
    route_lines,
)
from evalkit.console.following import following
from evalkit.console.planning import outline_lines
from evalkit.console.proving import (
    ambiguity_lines,
    corpus_lines,
    effort_lines,
    gate_lines,
    grade_lines,
    preflight_lines,
    proof_lines,
    strength_lines,
)
from evalkit.console.running import (
    audit_lines,
    doctor_lines,
    regrade_lines,
    replay_lines,
    replication_lines,
    status_lines,
)

__all__ = [
    "ambiguity_lines",
    "answered_lines",
    "audit_lines",
    "bar",
    "corpus_lines",
    "doctor_lines",
    "effort_lines",
    "following",
    "gate_lines",
    "grade_lines",
    "outline_lines",
    "preflight_lines",
    "probe_lines",
    "proof_lines",
    "recall_lines",
    "regrade_lines",
    "replay_lines",
    "replication_lines",
    "route_lines",
    "status_lines",
    "strength_lines",
]
