"""How routing chose, in trials and for probes."""

from __future__ import annotations

from evalkit.conclusions.scores import Proportion
from evalkit.records import Candidate, Record


class Choices(Record, frozen=True):
    """What choices came to; each is one of these.

    `exact`: just the canonical skills, or rightly none. `partly`: one of several that
    were needed. `wrong`: another than was needed. `missed`: none though one was
    needed. `needless`: one though none was needed.
    """

    exact: int
    partly: int
    wrong: int
    missed: int
    needless: int


class Recalled(Record, frozen=True):
    """How many canonical skills of the queries stand among their candidates.

    `n_held` of `n` (recall), of which no list of `n_candidates` could hold more than
    `ceiling`: not those that the arm's library lacks, nor more than its length.
    """

    n_held: int
    n: int
    ceiling: int
    n_candidates: int


class Overlap(Record, frozen=True):
    """Skills picked against canonical skills, over all choices together.

    Of `n_picked` picks and `n_needed` canonical skills, `n_right` are both. Precision
    and recall are None where they would be shares of nothing. `jaccard` is the mean
    over choices of what both sets share, 1 where both are empty; `macro_f1` the mean
    over skills that are needed somewhere.
    """

    n_right: int
    n_picked: int
    n_needed: int
    precision: float | None
    recall: float | None
    f1: float | None
    jaccard: float
    macro_f1: float | None


class SkillRow(Record, frozen=True):
    """One skill: needed by `support` choices, picked by `picked`, both in `hits`.

    `f1` is None where no choice needs it: it is in no mean.
    """

    skill: str
    support: int
    picked: int
    hits: int
    f1: float | None


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


class Accuracy(Record, frozen=True):
    """How well choices of a skill came out, against the skills called for.

    `unit` says what is counted, of `n_queries` different queries. `any_hit` is over
    those that need a skill. The ceilings count those where the candidates let a
    choice of one skill be right at all. `cells` count every choice, whatever the unit.
    """

    unit: str
    n_queries: int
    exact: Proportion
    exact_ceiling: Proportion
    any_hit: Proportion
    any_hit_ceiling: Proportion
    nothing_picked: Proportion
    choices: Choices
    recalled: Recalled
    overlap: Overlap
    skills: tuple[SkillRow, ...]
    cells: tuple[RoutingCell, ...]


class Routing(Accuracy, frozen=True):
    """How well an arm's routing chose in its trials.

    Repeats of one query are one observation where they all choose alike: then the
    unit is queries, else steps of trials, of which there were `n_steps`.
    """

    arm: str
    n_steps: int
    rows: tuple[RouteRow, ...]


class ProbeScore(Record, frozen=True):
    """How the probes of a category were answered, with Wilson intervals.

    `held` is the ceiling: of the probes that need a skill, those with an accepted
    one among their candidates; `first` have it in the first place. `right` counts
    all probes, `precise` those for which a skill was picked, and `spared` those
    that need none: they got none, and no model would have to say so.
    `n_failed` answers could not be read.
    """

    category: str
    n: int
    right: Proportion
    first: Proportion
    held: Proportion
    precise: Proportion
    spared: Proportion
    n_failed: int


class Probed(Accuracy, frozen=True):
    """How probes of the library that a run routes from were answered, apart from trials.

    They stand in `file`, below the folder of runs, with this sha256. `asked` says
    that the run's agent and model chose where nothing was admitted, in `n_calls`
    calls; else the ranking alone answered. `same_source`: by the very code that the
    run was registered with. The last of `categories` is that of all probes.
    """

    file: str
    sha256: str
    at: str
    library: str
    library_digest: str
    asked: bool
    simulated: bool
    same_source: bool
    n_calls: int
    categories: tuple[ProbeScore, ...]


class Unlike(Record, frozen=True):
    """Answers to probes that are not of this run, and why."""

    file: str
    why: str
