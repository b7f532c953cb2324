"""The records of evalkit: frozen, typed, refused when a field is unknown.

One word per concept; units stand in names (`_s`, `_ms`, `_usd`, `_bytes`, `n_`).
Unknown is `None`, never zero.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

FORMAT = 1
SIMULATED = "SIMULATED"
"""The stamp of what a stand-in for an agent or its model took part in."""
REPLAY = "REPLAY"
"""The stamp of what was played again from a recording: no new measurement."""
Positive = Annotated[int, msgspec.Meta(ge=1)]
Dollars = Annotated[float, msgspec.Meta(gt=0)]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Base of every record; none can hold itself, so the cycle collector is spared."""


# --- corpus -----------------------------------------------------------------


class Kind(StrEnum):
    """What a case is about."""

    FEATURE = "feature"
    DEBUGGING = "debugging"
    SECURITY = "security"
    DOMAIN = "domain"
    EFFICIENCY = "efficiency"
    BREADTH = "breadth"
    CHAIN = "chain"
    KNOWLEDGE = "knowledge"


class Complaint(StrEnum):
    """What a failed check says about a delivery; the report groups by it."""

    CORE = "core"
    HAPPY_PATH_ONLY = "happy-path-only"
    UNVERIFIED_COMPLETION = "unverified-completion"
    SKIPPED_IMPLIED_WORK = "skipped-implied-work"
    CONVENTION_DRIFT = "convention-drift"
    CONCURRENCY_BLINDNESS = "concurrency-blindness"
    EFFICIENCY = "efficiency"
    SECURITY = "security"


def step_folder(n: int, slug: str) -> str:
    """`NN-slug`, the folder of the n-th step in overlays and evidence, from 1."""
    return f"{n:02}-{slug}"


class Step(Record, frozen=True):
    """One prompt of a case; a case without a chain has the single step `task`."""

    n: int
    slug: str
    prompt: str
    skills: tuple[str, ...] = ()
    min_score: float | None = None
    complaints: dict[str, Complaint] = {}

    @property
    def folder(self) -> str:
        """Its folder in overlays and evidence."""
        return step_folder(self.n, self.slug)


class Digests(Record, frozen=True):
    """sha256 of the four parts of a case, over canonical bytes."""

    case: str
    fixture: str
    grader: str
    reference: str


class Case(Record, frozen=True):
    """One unit of work: fixture, prompts, and the facts the analysis needs."""

    id: str
    title: str
    kind: Kind
    hypothesis: str
    steps: tuple[Step, ...]
    digests: Digests
    grade_timeout_s: float = 120.0
    grader_command: tuple[str, ...] | None = None
    measures: str | None = None
    principle: int | None = None
    injection: str | None = None
    leak_terms: tuple[str, ...] = ()


class Preset(Record, frozen=True):
    """The arms and repeats a corpus is usually run with."""

    arms: tuple[str, ...]
    repeats: int


class Corpus(Record, frozen=True):
    """A sealed set of cases; `digest` covers the parts an agent or grader sees."""

    name: str
    cases: tuple[Case, ...]
    preset: Preset
    digest: str
    pinned: bool


class ExpectedRow(Record, frozen=True):
    """What one overlay must get on one step."""

    score: float
    failing: tuple[str, ...]


class ProofRow(Record, frozen=True):
    """What one overlay was expected to get on one step, and got.

    `graded_as` names the overlay that was graded in its place, where the two are the
    same up to this step, else itself.
    """

    overlay: str
    step: str
    expected: ExpectedRow
    got: ExpectedRow
    died: str | None
    replayed: bool
    wall_s: float
    cpu_s: float | None
    graded_as: str | None = None

    @property
    def holds(self) -> bool:
        """True where expected and got agree and the grade replayed byte-equal."""
        return self.expected == self.got and self.died is None and self.replayed


class Proof(Record, frozen=True):
    """That a grader tells right from wrong, bound to what it was shown on."""

    case: str
    digests: Digests
    source: str
    isolation: str
    rows: tuple[ProofRow, ...]
    format: int = FORMAT

    @property
    def holds(self) -> bool:
        """True where every row holds."""
        return bool(self.rows) and all(row.holds for row in self.rows)


# --- skills and arms --------------------------------------------------------


class Skill(Record, frozen=True):
    """One skill: `files` holds every file of its folder, SKILL.md included."""

    name: str
    description: str
    body: str
    files: dict[str, bytes]
    digest: str


class Library(Record, frozen=True):
    """A set of skills and where it came from (a folder, or a commit).

    `triggers` holds the bytes of its `triggers.toml`; empty where it has none.
    """

    name: str
    source: str
    skills: tuple[Skill, ...]
    digest: str
    triggers: bytes = b""


class Home(StrEnum):
    """Which skills of the arm's library lie in the agent's home."""

    ALL = "all"
    LEAN = "lean"
    NONE = "none"


class Wording(StrEnum):
    """What an arm's prompt gets beside the task."""

    BARE = "bare"
    CATALOGUE = "catalogue"
    CANONICAL = "canonical"
    ROUTED = "routed"
    INJECTION = "injection"


class Arm(Record, frozen=True):
    """One condition compared. `library` names a source, `shadow` a placebo's arm."""

    name: str
    home: Home
    prompt: Wording
    library: str | None = None
    shadow: str | None = None


class Delivery(Record, frozen=True):
    """What an arm gives one step: files under the agent's config home, a prompt."""

    files: dict[str, bytes]
    prompt: str
    offered: tuple[str, ...]
    injected: tuple[str, ...]
    n_injected_bytes: int


class Candidate(Record, frozen=True):
    """A skill that routing ranked for a step, sealed at plan time.

    `phrases` stand in the step's text; `words` are the stems that weigh most.
    """

    skill: str
    score: float
    phrases: tuple[str, ...] = ()
    direct: bool = False
    words: tuple[str, ...] = ()


# --- plan and registration --------------------------------------------------


class Limits(Record, frozen=True):
    """What one call may take, and (None: no cap) one trial by the gateway's count.

    `retry_wait_ms` passes before a trial that met a fault of the provider's is tried
    again, four times as long before each further try.
    """

    call_timeout_ms: Positive = 600_000
    max_requests: Positive | None = None
    max_tokens: Positive | None = None
    max_usd: Dollars | None = None
    retry_wait_ms: Positive = 15_000


class Budget(Record, frozen=True):
    """What a whole run may take (None: no cap); a run stops at a block boundary."""

    max_calls: Positive = 400
    deadline_ms: Positive = 25_200_000
    max_tokens: Positive | None = None
    max_usd: Dollars | None = None


class Access(StrEnum):
    """How an agent reaches its model.

    `gateway` holds the credential and counts each request. `direct` hands the
    credential to the agent, whose tools can read it, and believes the agent's own
    account of what it used.
    """

    GATEWAY = "gateway"
    DIRECT = "direct"


class Dialect(StrEnum):
    """Whose protocol is spoken to a model."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class Output(StrEnum):
    """What a program writes to stdout, by which its usage is read."""

    CLAUDE = "claude-stream-json"
    CODEX = "codex-jsonl"
    NONE = "none"


class Program(Record, frozen=True):
    """A command line to run as an agent, and what it writes.

    In its words `{prompt}`, `{model}`, `{workspace}`, `{home}` and `{url}` are
    filled in; `binds` are paths of this machine that it needs to see; `dialect` is
    the protocol it speaks to a model, None where it calls none.
    """

    argv: tuple[str, ...]
    output: Output = Output.NONE
    binds: tuple[str, ...] = ()
    dialect: Dialect | None = None
    config_home: str = ".config"


class Layout(StrEnum):
    """How many trials a case gets in each arm, and what they are for.

    `blocks`: as the plan or the corpus' preset says. `pass3`: three, for rates of
    passing again and again. `gate`: two or three, only to see whether a case can tell
    injected knowledge apart before many trials are paid for.
    """

    BLOCKS = "blocks"
    PASS3 = "pass3"
    GATE = "gate"


class GateRule(Record, frozen=True):
    """When a gate run shows a signal: how many trials of a case may and must pass.

    `most_baseline` of the baseline's trials at most, and `least_injected` of the
    injecting arm's at least.
    """

    most_baseline: Annotated[int, msgspec.Meta(ge=0)]
    least_injected: Positive


class Plan(Record, frozen=True):
    """Every input of an experiment, and the only place with defaults.

    `gate_run` names the gate run that a main run rests on, `replay_run` the run whose
    recording answers in its model's place. `confirmatory` holds the comparisons that
    count, as `arm against comparator`; None leaves it to the plan: every arm against
    the first comparator. `max_requests_at_once` model requests of all trials together
    are under way at most; None is any number.
    """

    corpus: str
    arms: tuple[str, ...] = ()
    repeats: int | None = None
    design: Layout = Layout.BLOCKS
    gate_rule: GateRule | None = None
    gate_run: str | None = None
    replay_run: str | None = None
    agent: str = "scripted"
    model: str = "claude-opus-5-5"
    effort: str | None = None
    executable: str | None = None
    program: Program | None = None
    access: Access = Access.GATEWAY
    provider_url: str | None = None
    allow_real_provider: bool = False
    allow_credentialed_tools: bool = False
    record: bool = False
    max_requests_at_once: Positive | None = None
    library: str | None = None
    isolation: str = "bwrap"
    allow_unsandboxed: bool = False
    limits: Limits = Limits()
    budget: Budget = Budget()
    comparators: tuple[str, ...] = ("baseline", "full", "placebo")
    confirmatory: tuple[str, ...] | None = None
    outcome: str = "score"
    margin: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.1
    confidence: Annotated[float, msgspec.Meta(ge=0.5, lt=1)] = 0.95
    accounting: str = "opus-list-15-1.5-75"
    seed: int = 1
    n_candidates: Positive = 5
    workspace_words: bool = True
    min_rank_score: float = 0.6


class TrialKey(Record, frozen=True):
    """case x arm x repeat; its text is path-safe."""

    case: str
    arm: str
    repeat: int

    def __str__(self) -> str:
        return f"{self.case}.{self.arm}.r{self.repeat}"


class CaseSeal(Record, frozen=True):
    """What is registered of a case; the analysis needs no corpus beside it."""

    id: str
    title: str
    kind: Kind
    hypothesis: str
    steps: tuple[str, ...]
    skills: dict[str, tuple[str, ...]]
    complaints: dict[str, dict[str, Complaint]]
    digests: Digests
    proof: str


class ArmSeal(Record, frozen=True):
    """What is registered of an arm: its definition and its library's tree.

    `triggers_digest` is sha256 of the phrases that a routed arm was ranked by.
    """

    arm: Arm
    library_source: str | None
    library_digest: str | None
    skills: tuple[str, ...]
    skill_digests: dict[str, str]
    triggers_digest: str | None = None


class AgentSeal(Record, frozen=True):
    """What is registered of the agent."""

    name: str
    version: str
    sha256: str
    executable: str
    simulated: bool
    policy: str | None = None
    provider: str | None = None
    access: Access | None = None


class Network(StrEnum):
    """What an agent can reach beside its own loopback.

    `model-only` is no network but the socket of the gateway.
    """

    NONE = "none"
    MODEL_ONLY = "model-only"
    OPEN = "open"


class Isolation(Record, frozen=True):
    """The level of isolation, and what the probe that found it said."""

    level: str
    detail: str


class GateSeal(Record, frozen=True):
    """What is registered of the gate run that a main run rests on, and its verdict."""

    run: str
    registration: str
    journal_head: str
    agent: str
    model: str
    simulated: bool
    baseline: str
    injected: str
    verdict: str


class ReplaySeal(Record, frozen=True):
    """What is registered of the recorded run that a replay plays again.

    `attempts` holds, by trial, the numbers of those that ended, in the order in which
    they are played; others are not. `simulated` is the recorded run's own stamp,
    `varies_digest` sha256 of what requests may differ in.
    """

    run: str
    registration: str
    journal_head: str
    simulated: bool
    varies_digest: str
    attempts: dict[str, tuple[int, ...]]


class Registration(Record, frozen=True):
    """A sealed plan: what will run, in which order, on exactly which inputs."""

    created_at: str
    plan: Plan
    corpus_digest: str
    cases: tuple[CaseSeal, ...]
    arms: tuple[ArmSeal, ...]
    agent: AgentSeal
    rates_digest: str
    isolation: Isolation
    outcomes: dict[str, str]
    candidates: dict[str, dict[str, tuple[Candidate, ...]]]
    schedule: tuple[TrialKey, ...]
    imbalance: int
    n_planned_calls: int
    run_source: str
    analysis_source: str
    gate: GateSeal | None = None
    replay: ReplaySeal | None = None
    format: int = FORMAT
    digest: str = ""

    @property
    def run_id(self) -> str:
        """`<yyyymmdd>-<corpus>-<first 8 of the digest>`, path-safe.

        That of a replay is the recorded run's, and `-replay`.
        """
        if self.replay is not None:
            return f"{self.replay.run}-replay"
        day = self.created_at[:10].replace("-", "")
        return f"{day}-{self.plan.corpus}-{self.digest[:8]}"

    @property
    def stamp(self) -> str | None:
        """The word that stands on all that is made of it; None for a measurement."""
        return stamp_of(self.replay, simulated=self.agent.simulated)


def stamp_of(replay: ReplaySeal | None, *, simulated: bool) -> str | None:
    """What a run is, where it measures no model; see `Registration.stamp`."""
    if replay is not None:
        return f"{REPLAY}, {SIMULATED}" if replay.simulated else REPLAY
    return SIMULATED if simulated else None


class TrialSpec(Record, frozen=True):
    """All a worker needs, beside the sealed registration, to carry out a trial."""

    key: TrialKey
    attempt: int
    root: str
    run: str
    seed: int


# --- what happened ----------------------------------------------------------


class Ended(StrEnum):
    """How a call ended: a fact."""

    FINISHED = "finished"
    TIMED_OUT = "timed_out"
    AGENT_ERROR = "agent_error"
    AGENT_LIMIT = "agent_limit"
    REFUSED = "refused"
    PROVIDER_FAULT = "provider_fault"
    LOGIN_FAILED = "login_failed"
    MODEL_MISSING = "model_missing"
    SANDBOX_FAULT = "sandbox_fault"
    DEPARTED = "departed"
    INTERRUPTED = "interrupted"


class Outcome(StrEnum):
    """What a trial counts as: a decision, made by the registered table."""

    SCORED = "scored"
    AGENT_LIMIT = "agent_limit"
    INFRASTRUCTURE = "infrastructure"
    GRADER_DIED = "grader_died"
    NOT_RUN = "not_run"


class Call(Record, frozen=True):
    """One start of the agent."""

    purpose: str
    ended: Ended
    exit_code: int | None
    wall_s: float
    cpu_s: float | None = None
    detail: str = ""
    model: str | None = None
    agent_reported_usd: float | None = None


class Request(Record, frozen=True):
    """Usage of one model request, in tokens; `n_requests` is None for totals."""

    call: int
    model: str
    input: int
    write_5m: int
    write_1h: int
    read: int
    output: int
    source: str
    n_requests: int | None = 1
    status: str = "complete"


class Passage(StrEnum):
    """How a request passed the gateway.

    `truncated`: the answer ended before its last event. `failed`: the provider
    answered with an error. `unreachable`: it did not answer. `closed`: the call
    was over while the request was under way. `refused`: it never left us. `held`: nor
    did this one, which waited for the provider until it was given up. `departed`: it
    is none that was recorded, in a replay.
    """

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    CLIENT_GONE = "client-gone"
    CLOSED = "closed"
    REFUSED = "refused"
    DEPARTED = "departed"
    HELD = "held"


class Exchange(Record, frozen=True):
    """One model request as the gateway saw it; tokens are None where unknown.

    `n` counts within a call. `model` is what was asked for, `served` what the
    provider said it was. `refused_by` names the cap that was reached. `listed`
    holds the skills the request told the model of, `carried` the names of the
    marks found in it. `http_status` is what the agent got. It came at `started_at`,
    was held back for `held_ms`, and took `total_ms` from then on. `recorded` is sha256
    of what a recording holds of it, None where nothing was recorded. `varied` names,
    in a replay, what it was allowed to differ in from the recorded request, and did.
    """

    n: int
    path: str
    model: str
    passage: Passage
    streamed: bool
    started_at: str
    first_byte_ms: float | None
    total_ms: float
    http_status: int | None = None
    served: str | None = None
    input: int | None = None
    write_5m: int | None = None
    write_1h: int | None = None
    read: int | None = None
    output: int | None = None
    refused_by: str | None = None
    listed: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    n_request_bytes: int = 0
    n_answer_bytes: int = 0
    detail: str = ""
    recorded: str | None = None
    varied: tuple[str, ...] = ()
    held_ms: float = 0.0

    @property
    def is_priced(self) -> bool:
        """False for what no provider charges for: the counting of tokens."""
        return not self.path.endswith("/count_tokens")

    def request(self, call: int) -> Request | None:
        """Its usage as a witness; None where it has none, or none is known."""
        counts = (self.input, self.write_5m, self.write_1h, self.read, self.output)
        known = [count for count in counts if count is not None]
        if len(known) != len(counts):
            return None
        status = str(self.passage)
        return Request(call, self.model, *known, source="gateway", status=status)


class Selection(Record, frozen=True):
    """How the skill of a routed step was chosen."""

    candidates: tuple[Candidate, ...]
    picked: str | None
    how: str


class Treatment(Record, frozen=True):
    """Skills a step was offered, invoked through the Skill tool, and read.

    `listed` and `carried` are those that its requests told the model of, and whose
    injected text was in them; None where no gateway looked.
    """

    offered: tuple[str, ...]
    injected: tuple[str, ...]
    invoked: tuple[str, ...]
    read: tuple[str, ...]
    listed: tuple[str, ...] | None = None
    carried: tuple[str, ...] | None = None


class CheckResult(Record, frozen=True):
    """One graded assertion."""

    id: str
    weight: int
    passed: bool
    reason: str = ""


class Grade(Record, frozen=True):
    """The verdict of one grading; `died` names why there is none."""

    checks: tuple[CheckResult, ...]
    seed: int
    grader_digest: str
    wall_s: float
    cpu_s: float | None = None
    died: str | None = None


class StepResult(Record, frozen=True):
    """Everything concluded about one step of a trial.

    `requests` leaves out `n_unknown_requests`, of which nobody told what they used;
    None where no gateway looked.
    """

    slug: str
    not_reached: bool = False
    calls: tuple[Call, ...] = ()
    requests: tuple[Request, ...] = ()
    disagreement: str | None = None
    selection: Selection | None = None
    treatment: Treatment | None = None
    grade: Grade | None = None
    n_unknown_requests: int | None = None


class TrialResult(Record, frozen=True):
    """What `conclude` made of a trial's evidence."""

    key: TrialKey
    attempt: int
    outcome: Outcome
    reason: str
    steps: tuple[StepResult, ...]
    isolation: str
    simulated: bool
    evidence_digest: str


# --- journal ----------------------------------------------------------------


class Body(Record, frozen=True, tag_field="type"):
    """Base of what an event tells."""


class RunStarted(Body, frozen=True, tag="run-started"):
    """A process began to carry out the registration."""

    registration: str
    isolation: Isolation
    n_workers: int


class AttemptStarted(Body, frozen=True, tag="attempt-started"):
    """One try of a trial began."""

    key: TrialKey
    attempt: int


class AttemptEnded(Body, frozen=True, tag="attempt-ended"):
    """One try of a trial ended; the trial's result lives here, once."""

    result: TrialResult


class Regraded(Body, frozen=True, tag="regraded"):
    """An attempt was concluded and graded again; its first verdict stays.

    `answers` holds the sha256 of what a subject answered when it was questioned
    again, by path in the run's folder.
    """

    result: TrialResult
    how: str
    answers: dict[str, str] = {}


class Deviation(Body, frozen=True, tag="deviation"):
    """Something registered was departed from without making the run invalid."""

    what: str
    registered: str
    found: str


class RunEnded(Body, frozen=True, tag="run-ended"):
    """The process stopped: `reason` is complete, budget, deadline, drift, ..."""

    reason: str
    detail: str = ""


Bodies = RunStarted | AttemptStarted | AttemptEnded | Regraded | Deviation | RunEnded


class Event(Record, frozen=True):
    """One line of the journal; `previous` is the sha256 of the line before it."""

    n: int
    at: str
    previous: str
    body: Bodies


# --- conclusions ------------------------------------------------------------


class Gate(Record, frozen=True):
    """One precondition of a claim; `verdict` is pass, fail or unknown.

    No claim stands against one that `closes`.
    """

    name: str
    verdict: str
    evidence: str
    sentence: str
    closes: bool = False


class Contrast(Record, frozen=True):
    """One arm against a comparator on one measure, over these tasks.

    `confirmatory`: it was declared with the plan to be one of those that count, and
    `p_holm` is corrected for their number; all others are exploratory. Of `n_blocks`
    pairs `n_ties` came out the same. `p_least` is the least p that
    these values could reach, whichever arm each had come from.

    `estimate`, `low`, `high` are differences for `score` and `passed`, and
    ratios of geometric means for `tokens`, `usd` and `wall_s`; a refusal says
    why any of them, or `p`, is missing. The methods are named.
    """

    arm: str
    comparator: str
    measure: str
    question: str
    estimate: float | None
    low: float | None
    high: float | None
    p: float | None
    n_blocks: int
    n_cases: int
    refusal: str | None = None
    warning: str | None = None
    ratio_of_totals: float | None = None
    interval_method: str | None = None
    p_method: str | None = None
    confirmatory: bool = False
    p_holm: float | None = None
    n_ties: int | None = None
    p_least: float | None = None

    def is_blind(self, confidence: float) -> bool:
        """True where no outcome of its trials could have made its p small enough."""
        return self.p_least is not None and self.p_least > 1 - confidence

    def is_clear(self, confidence: float) -> bool:
        """True where it was declared to count, and its corrected p is small enough."""
        return self.p_holm is not None and self.p_holm <= 1 - confidence
