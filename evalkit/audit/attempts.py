"""Attempts that were begun, held against those that left a result."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.audit.finding import PASS, UNKNOWN, Finding
from evalkit.records import AttemptEnded, AttemptStarted, Event, TrialKey


def check_attempts(events: Sequence[Event]) -> Finding:
    """Did every attempt that was begun leave a result?

    One that did not may be a fault, or a process that was ended because somebody,
    the agent too, disliked what was coming: the record cannot tell them apart.
    """
    lost = lost_attempts(events)
    if lost:
        return Finding(
            "attempts",
            UNKNOWN,
            tuple(_told(key, numbers) for key, numbers in lost.items()),
            "A trial whose attempt ends without a result is tried again, so each of "
            "these may have been a second throw of the dice.",
        )
    n_begun = sum(isinstance(e.body, AttemptStarted) for e in events)
    return Finding(
        "attempts",
        PASS,
        (f"{n_begun} attempts begun, each with a result",),
        "No attempt was broken off and tried again out of sight.",
    )


def lost_attempts(events: Sequence[Event]) -> dict[TrialKey, tuple[int, ...]]:
    """By trial, the numbers of attempts without a result, left-out numbers too."""
    last: dict[TrialKey, int] = {}
    ended: set[tuple[TrialKey, int]] = set()
    for event in events:
        match event.body:
            case AttemptStarted(key=key, attempt=attempt):
                last[key] = max(last.get(key, 0), attempt)
            case AttemptEnded(result=result):
                last[result.key] = max(last.get(result.key, 0), result.attempt)
                ended.add((result.key, result.attempt))
            case _:
                continue
    lost = {
        key: tuple(n for n in range(1, highest + 1) if (key, n) not in ended)
        for key, highest in last.items()
    }
    return {key: numbers for key, numbers in lost.items() if numbers}


def _told(key: TrialKey, numbers: tuple[int, ...]) -> str:
    n = len(numbers)
    named = ", ".join(map(str, numbers))
    return (
        f"{n} attempt{'' if n == 1 else 's'} of {key} left no result ({named}); why "
        f"cannot be seen from the record"
    )
