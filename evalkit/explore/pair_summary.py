"""A pair as lines for a terminal, and as a record that can be shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from evalkit.explore.matching import FIRST, Row, Verdict, tell_deed, verdict_said
from evalkit.explore.measures import shown_sides
from evalkit.explore.page import warning
from evalkit.explore.pairing import Pair, Part, Side, Stood
from evalkit.explore.telling import Teller
from evalkit.explore.turns import Turn
from evalkit.wording import NOT_APPLICABLE, begin, n_of, printable

MAX_ROWS, MAX_DEED = 200, 50
"""Rows of a part on a terminal, and characters of a turn."""


def told(found: Pair, tell: Teller) -> Pair:
    """A pair whose texts can be shown: one line of each, without secrets."""
    replace = msgspec.structs.replace

    def turn(one: Turn | None) -> Turn | None:
        if one is None:
            return None
        calls = (
            replace(call, tool=tell.line(call.tool), argument=tell.line(call.argument))
            for call in one.calls
        )
        return replace(one, said=tell.line(one.said), calls=tuple(calls))

    def row(one: Row) -> Row:
        return replace(one, left=turn(one.left), right=turn(one.right))

    def stood(one: Stood) -> Stood:
        damage = one.damage and tell(one.damage)
        return replace(one, standing=tell(one.standing), damage=damage)

    def side(one: Side) -> Side:
        return replace(one, missing=one.missing and tell(one.missing))

    parts = tuple(
        replace(
            part,
            left=side(part.left),
            right=side(part.right),
            rows=tuple(row(one) for one in part.rows),
        )
        for part in found.parts
    )
    return replace(found, left=stood(found.left), right=stood(found.right), parts=parts)


def difference_said(part: Part, found: Pair) -> str:
    """What differs first in a part, or why nothing is compared."""
    missing = [
        f"{stood.arm}: {side.missing}"
        for stood, side in ((found.left, part.left), (found.right, part.right))
        if side.missing
    ]
    if missing:
        return f"nothing is compared. {'; '.join(missing)}."
    asked = " The two were not asked the same." if part.asked_otherwise else ""
    return (part.first.sentence if part.first else "no turn differs.") + asked


def pair_lines(found: Pair, tell: Teller) -> list[str]:
    """Of each part what differs first, then its rows; then the totals; without secrets."""
    lines = [found.title]
    lines += [f"  {warning(found.stamp)}"] if found.stamp else []
    for stood in (found.left, found.right):
        lines.append(f"  {stood.standing}")
        lines += [f"  NOT AS SEALED: {stood.damage}"] if stood.damage else []
    for part in found.parts:
        lines.append(f"{part.title}: {_counted(part)}")
        at = f"{FIRST}, row {part.first.row}: " if part.first else ""
        lines.append(f"  {at}{difference_said(part, found)}")
        lines += _turns(part, (found.left.arm, found.right.arm), tell)
    heads = ("", found.left.arm, found.right.arm, "difference")
    rows = [heads, *((one.name, *shown_sides(one)) for one in found.measures)]
    lines += _table(rows, str.rjust)
    return [printable(tell(line)) for line in lines]


def _turns(part: Part, arms: tuple[str, str], tell: Teller) -> list[str]:
    """The rows of a part, its turns side by side."""
    if not part.rows:
        return []
    rows = [("row", *arms, "came out")]
    for row in part.rows[:MAX_ROWS]:
        sides = [_deed(turn, tell) for turn in (row.left, row.right)]
        rows.append((str(row.n), sides[0], sides[1], verdict_said(row, *arms)))
    n_more = len(part.rows) - MAX_ROWS
    more = f"and {n_of(n_more, 'more row')}: --html writes them all"
    lines = [*_table(rows, str.ljust), *([more] if n_more > 0 else [])]
    return [f"  {line.rstrip()}" for line in lines]


def _deed(turn: Turn | None, tell: Teller) -> str:
    if turn is None:
        return NOT_APPLICABLE
    return begin(f"{turn.name}: {printable(tell_deed(turn, tell))}", MAX_DEED)


def _table(
    rows: Sequence[tuple[str, ...]], place: Callable[[str, int], str]
) -> list[str]:
    """Rows as lines: the first cell to the left, others placed in their columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [
                first.ljust(widths[0]),
                *(place(cell, n) for cell, n in zip(rest, widths[1:], strict=True)),
            ]
        )
        for first, *rest in rows
    ]


def _counted(part: Part) -> str:
    if not part.is_compared:
        return "not compared"
    n_same = sum(row.verdict is Verdict.SAME for row in part.rows)
    return f"{n_of(len(part.rows), 'row')}, {n_same:,} the same"
