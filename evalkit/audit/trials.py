"""The trials that a journal tells of, held against those planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from evalkit import schedule
from evalkit.audit.attempts import lost_attempts
from evalkit.audit.finding import UNKNOWN, Finding, judged
from evalkit.audit.record import Lines
from evalkit.evidence import attempts_kept
from evalkit.records import (
    AttemptStarted,
    Deviation,
    Event,
    Registration,
    RunStarted,
    TrialKey,
)
from evalkit.standing import Standing, attempts_of, counts, n_planned, results_of


def check_trials(registration: Registration, lines: Lines, run: Path) -> Finding:
    """Was every planned trial carried out, none twice, in the registered order?"""
    wrong = [
        *_unplanned(registration, lines.events),
        *_twice(registration, lines.events),
        *_out_of_order(registration, lines.events),
        *_untold(registration, lines.events, run),
    ]
    open_trials = _without_result(registration, lines.events, run)
    if lines.ended == "complete":
        wrong += [f"{key}: planned, but no result" for key in open_trials]
    planned = n_planned(registration)
    if not wrong and lines.ended != "complete":
        return Finding(
            "trials",
            UNKNOWN,
            (
                f"unfinished: {planned - len(open_trials)} of {planned} planned "
                f"trials have a result; last: {lines.ended or 'no end'}",
            ),
            "The run is unfinished, so what is missing may yet come.",
        )
    return judged(
        "trials",
        wrong,
        well=_carried_out(registration, lines.events),
        good="Every planned trial is accounted for.",
        bad="Trials are missing, were carried out twice, or not as planned.",
    )


def _carried_out(registration: Registration, events: Sequence[Event]) -> str:
    planned, n_begun = n_planned(registration), len(attempts_of(events))
    if n_begun == planned and not lost_attempts(events):
        return f"{planned} planned trials, each carried out once, in order"
    n_settled = len({r.key for r in results_of(events) if counts(r)})
    return (
        f"{planned} planned trials in order, {n_settled} with one result that "
        f"counts; {n_begun} attempts were begun"
    )


def _unplanned(registration: Registration, events: Sequence[Event]) -> Iterator[str]:
    told = [*(s.key for s in attempts_of(events)), *(r.key for r in results_of(events))]
    for key in dict.fromkeys(told):
        if key not in registration.schedule:
            yield f"{key}: not planned"


def _twice(registration: Registration, events: Sequence[Event]) -> Iterator[str]:
    begun = Counter((s.key, s.attempt) for s in attempts_of(events))
    ended = Counter((r.key, r.attempt) for r in results_of(events))
    for verb, numbers in (("begun", begun), ("ended", ended)):
        for (key, attempt), n in numbers.items():
            if n > 1:
                yield f"{key}: attempt {attempt} {verb} {n} times"
    noted = [e.body.found for e in events if isinstance(e.body, Deviation)]
    for key, attempt in ended:
        told = f"{key}, attempt {attempt}"
        if (key, attempt) not in begun and not any(told in text for text in noted):
            yield f"{key}: attempt {attempt} ended without having begun"
    settled = Counter(r.key for r in results_of(events) if counts(r))
    for key in registration.schedule:
        if settled[key] > 1:
            yield f"{key}: {settled[key]} results that count"


def _out_of_order(registration: Registration, events: Sequence[Event]) -> Iterator[str]:
    """First attempts follow the schedule: by block, with one worker by trial too.

    Several workers try again in a block while later ones have begun.
    """
    places = {key: n for n, key in enumerate(registration.schedule)}
    blocks = {
        key: n
        for n, block in enumerate(schedule.blocks_of(registration.schedule))
        for key in block
    }
    alone, seen = False, dict[TrialKey, int]()
    last_block, last_place, last_begun = -1, -1, -1
    for event in events:
        if isinstance(event.body, RunStarted):
            alone, last_block = event.body.n_workers == 1, -1
        if not isinstance(event.body, AttemptStarted) or event.body.key not in places:
            continue
        key, is_first = event.body.key, event.body.key not in seen
        if blocks[key] < max(last_block if alone else -1, last_begun * is_first):
            yield f"{key}: begun after a later block"
        last_block = max(last_block, blocks[key])
        if is_first:
            last_begun = max(last_begun, blocks[key])
            if alone and places[key] < last_place:
                yield f"{key}: begun after a trial planned later"
            last_place = max(last_place, places[key] if alone else -1)
        if event.body.attempt <= seen.get(key, 0):
            yield f"{key}: attempt {event.body.attempt} begun after {seen[key]}"
        seen[key] = event.body.attempt


def _untold(
    registration: Registration, events: Sequence[Event], run: Path
) -> Iterator[str]:
    """Evidence that no line tells of."""
    told = {(str(s.key), s.attempt) for s in attempts_of(events)}
    told |= {(str(r.key), r.attempt) for r in results_of(events)}
    for key in registration.schedule:
        for attempt in attempts_kept(run, key):
            if (str(key), attempt) not in told:
                yield f"{key}: evidence of attempt {attempt}, but no line tells of it"
    folder = run / "trials"
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set[str]()
    for name in sorted(names - {str(key) for key in registration.schedule}):
        yield f"{name}: evidence of a trial that was not planned"


def _without_result(
    registration: Registration, events: Sequence[Event], run: Path
) -> list[TrialKey]:
    """Trials that were still to be run; those of excluded blocks are not."""
    standing = Standing(run, registration)
    for event in events:
        standing.take(event)
    blocks = schedule.blocks_of(registration.schedule)
    return [key for block in blocks for key in standing.left(block)]
