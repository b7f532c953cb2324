"""Where a run stands, from its journal alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from evalkit import files, usage
from evalkit.journal import read_journal
from evalkit.records import (
    AttemptEnded,
    AttemptStarted,
    Ended,
    Event,
    Exchange,
    Outcome,
    Record,
    Registration,
    Request,
    RunEnded,
    RunStarted,
    TrialResult,
)
from evalkit.registration import load_registration

JOURNAL = "journal.jsonl"
GATEWAY = "gateway.jsonl"


class Status(Record, frozen=True):
    """Where a run stands, and what it spent of its budget.

    Tokens and dollars are sums of what was reported, `n_unreported` the calls of
    which nothing was; `usd` is by the registered accounting, None where a request has
    no known price. A cap is None where there is none, `deadline_at` while nothing
    runs.
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


def status(run: Path) -> Status:
    """Where a run stands; reads only."""
    registration = load_registration(run)
    return standing_of(run, registration, read_journal(run / JOURNAL).events)


def standing_of(
    folder: Path, registration: Registration, events: Iterable[Event]
) -> Status:
    """Where a run stands after these events."""
    listed = list(events)
    results = results_of(listed)
    ended = {(str(r.key), r.attempt) for r in results}
    last = last_turn(listed)
    started = attempts_of(listed)
    state = last.reason if isinstance(last, RunEnded) else "running"
    open_attempts = [
        f"{s.key}" for s in started if (str(s.key), s.attempt) not in ended
    ]
    budget = registration.plan.budget
    lost = _requests_of_lost(folder, results)
    n_tokens, usd = _spent(registration, results, lost)
    return Status(
        run=folder.name,
        state=state if listed else "not started",
        n_planned=len(registration.schedule),
        n_done=len({str(result.key) for result in results if counts(result)}),
        n_attempts=len(started),
        n_calls=_n_calls(listed, registration),
        max_calls=budget.max_calls,
        n_tokens=n_tokens,
        max_tokens=budget.max_tokens,
        usd=usd,
        max_usd=budget.max_usd,
        n_unreported=_n_unreported(results),
        deadline_at=_deadline(listed, budget.deadline_ms)
        if state == "running"
        else None,
        outcomes=dict(Counter(result.outcome.value for result in results)),
        current=tuple(open_attempts) if state == "running" else (),
        simulated=registration.agent.simulated,
    )


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


def _n_calls(events: list[Event], registration: Registration) -> int:
    """Calls made so far; an attempt that left no result counts all its steps."""
    n_steps = {case.id: len(case.steps) for case in registration.cases}
    results = {(str(r.key), r.attempt): r for r in results_of(events)}
    lost = [s for s in attempts_of(events) if (str(s.key), s.attempt) not in results]
    return sum(n_steps[started.key.case] for started in lost) + sum(
        len(step.calls) for result in results.values() for step in result.steps
    )


class _Line(msgspec.Struct):
    """What the gateway noted; of its requests alone more is asked here."""

    event: str
    trial: str | None = None
    exchange: Exchange | None = None


_decode_line = msgspec.json.Decoder(_Line).decode


def _requests_of_lost(folder: Path, results: list[TrialResult]) -> list[Request]:
    """Requests of attempts without a result, as the gateway noted them."""
    path = folder / GATEWAY
    if not path.is_file():
        return []
    told = {f"trials/{result.key}/{result.attempt}" for result in results}
    found: list[Request] = []
    for row in path.read_bytes().split(b"\n"):
        with suppress(msgspec.DecodeError):  # a killed gateway's last line
            line = _decode_line(row)
            if line.exchange and line.trial not in told:
                request = line.exchange.request(0)
                found += [request] if request else []
    return found


def _spent(
    registration: Registration, results: list[TrialResult], lost: list[Request]
) -> tuple[int, float | None]:
    """Tokens and dollars of all attempts; dollars are None where a price is unknown."""
    rates = usage.parse_rates(files.package_data("prices.toml"))
    requests = lost + [
        request for r in results for step in r.steps for request in step.requests
    ]
    n_tokens = sum(map(usage.total_tokens, requests))
    return n_tokens, usage.dollars(requests, rates, registration.plan.accounting)


def _n_unreported(results: list[TrialResult]) -> int:
    """Calls whose usage, or some of it, nobody reported."""
    steps = [step for result in results for step in result.steps]
    silent = sum(
        all(request.call != n for request in step.requests)
        for step in steps
        for n in range(len(step.calls))
    )
    return silent + sum(bool(step.n_unknown_requests) for step in steps)


def _deadline(events: list[Event], deadline_ms: int) -> str | None:
    starts = [event.at for event in events if isinstance(event.body, RunStarted)]
    if not starts:
        return None
    ends = datetime.fromisoformat(starts[-1]) + timedelta(milliseconds=deadline_ms)
    return ends.isoformat(timespec="seconds")
