"""From the journal to facts: what became of every planned trial.

Every planned trial is there, whether it ran or not. The result of a trial is
that of its last attempt which is not infrastructure, and always the one it was
first given: what a regrade made of the same evidence is kept beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from evalkit import schedule, scoring
from evalkit.errors import InputError
from evalkit.records import (
    AttemptEnded,
    AttemptStarted,
    Call,
    Event,
    Grade,
    Outcome,
    Record,
    Registration,
    Regraded,
    Request,
    StepResult,
    TrialKey,
    TrialResult,
)
from evalkit.usage import total_tokens

INTERRUPTED = "interrupted"
"""Status of a trial whose attempts all ended without a result."""
VOID = "isolation differs"
"""Status of a trial that ran at another level of isolation than registered."""
COUNTING = frozenset({Outcome.SCORED, Outcome.AGENT_LIMIT, Outcome.GRADER_DIED})


class Attempt(Record, frozen=True):
    """One try of a trial; `result` is None where it left none.

    `counts`: it is the attempt that enters its trial's result.
    """

    key: TrialKey
    attempt: int
    result: TrialResult | None
    counts: bool


class Trial(Record, frozen=True):
    """One planned trial and what became of it.

    `status` is its outcome, or why there is none. `counts`: it has a result;
    `analysed`: so have all trials of its block. `steps` holds the slugs of its
    case. `again` is what its last regrade came to, by how (`regraded`).
    """

    key: TrialKey
    place: int
    steps: tuple[str, ...]
    status: str
    counts: bool
    analysed: bool
    n_started: int
    n_ended: int
    result: TrialResult | None
    again: TrialResult | None = None
    regraded: str | None = None

    @property
    def score(self) -> float | None:
        """Mean score over the steps of its case; None where it does not count."""
        if self.result is None or not self.counts:
            return None
        return score_of(self.result, self.steps)

    @property
    def passed(self) -> bool | None:
        """True where every check of every step passed."""
        if self.result is None or not self.counts:
            return None
        return scoring.passed(_grades(self.result, self.steps))

    @property
    def calls(self) -> tuple[Call, ...]:
        """Calls of the attempt that counts."""
        return calls_of(self.result)

    @property
    def requests(self) -> tuple[Request, ...] | None:
        """Requests of the attempt that counts; None where a call reports none."""
        return requests_of(self.result)

    @property
    def tokens(self) -> int | None:
        """Tokens of all five classes together."""
        requests = self.requests
        return None if requests is None else sum(map(total_tokens, requests))

    @property
    def is_understated(self) -> bool:
        """True where nobody told what some of its requests used."""
        return is_understated(self.result)

    @property
    def wall_s(self) -> float | None:
        """Seconds its calls took; None where there was no call."""
        return sum(call.wall_s for call in self.calls) if self.calls else None


class Facts(Record, frozen=True):
    """Every planned trial in the order planned, every attempt in that begun."""

    trials: tuple[Trial, ...]
    attempts: tuple[Attempt, ...]


def gather(registration: Registration, events: Sequence[Event]) -> Facts:
    """What became of every planned trial.

    Args:
        registration: What was planned.
        events: Of the run's journal, in order.

    Raises:
        InputError: The journal holds a trial that was not planned.
    """
    bodies = [event.body for event in events]
    started = [body for body in bodies if isinstance(body, AttemptStarted)]
    first = {_try(b.result): b.result for b in bodies if isinstance(b, AttemptEnded)}
    again = {_try(b.result): b for b in bodies if isinstance(b, Regraded)}
    begun = [(b.key, b.attempt) for b in started]
    _check_planned(registration, {*first, *again, *begun})
    tries = dict.fromkeys([*begun, *first])
    trials: list[Trial] = []
    for place, key in enumerate(registration.schedule):
        own = [tried for tried in tries if tried[0] == key]
        tried = _that_counts(own, first)
        regrade = again.get(tried) if tried else None
        trials.append(
            _trial(
                registration,
                place,
                n_started=len(own),
                n_ended=sum(other in first for other in own),
                result=first[tried] if tried else None,
                again=regrade.result if regrade else None,
                regraded=regrade.how if regrade else None,
            )
        )
    counted = {_try(t.result) for t in trials if t.result and t.counts}
    attempts = tuple(Attempt(*t, first.get(t), t in counted) for t in tries)
    return Facts(_with_blocks(trials, registration), attempts)


def score_of(result: TrialResult, steps: Sequence[str]) -> float:
    """Score of a result, over the registered steps of its case."""
    return scoring.trial_score(_grades(result, steps))


def calls_of(result: TrialResult | None) -> tuple[Call, ...]:
    """Calls of an attempt, over its steps."""
    return tuple(call for step in steps_of(result) for call in step.calls)


def requests_of(result: TrialResult | None) -> tuple[Request, ...] | None:
    """Requests of an attempt; None where a call reports none, or none was made."""
    called = [requests_of_step(step) for step in steps_of(result) if step.calls]
    known = [requests for requests in called if requests is not None]
    if not known or len(known) < len(called):
        return None
    return tuple(itertools.chain.from_iterable(known))


def requests_of_step(step: StepResult) -> tuple[Request, ...] | None:
    """Requests of a step; None where a call of it reports none, or none was made."""
    return None if not step.calls or _silent(step) else step.requests


def is_understated(result: TrialResult | None) -> bool:
    """True where nobody told what some requests of an attempt used."""
    return any(step.n_unknown_requests for step in steps_of(result))


def is_watched(step: StepResult) -> bool:
    """True where a gateway saw the requests of a step, so that there were no others."""
    return step.n_unknown_requests is not None


def _try(result: TrialResult) -> tuple[TrialKey, int]:
    return result.key, result.attempt


def steps_of(result: TrialResult | None) -> tuple[StepResult, ...]:
    """Steps of a result, if there is one."""
    return result.steps if result else ()


def step_of(result: TrialResult | None, slug: str) -> StepResult:
    """A step of a result; one that was not reached where the result tells of none."""
    found = (step for step in steps_of(result) if step.slug == slug)
    return next(found, StepResult(slug, not_reached=True))


def _silent(step: StepResult) -> bool:
    # Where nobody looked, a call without a request may have been served uncounted.
    if is_watched(step):
        return False
    spoken = {request.call for request in step.requests}
    return len(spoken) < len(step.calls)


def _grades(result: TrialResult, steps: Sequence[str]) -> list[Grade | None]:
    # By registered slug: a step that is missing must not shrink the denominator.
    found = {step.slug: step.grade for step in result.steps}
    return [found.get(slug) for slug in steps]


def _that_counts(
    own: Sequence[tuple[TrialKey, int]],
    results: Mapping[tuple[TrialKey, int], TrialResult],
) -> tuple[TrialKey, int] | None:
    """The last attempt that is not infrastructure, else the last that ended."""
    ended = sorted((t for t in own if t in results), key=lambda t: t[1])
    good = [t for t in ended if results[t].outcome is not Outcome.INFRASTRUCTURE]
    return (good or ended or [None])[-1]


def _trial(
    registration: Registration,
    place: int,
    *,
    n_started: int,
    n_ended: int,
    result: TrialResult | None,
    again: TrialResult | None,
    regraded: str | None,
) -> Trial:
    key = registration.schedule[place]
    status = _status(result, n_started, registration.isolation.level)
    return Trial(
        key=key,
        place=place,
        steps=next(c.steps for c in registration.cases if c.id == key.case),
        status=status,
        counts=status in COUNTING,
        analysed=False,
        n_started=n_started,
        n_ended=n_ended,
        result=result,
        again=again,
        regraded=regraded,
    )


def _status(result: TrialResult | None, n_started: int, level: str) -> str:
    if result is None:
        return INTERRUPTED if n_started else Outcome.NOT_RUN.value
    return VOID if result.isolation != level else result.outcome.value


def _check_planned(
    registration: Registration, tries: Iterable[tuple[TrialKey, int]]
) -> None:
    planned = set(registration.schedule)
    for key, _ in tries:
        if key not in planned:
            raise InputError(
                "journal",
                expected=f"trials of registration {registration.digest[:12]} only",
                found=str(key),
                cure="give the journal that belongs to this registration",
            )


def _with_blocks(
    trials: Sequence[Trial], registration: Registration
) -> tuple[Trial, ...]:
    """Trials are analysed where every trial of their block has a result."""
    counting = {trial.key for trial in trials if trial.counts}
    whole = {
        key
        for block in schedule.blocks_of(registration.schedule)
        if counting.issuperset(block)
        for key in block
    }
    return tuple(
        msgspec.structs.replace(trial, analysed=trial.key in whole) for trial in trials
    )
