"""From the journal to facts: what became of every planned trial.

Every planned trial is there, whether it ran or not. The result of a trial is
that of its last attempt which is not infrastructure, and always the one it was
first given: what a regrade made of the same evidence is kept beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from evalkit import scoring
from evalkit.errors import InputError
from evalkit.records import (
    AttemptEnded,
    AttemptStarted,
    Bodies,
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
_Tries = dict[int, TrialResult | None]
_attempt = attrgetter("attempt")
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
    def grades(self) -> list[Grade | None] | None:
        """Of the steps of its case; None where it does not count."""
        if self.result is None or not self.counts:
            return None
        return _grades(self.result, self.steps)

    @property
    def score(self) -> float | None:
        """Mean score over the steps of its case; None where it does not count."""
        grades = self.grades
        return None if grades is None else scoring.trial_score(grades)

    @property
    def passed(self) -> bool | None:
        """True where every check of every step passed."""
        grades = self.grades
        return None if grades is None else scoring.passed(grades)

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
        calls = self.calls
        return sum([call.wall_s for call in calls]) if calls else None


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
    places = _Places(registration)
    tries, order = _tries(places, bodies)
    regraded = [body for body in bodies if isinstance(body, Regraded)]
    again = {(places[b.result.key], b.result.attempt): b for b in regraded}
    results = [_that_counts(own) for own in tries]
    statuses = [
        _status(result, len(own), registration.isolation.level)
        for result, own in zip(results, tries, strict=True)
    ]
    lost = {
        (key.case, key.repeat)
        for key, status in zip(registration.schedule, statuses, strict=True)
        if status not in COUNTING
    }
    steps = {case.id: case.steps for case in registration.cases}
    trials: list[Trial] = []
    for place, key in enumerate(registration.schedule):
        result, own = results[place], tries[place]
        regrade = again.get((place, result.attempt)) if result else None
        trials.append(
            Trial(
                key=key,
                place=place,
                steps=steps[key.case],
                status=statuses[place],
                counts=statuses[place] in COUNTING,
                analysed=(key.case, key.repeat) not in lost,
                n_started=len(own),
                n_ended=len([True for ended in own.values() if ended]),
                result=result,
                again=regrade.result if regrade else None,
                regraded=regrade.how if regrade else None,
            )
        )
    attempts = [
        Attempt(
            registration.schedule[place],
            attempt,
            result,
            trials[place].counts and result is results[place],
        )
        for place, attempt in order
        for result in (tries[place][attempt],)
    ]
    return Facts(tuple(trials), tuple(attempts))


def is_simulated(registration: Registration, found: Facts) -> bool:
    """True where a stand-in for an agent or a model took part."""
    results = [attempt.result for attempt in found.attempts if attempt.result]
    return registration.agent.simulated or any(r.simulated for r in results)


def score_of(result: TrialResult, steps: Sequence[str]) -> float:
    """Score of a result, over the registered steps of its case."""
    return scoring.trial_score(_grades(result, steps))


def calls_of(result: TrialResult | None) -> tuple[Call, ...]:
    """Calls of an attempt, over its steps."""
    return tuple([call for step in steps_of(result) for call in step.calls])


def requests_of(result: TrialResult | None) -> tuple[Request, ...] | None:
    """Requests of an attempt; None where a call reports none, or none was made."""
    called = [step for step in steps_of(result) if step.calls]
    if not called or any(map(_silent, called)):
        return None
    return tuple([request for step in called for request in step.requests])


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
    return not is_watched(step) and len(step.calls) > len(
        {request.call for request in step.requests}
    )


def _grades(result: TrialResult, steps: Sequence[str]) -> list[Grade | None]:
    # By registered slug: a step that is missing must not shrink the denominator.
    found = {step.slug: step.grade for step in result.steps}
    return list(map(found.get, steps))


class _Places(dict[TrialKey, int]):
    """Places in the registered order; a trial that was not planned is refused."""

    def __init__(self, registration: Registration) -> None:
        super().__init__((key, n) for n, key in enumerate(registration.schedule))
        self._digest = registration.digest

    def __missing__(self, key: TrialKey) -> int:
        raise InputError(
            "journal",
            expected=f"trials of registration {self._digest[:12]} only",
            found=str(key),
            cure="give the journal that belongs to this registration",
        )


def _tries(
    places: _Places, bodies: Sequence[Bodies]
) -> tuple[list[_Tries], list[tuple[int, int]]]:
    """Attempts at the trial of each place; and all, in the order they were begun."""
    tries: list[_Tries] = [{} for _ in places]
    order: list[tuple[int, int]] = []

    def note(key: TrialKey, attempt: int, result: TrialResult | None) -> None:
        place = places[key]
        if attempt not in tries[place]:
            order.append((place, attempt))
        tries[place][attempt] = result

    for body in bodies:
        if isinstance(body, AttemptStarted):
            note(body.key, body.attempt, None)
    for body in bodies:
        if isinstance(body, AttemptEnded):
            note(*_try(body.result), body.result)
    return tries, order


def _that_counts(tries: _Tries) -> TrialResult | None:
    """The last attempt that is not infrastructure, else the last that ended."""
    ended = [result for result in tries.values() if result]
    good = [one for one in ended if one.outcome is not Outcome.INFRASTRUCTURE]
    return max(good or ended, key=_attempt, default=None)


def _status(result: TrialResult | None, n_started: int, level: str) -> str:
    if result is None:
        return INTERRUPTED if n_started else Outcome.NOT_RUN.value
    return VOID if result.isolation != level else result.outcome.value
