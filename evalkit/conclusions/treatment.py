"""What reached the agent: routing, and skills offered and used."""

from __future__ import annotations

from evalkit.conclusions.scores import Proportion
from evalkit.records import Candidate, Record


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
