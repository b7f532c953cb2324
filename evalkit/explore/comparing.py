"""Two trials of a block under somebody's eyes: rows of their turns, page by page."""

from __future__ import annotations

from pathlib import Path

from evalkit.errors import InputError
from evalkit.explore.matching import Verdict, verdict_said
from evalkit.explore.measures import shown_sides
from evalkit.explore.pair_summary import difference_said
from evalkit.explore.pairing import Pair, Part, Side, pair
from evalkit.explore.redaction import Redactor
from evalkit.explore.telling import Teller
from evalkit.explore.terminal import style_of
from evalkit.explore.trial import FoundTrial
from evalkit.explore.turns import Turn
from evalkit.explore.viewing import Shown, View
from evalkit.records import Record

N_ROWS = 12
"""Of a page."""
MAX_ITEMS = 12
"""Shown of a turn; the transcript by itself shows all."""
MARKS = {
    Verdict.SAME: "=",
    Verdict.DIFFERS: "~",
    Verdict.ONLY_LEFT: "<",
    Verdict.ONLY_RIGHT: ">",
    Verdict.NOT_COMPARED: ".",
}
"""A character for each verdict, so that those of all rows are one short text."""


class ListedPart(Record, frozen=True):
    """A step of both trials, and in a sentence what differs first, or what is missing.

    `first` is the row, from 0, in which they part. `verdicts` holds a mark for each
    row; see `MARKS`.
    """

    step: str
    what: str
    sentence: str
    first: int | None
    verdicts: str


class ListedPair(Record, frozen=True):
    """Two trials as a reader begins with them; measures as name, left, right, difference."""

    keys: tuple[str, str]
    arms: tuple[str, str]
    standings: tuple[str, str]
    damages: tuple[str | None, str | None]
    stamp: str | None
    measures: tuple[tuple[str, str, str, str], ...]
    parts: tuple[ListedPart, ...]


class ShownTurn(Record, frozen=True):
    """A turn of one side; `n_more` of its items are left out."""

    n: int
    kind: str
    items: tuple[Shown, ...]
    n_more: int


class ShownRow(Record, frozen=True):
    """Turns that stand side by side, and in words what they come to."""

    verdict: Verdict
    said: str
    left: ShownTurn | None
    right: ShownTurn | None


class Rows(Record, frozen=True):
    """Rows of a page, and the rules for rare colours that are in them."""

    rows: tuple[ShownRow, ...]
    style: str


class Comparison:
    """Two trials of a block, aligned once.

    Args:
        left: The one.
        right: The other.
        redactor: Takes secrets out, or does not.
    """

    def __init__(self, left: FoundTrial, right: FoundTrial, redactor: Redactor) -> None:
        self._redactor = redactor
        self._pair = pair(left, right, Teller(redactor))
        self._arms = self._pair.left.arm, self._pair.right.arm
        self._views: dict[str, View] = {}

    def listed(self) -> ListedPair:
        """What the two come to, and their steps."""
        found = self._pair
        sides = found.left, found.right
        tell = Teller(self._redactor)
        return ListedPair(
            keys=(sides[0].key, sides[1].key),
            arms=self._arms,
            standings=(tell(sides[0].standing), tell(sides[1].standing)),
            damages=(
                sides[0].damage and tell(sides[0].damage),
                sides[1].damage and tell(sides[1].damage),
            ),
            stamp=found.stamp,
            measures=tuple((tell(m.name), *shown_sides(m)) for m in found.measures),
            parts=tuple(_listed(part, found, tell) for part in found.parts),
        )

    def rows(self, number: int, page: int) -> Rows:
        """Rows of a page of a step; none beyond the last.

        Args:
            number: Of the step's part, from 0.
            page: From 0; `N_ROWS` each.

        Raises:
            InputError: There is no such part; or a file changed, or is gone.
        """
        parts = self._pair.parts
        if number >= len(parts):
            raise InputError(
                f"step {number}",
                expected=f"one of {len(parts)}",
                found="none",
                cure="choose again",
            )
        part = parts[number]
        made = [
            ShownRow(
                verdict=row.verdict,
                said=verdict_said(row, *self._arms),
                left=self._turn(part.left, row.left),
                right=self._turn(part.right, row.right),
            )
            for row in part.rows[page * N_ROWS : (page + 1) * N_ROWS]
        ]
        turns = [turn for row in made for turn in (row.left, row.right) if turn]
        html = "".join(item.html for turn in turns for item in turn.items)
        return Rows(tuple(made), style_of(html))

    def _turn(self, side: Side, turn: Turn | None) -> ShownTurn | None:
        if turn is None or side.transcript is None:
            return None
        view = self._views.get(side.transcript)
        if view is None:
            view = View(Path(side.transcript), self._redactor)
            self._views[side.transcript] = view
        stop = min(turn.stop, turn.start + MAX_ITEMS)
        return ShownTurn(
            n=turn.n,
            kind=turn.kind,
            items=view.items(range(turn.start, stop)).items,
            n_more=turn.stop - stop,
        )


def _listed(part: Part, found: Pair, tell: Teller) -> ListedPart:
    return ListedPart(
        step=part.step,
        what=part.what,
        sentence=tell(difference_said(part, found)),
        first=part.first.row - 1 if part.first else None,
        verdicts="".join(MARKS[row.verdict] for row in part.rows),
    )
