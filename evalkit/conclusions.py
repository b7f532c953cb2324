"""The records of an analysis: every number that a table, figure or gate shows.

`analysis.analyse` makes one `Analysis`, `gates.judge` adds verdicts; whatever
shows results only reads it. Unknown is `None`; a refusal is a sentence.
"""

from __future__ import annotations

from evalkit.records import Access, Candidate, Complaint, Contrast, Gate, Kind, Record

FORMAT = 1
NONE = "none"
"""How the routing table calls no skill."""
ONE_ARM = "There is one arm, so no effect can be read."


class Proportion(Record, frozen=True):
    """`k` of `n`, with its Wilson interval; no interval where `n` is 0."""

    k: int
    n: int
    low: float | None
    high: float | None


class Seals(Record, frozen=True):
    """What the numbers rest on: sha256 digests, versions and levels.

    `analysis_source` and `rates` are as registered; `..._found` are those that made
    this analysis. `environment` holds version by package. `provider` is where the
    model answers and `access` the way there; None for an agent that calls no model.
    """

    registration: str
    created_at: str
    corpus: str
    corpus_digest: str
    run_source: str
    analysis_source: str
    analysis_source_found: str
    rates: str
    rates_found: str
    journal_head: str
    n_events: int
    agent: str
    agent_version: str
    executable_sha256: str
    provider: str | None
    access: Access | None
    model: str
    accounting: str
    seed: int
    isolation: str
    isolation_detail: str
    isolation_found: tuple[str, ...]
    grader_digests: dict[str, str]
    environment: dict[str, str]


class Integrity(Record, frozen=True):
    """Facts about the record itself.

    `recomputes`: the registration has the digest it states. `same_registration`:
    every start of the run names that digest. `torn`: the last line is half
    written. A journal whose chain breaks is refused when read.
    """

    recomputes: bool
    same_registration: bool
    n_starts: int
    torn: bool
    ended: str | None


class Exclusion(Record, frozen=True):
    """Trials that did not get from one stage of the flow to the next."""

    after: str
    reason: str
    n: int


class Flow(Record, frozen=True):
    """Trials of one arm: each stage is the one before it less its exclusions.

    `started`: an attempt began; `completed`: an attempt ended; `scored`: it
    counts as a result; `analysed`: its whole block does. Of the analysed,
    `agent_limit` met a limit of the agent and `grader_died` scored zero so.
    """

    arm: str
    planned: int
    started: int
    completed: int
    scored: int
    analysed: int
    exclusions: tuple[Exclusion, ...]
    agent_limit: int
    grader_died: int


class AttemptRow(Record, frozen=True):
    """Attempts of the run that ended alike: what they count as, and the fact behind it.

    `ended` is that of the call which decided, or why there is none. `n_again`:
    another attempt at the trial followed. `details` are some of the words for it.
    """

    outcome: str
    ended: str
    n: int
    n_again: int
    details: tuple[str, ...]


class LostBlock(Record, frozen=True):
    """A block left out of every comparison: what became of its arms without result."""

    case: str
    repeat: int
    missing: dict[str, str]


class Tokens(Record, frozen=True):
    """Tokens by class, per trial; `fresh` is input and writes, `total` all five."""

    input: float
    write_5m: float
    write_1h: float
    read: float
    output: float
    fresh: float
    total: float


class Overhead(Record, frozen=True):
    """Totals of an arm over those of `baseline`: 1 is no overhead."""

    tokens: float | None
    usd: float | None
    usd_list: float | None
    wall_s: float | None


class ArmSummary(Record, frozen=True):
    """One arm over its analysed trials; means are over cases, equally weighted.

    Tokens, dollars and time are means per trial, and None where any analysed
    trial does not report them. `usd` is at the registered accounting. In
    `n_understated` trials nobody told what some requests used, so that tokens and
    dollars are lower bounds.
    """

    arm: str
    home: str
    prompt: str
    library: str | None
    n_trials: int
    score: float | None
    passed: Proportion
    n_at_ceiling: int
    tokens: Tokens | None
    usd: float | None
    usd_list: float | None
    wall_s: float | None
    n_calls: float | None
    overhead: Overhead | None
    n_understated: int = 0


class Point(Record, frozen=True):
    """One analysed trial."""

    repeat: int
    score: float
    passed: bool
    outcome: str
    tokens: int | None
    usd: float | None
    wall_s: float | None


class CaseArm(Record, frozen=True):
    """One case in one arm, with the trials behind it in order of repeat."""

    case: str
    arm: str
    score: float | None
    passed: Proportion
    points: tuple[Point, ...]


class StepPoint(Record, frozen=True):
    """One step of one analysed trial; the rest is None where it was not reached.

    `ended` tells how its last call did; `picked` is the skill that routing gave it,
    `none` if it gave none, and None where the arm is not routed.
    """

    repeat: int
    score: float | None = None
    ended: str | None = None
    usd: float | None = None
    tokens: int | None = None
    wall_s: float | None = None
    picked: str | None = None


class StepRow(Record, frozen=True):
    """One step of a chain in one arm, with its points in order of repeat.

    `score` is the mean over all analysed trials, in which a step that was not
    reached counts 0. The other means are over the trials that reached it, and None
    where one of those does not report.
    """

    case: str
    step: str
    n: int
    arm: str
    n_trials: int
    n_reached: int
    score: float | None
    tokens: float | None
    usd: float | None
    wall_s: float | None
    points: tuple[StepPoint, ...]


class CaseContrast(Record, frozen=True):
    """Difference of mean scores in one case; `pairs` are those of its blocks."""

    case: str
    arm: str
    comparator: str
    difference: float
    pairs: tuple[float, ...]


class CheckRow(Record, frozen=True):
    """How often one check passed in one arm: `k` of `n` analysed trials.

    `n_not_reached` and `n_grader_died` are among the `n - k` that did not.
    `weight` is None where no trial shows it.
    """

    case: str
    step: str
    check: str
    complaint: Complaint | None
    weight: int | None
    arm: str
    k: int
    n: int
    n_not_reached: int
    n_grader_died: int


class ComplaintRow(Record, frozen=True):
    """Checks of one complaint in one arm: `k` passed of `n` carried out or due."""

    complaint: Complaint
    arm: str
    k: int
    n: int


class RoutingCell(Record, frozen=True):
    """Steps whose canonical skill is `canonical` and that got `picked`."""

    canonical: str
    picked: str
    n: int


class RouteRow(Record, frozen=True):
    """One query of an arm: what was ranked, chosen, given and used.

    `candidates` are as sealed. `picked` (`none` for no skill), `how`, `invoked` and
    `read` count the query's `n_steps` steps, of which `n_asked` asked a model to
    choose; `offered` lay at home in any of them, and its requests told the model of
    `listed` (None where no gateway looked).
    """

    case: str
    step: str
    n_steps: int
    canonical: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    picked: dict[str, int]
    how: dict[str, int]
    offered: tuple[str, ...]
    invoked: dict[str, int]
    read: dict[str, int]
    n_asked: int = 0
    listed: tuple[str, ...] | None = None


class Routing(Record, frozen=True):
    """How well an arm's routing chose, against the canonical skills.

    Repeats of one query are one observation where they all choose alike: `unit`
    says whether proportions count queries or steps of trials. The ceilings count
    those where the candidates let a choice of one skill be right at all.
    """

    arm: str
    unit: str
    n_queries: int
    n_steps: int
    exact: Proportion
    exact_ceiling: Proportion
    any_hit: Proportion
    any_hit_ceiling: Proportion
    nothing_picked: Proportion
    cells: tuple[RoutingCell, ...]
    rows: tuple[RouteRow, ...]


class TreatmentRow(Record, frozen=True):
    """What reached the agent in one arm, over the steps its trials reached.

    In `n_looked` of them a gateway saw what the model was told. Steps that skills
    were laid at home for are `n_offered`, those that text was put into the prompt
    for `n_injected`; `n_listed` and `n_carried` are those of them whose requests
    told of all these skills, and held all that text (None where nobody looked).
    """

    arm: str
    n_steps: int
    n_looked: int
    n_offered: int
    n_listed: int | None
    n_injected: int
    n_carried: int | None
    n_invoked: int
    n_read: int
    skills_invoked: dict[str, int]


class Stray(Record, frozen=True):
    """A step whose requests show another treatment than was delivered.

    `not_listed`: skills at home that no request told of; `not_carried`: text put into
    the prompt that no request held; `not_offered`: skills that a request told of
    although the arm did not give them.
    """

    trial: str
    step: str
    not_listed: tuple[str, ...]
    not_carried: tuple[str, ...]
    not_offered: tuple[str, ...]


class PurposeRow(Record, frozen=True):
    """Calls of one purpose in one arm: sums over its analysed trials.

    `n_reported` of the calls report their usage; sums are None where not all do, or
    a request has no price.
    """

    arm: str
    purpose: str
    n_calls: int
    n_reported: int
    tokens: int | None
    usd: float | None
    usd_list: float | None
    wall_s: float


class Disagreement(Record, frozen=True):
    """A step on whose usage reporters differ: what each counted, by kind of token."""

    trial: str
    step: str
    what: str


class UsageReport(Record, frozen=True):
    """How complete an arm's usage is, over its analysed trials.

    `n_reported`: trials with usage for every call. `sources` counts requests by
    who reported them, `statuses` by how they passed. Of `n_unknown_requests` nobody
    told what they used (None where no gateway looked).
    """

    arm: str
    n_trials: int
    n_reported: int
    n_priced: int
    n_disagreements: int
    n_incomplete_requests: int
    n_unknown_requests: int | None
    sources: dict[str, int]
    statuses: dict[str, int]


class Spend(Record, frozen=True):
    """Sums over attempts; lower bounds where one is unreported or understated.

    `n_unreported`: no usage is known of some call; `n_understated`: of some request.

    None where no attempt reports it; dollars also where a request has no price.
    """

    n_attempts: int
    n_unreported: int
    n_calls: int
    tokens: int | None
    usd: float | None
    usd_list: float | None
    wall_s: float | None
    n_understated: int = 0


class Cost(Record, frozen=True):
    """What the run spent on all attempts, and on those that count."""

    all_attempts: Spend
    counted: Spend
    max_calls: int
    n_planned_calls: int


class DeviationRow(Record, frozen=True):
    """Something registered that was departed from; `at` None: found on analysis."""

    at: str | None
    what: str
    registered: str
    found: str


class Difference(Record, frozen=True):
    """One thing that two verdicts on an attempt say otherwise.

    `what` is a check, or `outcome`, `grader`, `requests`, ...; `step` is empty
    where it is about the whole attempt.
    """

    step: str
    what: str
    first: str
    again: str
    reason: str


class RegradeRow(Record, frozen=True):
    """An attempt concluded and graded again; its first verdict counts."""

    trial: str
    attempt: int
    score_before: float | None
    score_after: float
    how: str
    differences: tuple[Difference, ...] = ()


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


class Analysis(Record, frozen=True):
    """Every reported number of a run.

    `question` is the estimand, `sentence` says it for a reader. `gates` is empty
    and `status` `not-judged` until `gates.judge` has read the rest.
    """

    run: str
    simulated: bool
    question: str
    sentence: str
    seals: Seals
    integrity: Integrity
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
    purposes: tuple[PurposeRow, ...]
    usage: tuple[UsageReport, ...]
    disagreements: tuple[Disagreement, ...]
    cost: Cost
    deviations: tuple[DeviationRow, ...]
    regrades: tuple[RegradeRow, ...]
    limits: tuple[str, ...]
    gates: tuple[Gate, ...] = ()
    status: str = "not-judged"
    status_sentence: str = ""
    format: int = FORMAT

    @property
    def stand_in(self) -> str | None:
        """What stood in for the agent or for its model; None in a real run."""
        if not self.simulated:
            return None
        if self.seals.provider is None:
            return "a scripted program stood in for the agent"
        return "a program on this machine stood in for the model"
