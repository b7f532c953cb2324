"""Two trials of a block as pages of two columns, what differs first at the top."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from evalkit import wording
from evalkit.explore.binding import (
    Binder,
    ExportedPages,
    Leaf,
    clear,
    neighbours,
)
from evalkit.explore.columns import Column, anchor, pieces
from evalkit.explore.matching import FIRST, tell_deed, verdict_said
from evalkit.explore.measures import shown_sides
from evalkit.explore.page import document, grid, told_hidden, write_page
from evalkit.explore.pair_summary import difference_said
from evalkit.explore.pairing import Pair, Part
from evalkit.explore.spending import SAID
from evalkit.explore.telling import Teller
from evalkit.explore.turns import Turn
from evalkit.markup import escape
from evalkit.paged import INDEX

MAX_LISTED = 800
"""Rows of all parts that the index lists; the pages have them all."""
MAX_DEED = 120
MARKS = ("l", "r")
"""Begin the anchors of items, left and right."""
FOLDED = "What is the same on both sides is folded."
RECORDED = (
    "Score, tokens, dollars and seconds are those of the run's record, dollars by list "
    "prices kept with evalkit; turns and calls are as the transcripts tell them."
)


class _Made(NamedTuple):
    """The pages of a part, and on which of them each anchor is."""

    names: tuple[str, ...]
    pages: Mapping[str, str]


def export_pair(found: Pair, out: Path, *, tell: Teller) -> ExportedPages:
    """Write the page of a pair, and a folder of pages for each part with both sides.

    Args:
        found: The pair.
        out: Folder to write to.
        tell: What texts go through.

    Raises:
        InputError: A folder cannot be made.
    """
    made = [_write_part(found, part, out / part.name, tell) for part in found.parts]
    notes = [tell(stood.standing) for stood in (found.left, found.right)]
    notes += [
        f"NOT AS SEALED, {stood.arm}: {tell(stood.damage)}"
        for stood in (found.left, found.right)
        if stood.damage
    ]
    counts = tell.redactor.counts.copy()
    body = _index(found, made, tell)
    hidden = told_hidden(counts, tell.n_cut, on=tell.redactor.on)
    page = document(
        found.title, body, notes=[*notes, *hidden, RECORDED], stamp=found.stamp
    )
    return ExportedPages(
        index=str(write_page(out / INDEX, page)),
        pages=tuple(name for one in made for name in one.names),
        redacted=dict(counts),
        n_cut=tell.n_cut,
    )


def _write_part(found: Pair, part: Part, folder: Path, tell: Teller) -> _Made:
    names: list[str] = []
    binder = Binder(tell)
    left, right = part.left.transcript, part.right.transcript
    if left and right and part.is_compared:
        arms = (found.left.arm, found.right.arm)
        columns = [
            Column(arm, Path(side), mark, tell)
            for arm, side, mark in zip(arms, (left, right), MARKS, strict=True)
        ]
        made = pieces(part.rows, *columns, first=part.first_row, tell=tell)
        for leaf, has_next in binder.leaves(made):
            links = {"The pair": f"../{INDEX}", **neighbours(leaf, has_next=has_next)}
            page = _page(found, part, leaf, binder, links, tell)
            names.append(str(write_page(folder / leaf.name, page)))
    clear(folder, len(names))
    return _Made(tuple(names), binder.pages)


def _page(
    found: Pair,
    part: Part,
    leaf: Leaf,
    binder: Binder,
    links: Mapping[str, str],
    tell: Teller,
) -> str:
    return document(
        f"{found.title}, {part.title}, page {leaf.number}",
        binder.text(leaf),
        notes=[
            *told_hidden(leaf.redacted, leaf.n_cut, on=tell.redactor.on),
            FOLDED,
            SAID,
        ],
        links=links,
        stamp=found.stamp,
    )


def _index(found: Pair, made: list[_Made], tell: Teller) -> str:
    arms = (found.left.arm, found.right.arm)
    firsts = [
        f"<li>{escape(part.title)}: {_linked_first(part, one, found)}</li>"
        for part, one in zip(found.parts, made, strict=True)
    ]
    totals = [
        (escape(tell.line(one.name)), *map(escape, shown_sides(one)))
        for one in found.measures
    ]
    heads = ("Measure", *arms, f"{arms[0]} minus {arms[1]}")
    shown = [
        f"<h2>{FIRST[:1].upper()}{FIRST[1:]}</h2>",
        f"<ul>{''.join(firsts)}</ul>",
        f"<h2>Totals</h2>{grid('Totals of both trials', heads, totals)}",
    ]
    left = MAX_LISTED
    for part, one in zip(found.parts, made, strict=True):
        shown.append(f"<h2>{escape(part.title)}</h2>")
        if part.is_compared:
            shown.append(_listed(part, one, arms, left, tell))
            left = max(left - len(part.rows), 0)
        else:
            said = tell(difference_said(part, found))
            shown.append(f"<p>{escape(said[:1].upper() + said[1:])}</p>")
    return "".join(shown)


def _linked_first(part: Part, made: _Made, found: Pair) -> str:
    said = escape(difference_said(part, found))
    if part.first is None:
        return said
    return f"{_link(part, made, part.first.row)}: {said}"


def _link(part: Part, made: _Made, row: int) -> str:
    name = anchor(row)
    return f'<a href="{part.name}/{made.pages[name]}#{name}">row\N{NO-BREAK SPACE}{row}</a>'


def _listed(
    part: Part, made: _Made, arms: tuple[str, str], most: int, tell: Teller
) -> str:
    """The rows of a part as a table, each a link to where they are shown whole."""
    rows = [
        (
            _link(part, made, row.n),
            _deed(row.left, tell),
            _deed(row.right, tell),
            (f"<b>{FIRST}</b>: " if row.n == part.first_row else "")
            + escape(verdict_said(row, *arms)),
        )
        for row in part.rows[:most]
    ]
    n_more = len(part.rows) - len(rows)
    more = f"<p>And {wording.n_of(n_more, 'more row')}: the pages have them.</p>"
    heads = ("Row", *arms, "Came out")
    return grid(f"Turns of {part.title}", heads, rows) + (more if n_more else "")


def _deed(turn: Turn | None, tell: Teller) -> str:
    if turn is None:
        return "\N{EM DASH}"
    deed = wording.begin(tell_deed(turn, tell), MAX_DEED)
    return f'<span class="meta">{escape(turn.name)}</span> {escape(deed)}'
