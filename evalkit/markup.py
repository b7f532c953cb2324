"""What a notebook or a page shows: prose, tables, figures, folds. Pure.

Texts of a run come from agents and graders: everything is escaped here, once.
"""

from __future__ import annotations

import html
from abc import abstractmethod
from collections.abc import Sequence

from evalkit.records import Record

PROGRESS = "application/x-evalkit-progress+json"
"""Kind of the one display that tells how far a run is; no page holds it."""
LONG_TEXT, LONG_NUMBER = 40, 20
"""Characters that a cell can be asked to hold on one line."""
_PICTURES = {
    **{n: chr(0x2400 + n) for n in range(32) if chr(n) not in "\t\n\r"},
    0x7F: "\N{SYMBOL FOR DELETE}",
    **{n: f"[U+{n:X}]" for n in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))},
}


def visible(text: str) -> str:
    """The text with something to see for each character that would act unseen.

    Control characters are in no page's alphabet, and those that turn the direction of
    writing would turn our own words and numbers behind them.
    """
    return text.translate(_PICTURES)


def escape(text: object) -> str:
    """Text as it may stand in an element or in a quoted attribute."""
    return html.escape(visible(str(text)), quote=True)


class Shown(Record, frozen=True):
    """Something with two forms; Jupyter takes the one it can show."""

    @property
    @abstractmethod
    def html(self) -> str:
        """The form for pages."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The form for terminals."""

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


class Markup(Shown, frozen=True):
    """HTML of our own making, with the text it stands for."""

    made: str
    said: str

    @property
    def html(self) -> str:
        """As it was made."""
        return self.made

    @property
    def text(self) -> str:
        """As it is said."""
        return self.said


def stamped(warning: str | None) -> tuple[Markup, ...]:
    """The bar over a page of what measures no model; nothing where it does."""
    if warning is None:
        return ()
    bar = f'<p class="evalkit-stamp"><strong>{escape(warning)}</strong></p>'
    return (Markup(bar, warning),)


class Prose(Shown, frozen=True):
    """Paragraphs of plain text; `tone` is a class of the style sheet."""

    paragraphs: tuple[str, ...]
    tone: str = ""

    @property
    def html(self) -> str:
        """A division of paragraphs."""
        inner = "".join(f"<p>{escape(text)}</p>" for text in self.paragraphs)
        return (
            f'<div class="{escape(f"evalkit-prose {self.tone}".strip())}">{inner}</div>'
        )

    @property
    def text(self) -> str:
        """The paragraphs, apart."""
        return "\n\n".join(self.paragraphs)


class Column(Record, frozen=True):
    """One column: its heading, whether its cells are numbers, or stay on one line."""

    head: str
    number: bool = False
    whole: bool = False


class Table(Shown, frozen=True):
    """A table of texts; the first cell of a row is its heading.

    `note` stands below; a table without rows says `empty` instead. `links` say where
    headings of rows lead.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    empty: str = "nothing to show."
    links: dict[str, str] = {}

    @property
    def html(self) -> str:
        """A table with scoped headings, in a named box that scrolls by keyboard too."""
        note = f'<p class="evalkit-note">{escape(self.note)}</p>' if self.note else ""
        if not self.rows:
            said = escape(f"{self.caption}: {self.empty}")
            return f'<div class="evalkit-prose"><p>{said}</p>{note}</div>'
        heads = "".join(
            f'<th scope="col"{_kind(column)}>{escape(column.head)}</th>'
            for column in self.columns
        )
        body = "".join(f"<tr>{self._cells(row)}</tr>" for row in self.rows)
        return (
            f'<div class="evalkit-wide" role="group" tabindex="0" '
            f'aria-label="{escape(self.caption)}"><table class="evalkit-table">'
            f"<caption>{escape(self.caption)}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>{note}"
        )

    @property
    def text(self) -> str:
        """Caption, headings and rows, a line each."""
        heads = " | ".join(column.head for column in self.columns)
        lines = [self.caption, heads, *map(" | ".join, self.rows)]
        return "\n".join(
            [*lines, self.note] if self.rows else [self.caption, self.empty]
        )

    def without_empty(self) -> Table:
        """The table without columns in which no row says anything."""
        kept = [n for n in range(len(self.columns)) if any(row[n] for row in self.rows)]
        return Table(
            self.caption,
            tuple(self.columns[n] for n in kept),
            tuple(tuple(row[n] for n in kept) for row in self.rows),
            self.note,
            self.empty,
            self.links,
        )

    def _cells(self, row: tuple[str, ...]) -> str:
        first, *rest = zip(row, self.columns, strict=True)
        head = escape(first[0])
        if first[0] in self.links:
            head = f'<a href="{escape(self.links[first[0]])}">{head}</a>'
        cells = [f'<th scope="row"{_kind(first[1], first[0])}>{head}</th>']
        cells += [f"<td{_kind(c, text)}>{escape(text)}</td>" for text, c in rest]
        return "".join(cells)


class Figure(Shown, frozen=True):
    """An inline SVG with its caption, its description, and its numbers as a table."""

    svg: str
    alt: str
    caption: str
    table: Table

    @property
    def html(self) -> str:
        """A figure; the table is folded below it."""
        return (
            f'<figure class="evalkit-figure">{self.svg}'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
            f"{Fold('The numbers of this figure', (self.table,)).html}"
        )

    @property
    def text(self) -> str:
        """What the figure says, and its numbers."""
        return f"{self.alt}\n\n{self.table.text}"


class Fold(Shown, frozen=True):
    """Some parts behind a line that opens them; in print they stand open."""

    summary: str
    parts: Sequence[Shown]

    @property
    def html(self) -> str:
        """A `details` element."""
        inner = "".join(part.html for part in self.parts)
        summary = f"<summary>{escape(self.summary)}</summary>"
        return f'<details class="evalkit-fold">{summary}{inner}</details>'

    @property
    def text(self) -> str:
        """The parts, apart."""
        return "\n\n".join(part.text for part in self.parts)


class Page(Shown, frozen=True):
    """Some parts, one after the other."""

    parts: Sequence[Shown]

    @property
    def html(self) -> str:
        """The parts in order."""
        return "".join(part.html for part in self.parts)

    @property
    def text(self) -> str:
        """The parts, apart."""
        return "\n\n".join(part.text for part in self.parts)


def _kind(column: Column, text: str = "") -> str:
    """The class of a cell; a long text needs room, and may be broken anywhere."""
    is_long = len(text) > (LONG_NUMBER if column.number else LONG_TEXT)
    kinds = {"number": column.number, "whole": column.whole, "long": is_long}
    names = " ".join(name for name, is_so in kinds.items() if is_so)
    return f' class="{names}"' if names else ""
