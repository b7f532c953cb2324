"""What the numbers rest on, and what was departed from."""

from __future__ import annotations

from evalkit.records import Access, Record


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


class GraderRow(Record, frozen=True):
    """The grader of one case: what was proven, and what judged.

    `bound`: the sealed name of its proof is that of a proof for the sealed digests of
    case, fixture, grader and reference. Of `n_grades` of analysed trials `n_other`
    were given by a grader of another digest.
    """

    case: str
    digest: str
    proof: str
    bound: bool
    n_grades: int
    n_other: int


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
