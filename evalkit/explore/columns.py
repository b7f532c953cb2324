"""Rows of a pair as HTML of two columns: the items of both turns, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from evalkit.explore.article import Article, Renderer
from evalkit.explore.binding import MAX_PAGE_BYTES, Piece
from evalkit.explore.index import Transcript
from evalkit.explore.matching import FIRST, Row, Verdict, tell_deed, verdict_said
from evalkit.explore.spending import Spending
from evalkit.explore.telling import Teller
from evalkit.explore.turns import Turn
from evalkit.markup import escape

MAX_PIECE_BYTES = MAX_PAGE_BYTES // 2
"""Of a row; one that is longer goes on in another piece. An item is never longer."""
FOLDED = frozenset({Verdict.SAME, Verdict.NOT_COMPARED})
_Chunk = tuple[list[Article], list[Article]]


class Column:
    """One side of a part: its items, to be rendered in order.

    Args:
        name: Of its arm.
        transcript: The file.
        mark: What the anchors of its items begin with.
        tell: What texts go through.
    """

    def __init__(self, name: str, transcript: Path, mark: str, tell: Teller) -> None:
        self.name = name
        self.mark = mark
        self._transcript = Transcript(transcript)
        self._renderer = Renderer(tell, mark)
        self._spending = Spending(self._transcript)

    def articles(self, turn: Turn | None) -> Iterator[Article]:
        """The items of a turn."""
        numbers = range(turn.start, turn.stop) if turn else ()
        for item in self._transcript.each(numbers):
            yield self._renderer.article(item, self._spending.line(item))


def anchor(row: int) -> str:
    """The anchor of a row."""
    return f"row{row}"


def pieces(
    rows: Iterable[Row], left: Column, right: Column, *, first: int | None, tell: Teller
) -> Iterator[Piece]:
    """Rows as pieces, in order; what is the same is folded.

    Args:
        rows: Of a part.
        left: Its one side.
        right: Its other side.
        first: The row in which something else was done first.
        tell: What texts go through.
    """
    for row in rows:
        articles = zip_longest(left.articles(row.left), right.articles(row.right))
        for n, chunk in enumerate(_chunks(articles)):
            verdict = verdict_said(row, left.name, right.name)
            head = escape(_head(row, verdict, tell, is_first=row.n == first))
            head += " (goes on)" if n else ""
            columns = "".join(
                _side(column, turn, side)
                for column, turn, side in zip(
                    (left, right), (row.left, row.right), chunk, strict=True
                )
            )
            anchors = [
                f"{column.mark}{article.n}"
                for column, side in zip((left, right), chunk, strict=True)
                for article in side
            ]
            name = "" if n else anchor(row.n)
            html = _section(row, name, head, columns, is_first=row.n == first)
            yield Piece(html, (*([name] if name else []), *anchors), n=row.n)


def _chunks(pairs: Iterable[tuple[Article | None, Article | None]]) -> Iterator[_Chunk]:
    """Items of a row, as many together as a piece holds; once at least."""
    chunk: _Chunk = ([], [])
    n_bytes = 0
    for pair in pairs:
        for side, article in enumerate(pair):
            if article is None:
                continue
            more = len(article.html.encode(errors="replace"))
            if n_bytes and n_bytes + more > MAX_PIECE_BYTES:
                yield chunk
                chunk, n_bytes = ([], []), 0
            chunk[side].append(article)
            n_bytes += more
    yield chunk


def _head(row: Row, verdict: str, tell: Teller, *, is_first: bool) -> str:
    said = f"Row {row.n}: {verdict}"
    if row.verdict is Verdict.SAME and row.left:
        said += f": {tell_deed(row.left, tell)}"
    return f"{FIRST[:1].upper()}{FIRST[1:]}. {said}" if is_first else said


def _side(column: Column, turn: Turn | None, articles: list[Article]) -> str:
    what = f"{column.name}: {turn.name if turn else 'nothing here'}"
    inside = "".join(article.html for article in articles)
    return f'<div class="side"><p class="whose">{escape(what)}</p>{inside}</div>'


def _section(row: Row, name: str, head: str, columns: str, *, is_first: bool) -> str:
    classes = ["pair", row.verdict.value.replace(" ", "-")]
    classes += ["first"] if is_first else []
    given = f'class="{" ".join(classes)}"' + (f' id="{name}"' if name else "")
    inside = f'<div class="sides">{columns}</div>'
    if row.verdict in FOLDED:
        return f"<details {given}><summary>{head}</summary>{inside}</details>\n"
    return f"<div {given}><h2>{head}</h2>{inside}</div>\n"
