"""What was spent: tokens, dollars, time, and who says so."""

from __future__ import annotations

from evalkit.records import Record


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
