"""Passing: again and again in each arm, in pairs, and as a gate run asks it."""

from __future__ import annotations

from evalkit.conclusions.scores import Proportion
from evalkit.records import GateRule, Record

READY = "ready"
REDESIGN = "stop-and-redesign"
UNDECIDED = "inconclusive"


class PassRow(Record, frozen=True):
    """How reliably an arm passes; `k` trials of a case were made.

    `runs`: each repeat by itself, over the cases. `at_1`, `at_k`, `hat_k`: means over
    cases of passing in one trial, in at least one of k, in all of k.
    """

    arm: str
    k: int
    n_cases: int
    runs: tuple[Proportion, ...]
    at_1: float | None
    at_k: float | None
    hat_k: float | None
    refusal: str | None = None


class PairedPasses(Record, frozen=True):
    """Blocks in which an arm and its comparator passed: both, one, or neither.

    `p`, `p_mid`: exact McNemar; `p_arm`: the probability, under a flat prior, that the
    arm passes more often. In their place `refusal` says what no discordant pair
    bounds; `within` is then the largest difference of the two rates (Newcombe).
    """

    arm: str
    comparator: str
    both: int
    arm_only: int
    comparator_only: int
    neither: int
    p: float | None
    p_mid: float | None
    p_arm: float | None
    within: float | None = None
    refusal: str | None = None

    @property
    def n_pairs(self) -> int:
        """Pairs of trials compared."""
        return self.both + self.arm_only + self.comparator_only + self.neither


class Signal(Record, frozen=True):
    """What a gate run shows of a case: passes of the trials that count."""

    case: str
    baseline: Proportion
    injected: Proportion
    verdict: str
    sentence: str


class Chance(Record, frozen=True):
    """How often a case passes the gate at these true rates of passing."""

    baseline: float
    injected: float
    passes: float


class GateVerdict(Record, frozen=True):
    """The verdict of a gate run, case by case, and how far its rule can be trusted.

    `worst` is the rate, the same in both arms, at which a case without any effect
    passes the gate most often.
    """

    run: str
    registration: str
    journal_head: str
    corpus: str
    corpus_digest: str
    agent: str
    model: str
    simulated: bool
    baseline: str
    injected: str
    n_runs: int
    rule: GateRule
    cases: tuple[Signal, ...]
    worst: Chance
    chances: tuple[Chance, ...]
    verdict: str
    sentence: str

    @property
    def satisfies(self) -> bool:
        """True where a main run may rest on it: a real run that is ready."""
        return self.verdict == READY and not self.simulated
