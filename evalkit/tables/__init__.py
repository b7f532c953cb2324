"""Tables of an analysis: each function reads an `Analysis` and shows part of it.

Numbers get sensible digits and units, unknown shows as "not reported", and a
refusal shows as its sentence. Nothing is reckoned here.
"""

from evalkit.tables.cases import cases, checks, complaints, trials
from evalkit.tables.chains import steps
from evalkit.tables.conduct import agent, attempts
from evalkit.tables.costs import price, spent, time
from evalkit.tables.inference import detectable, hypotheses, robustness
from evalkit.tables.passing import gate_run, passes
from evalkit.tables.probes import probes
from evalkit.tables.record import fragility, limits, seals
from evalkit.tables.results import answer, arms, contrasts, flow, gates
from evalkit.tables.routing import routing
from evalkit.tables.times import times
from evalkit.tables.treatment import received, replication, treatment

__all__ = [
    "agent",
    "answer",
    "arms",
    "attempts",
    "cases",
    "checks",
    "complaints",
    "contrasts",
    "detectable",
    "flow",
    "fragility",
    "gate_run",
    "gates",
    "hypotheses",
    "limits",
    "passes",
    "price",
    "probes",
    "received",
    "replication",
    "robustness",
    "routing",
    "seals",
    "spent",
    "steps",
    "time",
    "times",
    "treatment",
    "trials",
]
