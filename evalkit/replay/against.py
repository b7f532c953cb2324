"""The results of a replay, held against the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import msgspec

from evalkit import prices
from evalkit.analysis import analyse
from evalkit.conclusions import Analysis, Difference
from evalkit.differences import differences
from evalkit.evidence import Evidence
from evalkit.journal import read_journal
from evalkit.records import (
    Call,
    Exchange,
    Passage,
    Record,
    ReplaySeal,
    TrialKey,
    TrialResult,
)
from evalkit.registration import load_registration
from evalkit.standing import JOURNAL, results_of

TIMED = frozenset({"wall_s"})
"""Measures of time, which no replay makes again."""


class Departure(Record, frozen=True):
    """The first request of a call that was none of those recorded, by its number."""

    call: str
    request: int
    how: str


class AttemptPlayed(Record, frozen=True):
    """A recorded attempt, and what became of it.

    `played` is the number of the replay's own attempt, None where there is none. What
    follows a departure is held against nothing.
    """

    trial: str
    attempt: int
    played: int | None
    departures: tuple[Departure, ...]
    differences: tuple[Difference, ...]

    @property
    def differs(self) -> bool:
        """True where it came out otherwise than it was recorded."""
        return bool(self.played is None or self.departures or self.differences)


class Otherwise(Record, frozen=True):
    """A number of the whole run that came out otherwise."""

    what: str
    recorded: str
    replayed: str


def hold(run: Path, folder: Path, seal: ReplaySeal) -> tuple[AttemptPlayed, ...]:
    """Hold every recorded attempt against the one that played it.

    Args:
        run: The recorded run.
        folder: The replay.
        seal: What was to be played.
    """
    recorded = results_of(read_journal(run / JOURNAL, until=seal.journal_head).events)
    played = results_of(read_journal(folder / JOURNAL).events)
    found: list[AttemptPlayed] = []
    for key in seal.attempts:
        firsts = [one for one in recorded if str(one.key) == key]
        seconds = [one for one in played if str(one.key) == key]
        found += [_held(*pair, folder) for pair in zip_longest(firsts, seconds)]
    return tuple(found)


def compare_runs(run: Path, folder: Path, seal: ReplaySeal) -> tuple[Otherwise, ...]:
    """The contrasts of two runs, but for those of time, where they are not the same."""
    first, again = _analysis(run, seal.journal_head), _analysis(folder, None)
    return tuple(
        Otherwise(
            f"{old.arm} against {old.comparator}, {old.measure}: {name}",
            str(getattr(old, name)),
            str(getattr(new, name)),
        )
        for old, new in zip(first.contrasts, again.contrasts, strict=True)
        if old.measure not in TIMED
        for name in old.__struct_fields__
        if getattr(old, name) != getattr(new, name)
    )


def exchanges_of(
    run: Path, key: TrialKey, attempt: int
) -> Iterator[tuple[str, tuple[Exchange, ...]]]:
    """The calls of an attempt by name, and their requests as the gateway saw them."""
    for step in Evidence(run, key, attempt).steps():
        for purpose, call in step.calls.items():
            if call.was_made:
                yield f"{step.folder.name}/{purpose}", call.exchanges()


def _held(first: TrialResult, again: TrialResult | None, folder: Path) -> AttemptPlayed:
    if again is None:
        return AttemptPlayed(str(first.key), first.attempt, None, (), ())
    departures = tuple(_departures(folder, again))
    others = () if departures else differences(_timeless(first), _timeless(again))
    return AttemptPlayed(
        str(first.key), first.attempt, again.attempt, departures, others
    )


def _departures(folder: Path, again: TrialResult) -> Iterator[Departure]:
    for name, rows in exchanges_of(folder, again.key, again.attempt):
        departed = [row for row in rows if row.passage is Passage.DEPARTED]
        if departed:
            yield Departure(name, departed[0].n, departed[0].detail)


def _timeless(result: TrialResult) -> TrialResult:
    """A result without what its calls took of time, and without their words."""
    steps = tuple(
        msgspec.structs.replace(step, calls=tuple(map(_timeless_call, step.calls)))
        for step in result.steps
    )
    return msgspec.structs.replace(result, steps=steps)


def _timeless_call(call: Call) -> Call:
    return msgspec.structs.replace(call, wall_s=0.0, cpu_s=None, detail="")


def _analysis(run: Path, until: str | None) -> Analysis:
    journal = read_journal(run / JOURNAL, until=until)
    return analyse(load_registration(run), journal, prices.rates())
