"""The turns of two transcripts side by side, and where they first part."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from evalkit.explore.alignment import align
from evalkit.explore.telling import Teller
from evalkit.explore.turns import Turn, TurnKind
from evalkit.records import Record

MAX_CALLS_NAMED = 3
FIRST = "first difference in what was done"
"""Of prompts and words beside a call a row may tell a difference before."""


class Verdict(StrEnum):
    """What two turns come to. Of what the CLI says of itself nothing is compared."""

    SAME = "same"
    DIFFERS = "differs"
    ONLY_LEFT = "only left"
    ONLY_RIGHT = "only right"
    NOT_COMPARED = "not compared"


class Row(Record, frozen=True):
    """Two turns that stand side by side, or one that stands alone.

    Two are the same where the same was done: the same tools were given the same, and
    as many calls failed; words are compared where nothing was called. `differs` names
    all that is not alike: `calls`, `input`, `errors`, and of the same too `words`
    or `results`.
    """

    n: int
    verdict: Verdict
    left: Turn | None
    right: Turn | None
    differs: tuple[str, ...] = ()

    @property
    def kind(self) -> TurnKind:
        """Of its turns, which are of one kind."""
        turn = self.left or self.right
        return turn.kind if turn else TurnKind.CLI


class First(Record, frozen=True):
    """The first row in which an agent did something else, and that as a sentence."""

    row: int
    sentence: str


def match(left: Sequence[Turn], right: Sequence[Turn]) -> tuple[Row, ...]:
    """Every turn of both sides once, in order; rows are numbered from 1."""
    met = align([turn.key for turn in left], [turn.key for turn in right])
    return tuple(
        _row(
            n,
            None if one.left is None else left[one.left],
            None if one.right is None else right[one.right],
        )
        for n, one in enumerate(met, 1)
    )


def asks_otherwise(rows: Sequence[Row]) -> bool:
    """True where the two were not asked the same."""
    asked = (row for row in rows if row.kind is TurnKind.PROMPT)
    return any(row.verdict is not Verdict.SAME for row in asked)


def first_difference(
    rows: Sequence[Row], left: str, right: str, tell: Teller
) -> First | None:
    """Where agents first did something else; None where they never did.

    Args:
        rows: As `match` gives them.
        left: What the left side is called.
        right: And the right one.
        tell: What texts go through.
    """
    acted = [row for row in rows if row.kind is TurnKind.ACTION]
    n = next(
        (n for n, row in enumerate(acted) if row.verdict is not Verdict.SAME), None
    )
    if n is None:
        return None
    row, rest = acted[n], acted[n:]
    if row.left and row.right and "calls" not in row.differs:
        named = " and ".join(row.differs)
        deed = tell_deed(row.left, tell)
        said = f"both {deed} (turns {row.left.n} and {row.right.n}), unlike in {named}"
        return First(row.n, f"{said}.")
    mine = next(((one.n, one.left) for one in rest if one.left), None)
    theirs = next(((one.n, one.right) for one in rest if one.right), None)
    sides = [_did(left, mine, row.n, tell), _did(right, theirs, row.n, tell)]
    if not row.left:
        sides.reverse()
    alone = "" if row.left and row.right else "only "
    return First(row.n, f"{alone}{'; '.join(sides)}.")


def verdict_said(row: Row, left: str, right: str) -> str:
    """What a row came to, with what is not alike, in words."""
    if row.verdict is Verdict.ONLY_LEFT:
        return f"only {left}"
    if row.verdict is Verdict.ONLY_RIGHT:
        return f"only {right}"
    if not row.differs:
        return row.verdict.value
    but = "" if row.verdict is Verdict.DIFFERS else "but for "
    return f"{row.verdict} ({but}{', '.join(row.differs)})"


def tell_deed(turn: Turn, tell: Teller) -> str:
    """What was done in a turn, on a line."""
    if not turn.calls:
        return f'says "{tell.line(turn.said)}"' if turn.said else "says nothing"
    named = [
        f"{tell.line(call.tool)} {tell.line(call.argument)}".strip()
        for call in turn.calls[:MAX_CALLS_NAMED]
    ]
    more = len(turn.calls) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _did(name: str, there: tuple[int, Turn] | None, row: int, tell: Teller) -> str:
    """What a side does next, and where that is, unless in the row spoken of."""
    if there is None:
        return f"{name} has ended"
    n, turn = there
    later = "" if n == row else f" (row {n})"
    return f"{name}, turn {turn.n}{later}: {tell_deed(turn, tell)}"


def _row(n: int, left: Turn | None, right: Turn | None) -> Row:
    if left is None or right is None:
        alone = Verdict.ONLY_RIGHT if left is None else Verdict.ONLY_LEFT
        return _unless_cli(Row(n, alone, left, right))
    alike = {
        "calls": left.calls == right.calls,
        "input": left.inputs == right.inputs,
        "errors": left.n_errors == right.n_errors,
        "words": left.words == right.words,
        "results": left.results == right.results,
    }
    differs = tuple(name for name, same in alike.items() if not same)
    grave = {"calls", "input", "errors"} if left.calls else {"calls", "errors", "words"}
    verdict = Verdict.DIFFERS if grave & {*differs} else Verdict.SAME
    return _unless_cli(Row(n, verdict, left, right, differs))


def _unless_cli(row: Row) -> Row:
    if row.kind is not TurnKind.CLI:
        return row
    return Row(row.n, Verdict.NOT_COMPARED, row.left, row.right)
