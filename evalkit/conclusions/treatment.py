"""What reached the agent: routing, and skills offered and used."""

from __future__ import annotations

from enum import StrEnum

from evalkit.conclusions.scores import Proportion
from evalkit.records import Candidate, Record


class Received(StrEnum):
    """What reached a trial of an arm's context, from the weakest to the strongest."""

    NOTHING = "nothing"
    OFFERED = "offered only"
    PICKED = "text in the prompt"
    INVOKED = "skill invoked"
    READ = "skill file read"


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


class Routing(Record, frozen=True):
    """How well an arm's routing chose, against the canonical skills.

    Repeats of one query are one observation where they all choose alike: `unit`
    says whether choices are counted by queries or by steps of trials. `any_hit` is
    over those that need a skill. The ceilings count those where the candidates let a
    choice of one skill be right at all. `cells` count steps, whatever the unit.
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
    choices: Choices
    recalled: Recalled
    overlap: Overlap
    skills: tuple[SkillRow, ...]
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


class ReceivedRow(Record, frozen=True):
    """Trials of one arm by the strongest treatment that reached them. Not randomised.

    In `n_looked` of them a gateway saw what the model was told; in the others what
    was delivered is taken to have reached it. `uses_seen` is False where the agent
    leaves no record of skills it invoked or read. `score` is the mean over trials.
    """

    arm: str
    received: Received
    n: int
    n_looked: int
    uses_seen: bool
    score: float | None
    passed: Proportion


class SharedSkills(Record, frozen=True):
    """Two arms with whole libraries from different sources, skill by skill.

    `same` to the byte, `changed` under one name, or only in one of them.
    """

    arm: str
    other: str
    source: str | None
    other_source: str | None
    same: tuple[str, ...]
    changed: tuple[str, ...]
    only_arm: tuple[str, ...]
    only_other: tuple[str, ...]
    sentence: str
