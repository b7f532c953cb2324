"""Two trials of a block side by side, step by step and turn by turn."""

from __future__ import annotations

from typing import NamedTuple

from evalkit.errors import InputError
from evalkit.explore.index import Transcript
from evalkit.explore.matching import First, Row, asks_otherwise, first_difference, match
from evalkit.explore.measures import Measure, Seen, measures
from evalkit.explore.telling import Teller
from evalkit.explore.trial import (
    KEEPS_NONE,
    FoundTrial,
    Kept,
    find_trial,
    keeps_none,
    standing,
    transcripts_of,
)
from evalkit.explore.turns import Turn, read_turns
from evalkit.records import Record, TrialKey, step_folder

NOT_KEPT = "no transcript was kept"


class Stood(Record, frozen=True):
    """A trial of a pair, and what became of it."""

    key: str
    arm: str
    attempt: int
    standing: str
    damage: str | None


class Side(Record, frozen=True):
    """The transcript of one side; where there is none, `missing` says why."""

    transcript: str | None
    n_items: int
    missing: str | None = None


class Part(Record, frozen=True):
    """Transcripts of a step, one of each side, and their turns in rows.

    `name` names a folder. `rows` is empty where one is missing. `asked_otherwise`: the
    two got other prompts.
    """

    name: str
    step: str
    what: str
    left: Side
    right: Side
    rows: tuple[Row, ...]
    asked_otherwise: bool
    first: First | None

    @property
    def title(self) -> str:
        """Which part it is, in words."""
        return f"{self.step}: {self.what}"

    @property
    def first_row(self) -> int | None:
        """Number of the row that differs first."""
        return self.first.row if self.first else None

    @property
    def is_compared(self) -> bool:
        """True where both sides have a transcript."""
        return self.left.missing is None and self.right.missing is None


class Pair(Record, frozen=True):
    """Two trials of a block; differences are those of `left` from `right`.

    Turns hold texts as they stand in the transcripts: see `pair_summary.told`.
    """

    case: str
    repeat: int
    left: Stood
    right: Stood
    stamp: str | None
    parts: tuple[Part, ...]
    measures: tuple[Measure, ...]

    @property
    def title(self) -> str:
        """Which two trials they are, in words."""
        arms = f"{self.left.arm} beside {self.right.arm}"
        return f"{self.case}, repeat {self.repeat}: {arms}"


class _Place(NamedTuple):
    """Which transcript of a trial: of which step, its work or a choice, the n-th."""

    step: int
    is_work: bool
    n: int


def find_other(found: FoundTrial, other: str) -> FoundTrial:
    """The trial to stand beside one.

    Args:
        found: The one.
        other: An arm, or the key of a trial of the same block.

    Raises:
        InputError: There is none, or it is the same, or of another block.
    """
    key = found.trial.key
    arms = [seal.arm.name for seal in found.registration.arms]
    named = str(TrialKey(key.case, other, key.repeat)) if other in arms else other
    block = [
        str(one)
        for one in found.registration.schedule
        if (one.case, one.repeat) == (key.case, key.repeat) and one != key
    ]
    if named in block:
        return find_trial(found.run, named)
    raise InputError(
        f"what stands beside {key}",
        expected=f"another arm of the block: case {key.case}, repeat {key.repeat}",
        found="the trial itself" if named == str(key) else repr(other),
        cure=f"name one of {', '.join(block)}" if block else "plan more arms",
    )


def pair(left: FoundTrial, right: FoundTrial, tell: Teller) -> Pair:
    """Align the transcripts of two trials of a block.

    Each is read once; of its texts only digests and beginnings are held. What it takes
    grows with the turns of both sides: see `alignment`.

    Args:
        left: The one.
        right: The other.
        tell: What the sentences about differences go through.
    """
    kept = [_places(found) for found in (left, right)]
    n_steps = len(left.case.steps)
    work = {_Place(step, is_work=True, n=1) for step in range(n_steps)}
    seen = Seen(), Seen()
    parts: list[Part] = []
    for place in sorted({*kept[0], *kept[1], *work}):
        sides = [
            _side(found, place, has.get(place), into)
            for found, has, into in zip((left, right), kept, seen, strict=True)
        ]
        parts.append(_part(left, right, place, sides, tell))
    return Pair(
        case=left.trial.key.case,
        repeat=left.trial.key.repeat,
        left=_stood(left),
        right=_stood(right),
        stamp=left.stamp or right.stamp,
        parts=tuple(parts),
        measures=measures((left, seen[0]), (right, seen[1])),
    )


def _places(found: FoundTrial) -> dict[_Place, Kept]:
    places: dict[_Place, Kept] = {}
    for kept in transcripts_of(found):
        step = found.case.steps.index(kept.step)
        n = 1
        while (place := _Place(step, is_work=not kept.is_choice, n=n)) in places:
            n += 1
        places[place] = kept
    return places


def _side(
    found: FoundTrial, place: _Place, kept: Kept | None, into: Seen
) -> tuple[Side, list[Turn]]:
    if kept is None:
        missing = _why_missing(found, place)
        into.is_lost |= missing in {NOT_KEPT, KEEPS_NONE}
        return Side(None, 0, missing), []
    try:
        transcript = Transcript(kept.path)
    except InputError as error:
        into.is_lost = True
        return Side(str(kept.path), 0, f"it cannot be read: {error}"), []
    read = read_turns(transcript)
    into.take(transcript, read)
    return Side(str(kept.path), len(transcript)), [*read.turns]


def _why_missing(found: FoundTrial, place: _Place) -> str:
    if not place.is_work:
        return "no call chose a skill"
    if place.n > 1:
        return "there is no further session"
    step = found.step(found.case.steps[place.step])
    if found.result and step.not_reached:
        return "the step was not reached"
    return KEEPS_NONE if keeps_none(found.registration) else NOT_KEPT


def _part(
    left: FoundTrial,
    right: FoundTrial,
    place: _Place,
    sides: list[tuple[Side, list[Turn]]],
    tell: Teller,
) -> Part:
    (mine, ours), (theirs, others) = sides
    both = mine.missing is None and theirs.missing is None
    rows = match(ours, others) if both else ()
    arms = left.trial.key.arm, right.trial.key.arm
    session = "what the agent did" if place.is_work else "the choice of a skill"
    slug = left.case.steps[place.step]
    folder = step_folder(place.step + 1, slug) + ("" if place.is_work else "-select")
    return Part(
        name=folder if place.n == 1 else f"{folder}-{place.n}",
        step=slug,
        what=session if place.n == 1 else f"{session}, session {place.n}",
        left=mine,
        right=theirs,
        rows=rows,
        asked_otherwise=asks_otherwise(rows),
        first=first_difference(rows, *arms, tell),
    )


def _stood(found: FoundTrial) -> Stood:
    return Stood(
        key=str(found.trial.key),
        arm=found.trial.key.arm,
        attempt=found.attempt,
        standing=standing(found),
        damage=found.damage,
    )
