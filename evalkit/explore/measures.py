"""What two trials come to, measure by measure, and the difference."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from evalkit import facts, prices, usage, wording
from evalkit.explore.index import Transcript
from evalkit.explore.trial import FoundTrial
from evalkit.explore.turns import TurnKind, Turns
from evalkit.records import Record

TOKENS = {
    "input": "input tokens",
    "write_5m": "tokens written to the cache for 5 min",
    "write_1h": "tokens written to the cache for 1 h",
    "read": "tokens read from the cache",
    "output": "output tokens",
}
"""Words for the classes of `usage.CLASSES`."""


class Unit(StrEnum):
    """What a measure counts in."""

    COUNT = "count"
    USD = "USD"
    SECONDS = "s"
    SCORE = "score"


class Measure(Record, frozen=True):
    """One thing measured of both trials; None is not reported.

    `at_least`, of left and right: requests of which nobody told what they used are
    missing from it. `difference` is left minus right; None where one is not known.
    """

    name: str
    unit: Unit
    left: float | None
    right: float | None
    difference: float | None
    at_least: tuple[bool, bool] = (False, False)


class Seen:
    """What the transcripts of a trial show together; `is_lost`: one is not there."""

    def __init__(self) -> None:
        self.n_turns = self.n_errors = self.n_edits = 0
        self.tools: Counter[str] = Counter()
        self.is_lost = False

    def take(self, transcript: Transcript, read: Turns) -> None:
        """One more of its transcripts."""
        counts = transcript.counts()
        self.n_errors += counts["error"]
        self.n_edits += counts["edit"]
        self.n_turns += sum(turn.kind is TurnKind.ACTION for turn in read.turns)
        self.tools += read.tools


class _Taken:
    """One measure of one trial."""

    def __init__(
        self, value: float | None, unit: Unit = Unit.COUNT, *, bound: bool = False
    ) -> None:
        self.value = value
        self.unit = unit
        self.bound = bound and value is not None


def measures(
    left: tuple[FoundTrial, Seen], right: tuple[FoundTrial, Seen]
) -> tuple[Measure, ...]:
    """Measures of two trials: those of their results, then those of transcripts."""
    tools = sorted({*left[1].tools, *right[1].tools})
    taken = [
        {**_of_result(found), **_of_transcripts(seen, tools)}
        for found, seen in (left, right)
    ]
    return tuple(_measure(name, taken[0][name], taken[1][name]) for name in taken[0])


def shown(value: float | None, unit: Unit) -> str:
    """A value as a reader sees it."""
    if unit is Unit.USD:
        return wording.usd(value)
    if unit is Unit.SECONDS:
        return wording.seconds(value)
    return wording.score(value) if unit is Unit.SCORE else wording.count(value)


def shown_sides(measure: Measure) -> tuple[str, str, str]:
    """Left, right and the difference with its sign, as a reader sees them."""
    sides = [
        wording.at_least(shown(value, measure.unit), bound=bound)
        for value, bound in zip(
            (measure.left, measure.right), measure.at_least, strict=True
        )
    ]
    if measure.difference is None:
        return sides[0], sides[1], wording.NOT_APPLICABLE
    if measure.unit is Unit.SCORE:
        return sides[0], sides[1], wording.signed(measure.difference)
    size = shown(abs(measure.difference), measure.unit)
    sign = "+" if measure.difference > 0 else wording.MINUS
    return sides[0], sides[1], f"{sign}{size}" if measure.difference else size


def _of_transcripts(seen: Seen, tools: list[str]) -> dict[str, _Taken]:
    counts = {
        "turns": seen.n_turns,
        "errors": seen.n_errors,
        "edits": seen.n_edits,
        "tool calls": sum(seen.tools.values()),
        **{
            f"calls of {tool or 'a tool without a name'}": seen.tools[tool]
            for tool in tools
        },
    }
    return {k: _Taken(None if seen.is_lost else n) for k, n in counts.items()}


def _of_result(found: FoundTrial) -> dict[str, _Taken]:
    result = found.result
    requests = facts.requests_of(result)
    bound = facts.is_understated(result)
    rates = prices.rates()
    calls = facts.calls_of(result)
    grades = [step.grade for step in facts.steps_of(result) if step.grade]
    passed = sum(check.passed for grade in grades for check in grade.checks)
    tokens = {
        word: None if requests is None else sum(getattr(one, name) for one in requests)
        for name, word in TOKENS.items()
    }
    return {
        "score": _Taken(found.trial.score if found.counts else None, Unit.SCORE),
        "checks passed": _Taken(passed if grades else None),
        **{word: _Taken(n, bound=bound) for word, n in tokens.items()},
        "dollars, by list prices": _Taken(
            usage.dollars(requests, rates, usage.LIST), Unit.USD, bound=bound
        ),
        "seconds of its calls": _Taken(
            sum(call.wall_s for call in calls) if calls else None, Unit.SECONDS
        ),
    }


def _measure(name: str, left: _Taken, right: _Taken) -> Measure:
    known = not (left.bound or right.bound)
    difference = None
    if known and left.value is not None and right.value is not None:
        difference = left.value - right.value
    return Measure(
        name,
        left.unit,
        left.value,
        right.value,
        difference,
        (left.bound, right.bound),
    )
