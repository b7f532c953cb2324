"""Where a run stands, from its journal alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from evalkit import prices, usage
from evalkit.journal import read_journal
from evalkit.outcomes import MAX_ATTEMPTS
from evalkit.records import (
    AttemptEnded,
    AttemptStarted,
    Ended,
    Event,
    Outcome,
    Record,
    Registration,
    RunEnded,
    RunStarted,
    StepResult,
    TrialKey,
    TrialResult,
)
from evalkit.registration import load_registration
from evalkit.standing.spending import Spending, Untold

JOURNAL = "journal.jsonl"
GATEWAY = "gateway.jsonl"


class Replayed(Record, frozen=True):
    """Usage that came out of a recording, and was paid for when that was made.

    `of` is the recorded run; the sums as in `Status`.
    """

    of: str
    n_tokens: int
    usd: float | None


class Status(Record, frozen=True):
    """Where a run stands, and what it spent of its budget.

    Tokens and dollars are sums of what was reported, `n_unreported` the calls of
    which nothing was; `usd` is by the registered accounting, None where a request has
    no known price. A cap is None where there is none, `deadline_at` while nothing
    runs. A replay spends none: what its recorded answers took is `replayed`. `stamp` as
    in `Registration`.
    """

    run: str
    state: str
    n_planned: int
    n_done: int
    n_attempts: int
    n_calls: int
    max_calls: int
    n_tokens: int
    max_tokens: int | None
    usd: float | None
    max_usd: float | None
    n_unreported: int
    deadline_at: str | None
    outcomes: dict[str, int]
    current: tuple[str, ...]
    simulated: bool
    stamp: str | None = None
    replayed: Replayed | None = None


def status(run: Path) -> Status:
    """Where a run stands; reads only."""
    registration = load_registration(run)
    return standing_of(run, registration, read_journal(run / JOURNAL).events)


def standing_of(
    folder: Path, registration: Registration, events: Iterable[Event]
) -> Status:
    """Where a run stands after these events."""
    found = Standing(folder, registration)
    for event in events:
        found.take(event)
    return found.status()


class Standing:
    """Where a run stands, kept up as events come: each costs the same.

    Args:
        folder: The run's.
        registration: What it carries out.
    """

    def __init__(self, folder: Path, registration: Registration) -> None:
        self._folder = folder
        self._registration = registration
        rates = prices.rates()
        cost = partial(
            usage.dollars, rates=rates, accounting=registration.plan.accounting
        )
        self._spending = Spending(cost)
        self._untold = Untold(folder / GATEWAY, cost)
        self._n_steps = {case.id: len(case.steps) for case in registration.cases}
        self._state = "not started"
        self._started_at: str | None = None
        self._open: dict[str, TrialKey] = {}
        self._current: dict[TrialKey, None] = {}
        self._n_attempts = 0
        self._n_told_calls = 0
        self._n_unreported = 0
        self._outcomes: Counter[str] = Counter()
        self.settled: set[TrialKey] = set()
        self.tries: Counter[TrialKey] = Counter()
        self.n_provider_faults: Counter[TrialKey] = Counter()
        self.last_attempt: Counter[TrialKey] = Counter()

    def take(self, event: Event) -> None:
        """Go on by one event."""
        if self._state == "not started":
            self._state = "running"
        match event.body:
            case RunStarted():
                self._state, self._started_at = "running", event.at
                self._current.clear()
            case RunEnded(reason=reason):
                self._state = reason
            case AttemptStarted(key=key, attempt=attempt):
                self._begin(key, attempt)
            case AttemptEnded(result=result):
                self._end(result)
            case _:
                pass

    def status(self) -> Status:
        """Where it stands now."""
        budget, runs = self._registration.plan.budget, self._state == "running"
        n_tokens, dollars = self.spent()
        return Status(
            run=self._folder.name,
            state=self._state,
            n_planned=n_planned(self._registration),
            n_done=len(self.settled),
            n_attempts=self._n_attempts,
            n_calls=self.n_calls,
            max_calls=budget.max_calls,
            n_tokens=n_tokens,
            max_tokens=budget.max_tokens,
            usd=dollars,
            max_usd=budget.max_usd,
            n_unreported=self._n_unreported,
            deadline_at=self._deadline(budget.deadline_ms) if runs else None,
            outcomes=dict(self._outcomes),
            current=tuple(map(str, self._current)) if runs else (),
            simulated=self._registration.agent.simulated,
            stamp=self._registration.stamp,
            replayed=self._replayed(),
        )

    @property
    def n_calls(self) -> int:
        """Calls made so far; an attempt that left no result counts all its steps."""
        return self._n_told_calls + sum(
            self._n_steps[key.case] for key in self._open.values()
        )

    def spent(self) -> tuple[int, float | None]:
        """Tokens and dollars of all attempts; dollars are None without a price.

        None of either in a replay, whose answers come from a recording.
        """
        return (0, 0.0) if self._registration.replay else self._used()

    def left(self, block: Iterable[TrialKey]) -> list[TrialKey]:
        """Trials of a block that are to be tried, or tried again.

        None where a trial's attempts are used up: then the block is excluded. A replay
        tries each trial by itself as often as it was recorded.
        """
        left = [key for key in block if key not in self.settled]
        if (replay := self._registration.replay) is not None:
            n_recorded = {key: len(tries) for key, tries in replay.attempts.items()}
            return [k for k in left if self.tries[k] < n_recorded.get(str(k), 0)]
        return [] if any(self.tries[key] >= MAX_ATTEMPTS for key in left) else left

    def _used(self) -> tuple[int, float | None]:
        return self._spending.with_others(self._untold.spending())

    def _replayed(self) -> Replayed | None:
        replay = self._registration.replay
        return None if replay is None else Replayed(replay.run, *self._used())

    def _begin(self, key: TrialKey, attempt: int) -> None:
        self._n_attempts += 1
        self.last_attempt[key] = max(self.last_attempt[key], attempt)
        self._open[_name(key, attempt)] = key
        self._current[key] = None

    def _end(self, result: TrialResult) -> None:
        key, name = result.key, _name(result.key, result.attempt)
        self._open.pop(name, None)
        self._current.pop(key, None)
        self._untold.forget(name)
        self.last_attempt[key] = max(self.last_attempt[key], result.attempt)
        self.tries[key] += 1
        self.n_provider_faults[key] += met_provider_fault(result)
        self._outcomes[result.outcome.value] += 1
        if counts(result):
            self.settled.add(key)
        for step in result.steps:
            self._n_told_calls += len(step.calls)
            self._n_unreported += _n_unreported(step)
            self._spending.add(step.requests)

    def _deadline(self, deadline_ms: int) -> str | None:
        if self._started_at is None:
            return None
        began = datetime.fromisoformat(self._started_at)
        ends = began + timedelta(milliseconds=deadline_ms)
        return ends.isoformat(timespec="seconds")


def n_planned(registration: Registration) -> int:
    """Trials that a run is to carry out: all planned ones, or those it replays."""
    replay = registration.replay
    return len(replay.attempts) if replay else len(registration.schedule)


def last_turn(events: Iterable[Event]) -> RunStarted | RunEnded | None:
    """How the last process stands; what was graded again since does not change it."""
    turns = [e.body for e in events if isinstance(e.body, RunStarted | RunEnded)]
    return turns[-1] if turns else None


def results_of(events: Iterable[Event]) -> list[TrialResult]:
    """The first result of every attempt that ended, in order."""
    return [e.body.result for e in events if isinstance(e.body, AttemptEnded)]


def attempts_of(events: Iterable[Event]) -> list[AttemptStarted]:
    """Every attempt that was begun, in order."""
    return [event.body for event in events if isinstance(event.body, AttemptStarted)]


def counts(result: TrialResult) -> bool:
    """False where an attempt has to be made again."""
    return result.outcome is not Outcome.INFRASTRUCTURE


def met_provider_fault(result: TrialResult) -> bool:
    """True where a call of an attempt ended by a fault of the provider's."""
    return any(
        call.ended is Ended.PROVIDER_FAULT
        for step in result.steps
        for call in step.calls
    )


def _name(key: TrialKey, attempt: int) -> str:
    """How the gateway names an attempt."""
    return f"trials/{key}/{attempt}"


def _n_unreported(step: StepResult) -> int:
    """Calls whose usage, or some of it, nobody reported."""
    silent = sum(
        all(request.call != n for request in step.requests)
        for n in range(len(step.calls))
    )
    return silent + bool(step.n_unknown_requests)
