"""The records of an analysis: every number that a table, figure or gate shows.

`analysis.analyse` makes one `Analysis`, `gates.judge` adds verdicts; whatever
shows results only reads it. Unknown is `None`; a refusal is a sentence.
"""

from __future__ import annotations

from evalkit.conclusions.flow import AttemptRow, Exclusion, Flow, LostBlock
from evalkit.conclusions.inference import (
    BeyondRow,
    DetectableRow,
    EquivalenceRow,
    MissingRow,
    SensitivityRow,
)
from evalkit.conclusions.pilots import (
    READY,
    REDESIGN,
    UNDECIDED,
    Chance,
    GateVerdict,
    PairedPasses,
    PassRow,
    Signal,
)
from evalkit.conclusions.record import (
    DeviationRow,
    Difference,
    GraderRow,
    Integrity,
    RegradeRow,
    Seals,
)
from evalkit.conclusions.routing import (
    Accuracy,
    Choices,
    Overlap,
    Probed,
    ProbeScore,
    Recalled,
    RouteRow,
    Routing,
    RoutingCell,
    SkillRow,
    Unlike,
)
from evalkit.conclusions.scores import (
    CaseArm,
    CaseContrast,
    CheckRow,
    ComplaintRow,
    Point,
    Proportion,
    StepPoint,
    StepRow,
)
from evalkit.conclusions.spending import (
    Cost,
    Disagreement,
    Overhead,
    PurposeRow,
    Spend,
    Tokens,
    UsageReport,
)
from evalkit.conclusions.times import TimeContrast, TimePoint, TimeRow
from evalkit.conclusions.treatment import (
    UNKNOWN_LISTS,
    Received,
    ReceivedRow,
    SharedSkills,
    Stray,
    TreatmentRow,
)
from evalkit.records import (
    Contrast,
    Gate,
    GateSeal,
    Kind,
    Layout,
    Record,
    ReplaySeal,
    stamp_of,
)

__all__ = [
    "FORMAT",
    "NONE",
    "ONE_ARM",
    "READY",
    "REDESIGN",
    "UNDECIDED",
    "UNKNOWN_LISTS",
    "Accuracy",
    "Analysis",
    "ArmSummary",
    "AttemptRow",
    "BeyondRow",
    "CaseArm",
    "CaseContrast",
    "CaseSummary",
    "Chance",
    "CheckRow",
    "Choices",
    "ComplaintRow",
    "Cost",
    "Design",
    "DetectableRow",
    "DeviationRow",
    "Difference",
    "Disagreement",
    "EquivalenceRow",
    "Exclusion",
    "Flow",
    "GateVerdict",
    "GraderRow",
    "Integrity",
    "LostBlock",
    "MissingRow",
    "Overhead",
    "Overlap",
    "PairedPasses",
    "PassRow",
    "Point",
    "ProbeScore",
    "Probed",
    "Proportion",
    "PurposeRow",
    "Recalled",
    "Received",
    "ReceivedRow",
    "RegradeRow",
    "RouteRow",
    "Routing",
    "RoutingCell",
    "Seals",
    "SensitivityRow",
    "SharedSkills",
    "Signal",
    "SkillRow",
    "Spend",
    "StepPoint",
    "StepRow",
    "Stray",
    "TimeContrast",
    "TimePoint",
    "TimeRow",
    "Tokens",
    "TreatmentRow",
    "Unlike",
    "UsageReport",
]

FORMAT = 1
NONE = "none"
"""How the routing table calls no skill."""
ONE_ARM = "There is one arm, so no effect can be read."


class ArmSummary(Record, frozen=True):
    """One arm over its analysed trials; means are over cases, equally weighted.

    Tokens, dollars and time are means per trial, and None where any analysed
    trial does not report them. `usd` is at the registered accounting. `..._low` and
    `..._high` limit the mean, and are None where its interval is refused. In
    `n_understated` trials nobody told what some requests used, so that tokens and
    dollars are lower bounds.
    """

    arm: str
    home: str
    prompt: str
    library: str | None
    n_trials: int
    score: float | None
    score_low: float | None
    score_high: float | None
    passed: Proportion
    n_at_ceiling: int
    tokens: Tokens | None
    usd: float | None
    usd_low: float | None
    usd_high: float | None
    usd_list: float | None
    wall_s: float | None
    n_calls: float | None
    overhead: Overhead | None
    n_understated: int = 0


class CaseSummary(Record, frozen=True):
    """What was registered of a case, and how many of its blocks are whole."""

    id: str
    title: str
    kind: Kind
    hypothesis: str
    n_steps: int
    n_checks: int
    n_blocks: int
    n_complete: int


class Design(Record, frozen=True):
    """The registered design, and how much of it was carried out."""

    layout: Layout
    arms: tuple[str, ...]
    comparators: tuple[str, ...]
    repeats: int
    outcome: str
    margin: float
    confidence: float
    imbalance: int
    n_trials: int
    n_blocks: int
    n_complete: int
    n_cases: int
    min_cases: int

    @property
    def against(self) -> tuple[str, ...]:
        """The comparators that took part."""
        return tuple(name for name in self.comparators if name in self.arms)


class Analysis(Record, frozen=True):
    """Every reported number of a run.

    `question` is the estimand, `sentence` says it for a reader. `gate_verdict` is there
    where the run is itself a gate run, `gate_run` where it rests on one. `probed` is
    empty until `probed.with_probes` has looked for answers to probes, `paged` until
    `paged.with_pages` has for pages of trials, by key; `gates` is empty and `status`
    `not-judged` until `gates.judge` has read the rest.
    """

    run: str
    simulated: bool
    question: str
    sentence: str
    seals: Seals
    integrity: Integrity
    graders: tuple[GraderRow, ...]
    design: Design
    cases: tuple[CaseSummary, ...]
    flow: tuple[Flow, ...]
    attempts: tuple[AttemptRow, ...]
    lost_blocks: tuple[LostBlock, ...]
    arms: tuple[ArmSummary, ...]
    contrasts: tuple[Contrast, ...]
    case_arms: tuple[CaseArm, ...]
    case_contrasts: tuple[CaseContrast, ...]
    steps: tuple[StepRow, ...]
    checks: tuple[CheckRow, ...]
    complaints: tuple[ComplaintRow, ...]
    routing: tuple[Routing, ...]
    routing_refusal: str | None
    treatments: tuple[TreatmentRow, ...]
    strays: tuple[Stray, ...]
    received: tuple[ReceivedRow, ...]
    replications: tuple[SharedSkills, ...]
    times: tuple[TimeRow, ...]
    time_contrasts: tuple[TimeContrast, ...]
    purposes: tuple[PurposeRow, ...]
    usage: tuple[UsageReport, ...]
    disagreements: tuple[Disagreement, ...]
    cost: Cost
    deviations: tuple[DeviationRow, ...]
    regrades: tuple[RegradeRow, ...]
    equivalences: tuple[EquivalenceRow, ...]
    beyond: tuple[BeyondRow, ...]
    sensitivity: tuple[SensitivityRow, ...]
    missing: tuple[MissingRow, ...]
    detectable: tuple[DetectableRow, ...]
    passes: tuple[PassRow, ...]
    paired_passes: tuple[PairedPasses, ...]
    gate_verdict: GateVerdict | None
    gate_run: GateSeal | None
    limits: tuple[str, ...]
    probed: tuple[Probed, ...] = ()
    probed_unlike: tuple[Unlike, ...] = ()
    probed_refusal: str | None = None
    paged: dict[str, str] = {}
    gates: tuple[Gate, ...] = ()
    status: str = "not-judged"
    status_sentence: str = ""
    replay: ReplaySeal | None = None
    format: int = FORMAT

    @property
    def stamp(self) -> str | None:
        """The word that stands on all that is made of it; see `Registration`."""
        return stamp_of(self.replay, simulated=self.simulated)

    @property
    def warning(self) -> str | None:
        """Why it says nothing of any model, with its stamp; None where it may."""
        if self.replay is not None:
            return (
                f"{self.stamp}: {self.stand_in}. It shows whether that run's verdicts "
                f"come out again; it is no new measurement, and it spent nothing."
            )
        if not self.simulated:
            return None
        return f"{self.stamp}: {self.stand_in}. Nothing here is about a model."

    @property
    def stand_in(self) -> str | None:
        """What stood in for the agent or for its model; None in a real run."""
        if not self.simulated:
            return None
        if self.replay is not None:
            return f"the recording of run {self.replay.run} stood in for the model"
        if self.seals.provider is None:
            return "a scripted program stood in for the agent"
        return "a program on this machine stood in for the model"
