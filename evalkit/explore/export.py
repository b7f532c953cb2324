"""A transcript as pages of static HTML with an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from evalkit import wording
from evalkit.explore.account import account
from evalkit.explore.article import Entry, Renderer
from evalkit.explore.binding import (
    Binder,
    ExportedPages,
    Leaf,
    Piece,
    clear,
    neighbours,
)
from evalkit.explore.index import Transcript
from evalkit.explore.page import contents, document, grid, told_hidden, write_page
from evalkit.explore.redaction import Redactor
from evalkit.explore.spending import SAID, Spending
from evalkit.explore.summary import summary_lines
from evalkit.explore.telling import Teller
from evalkit.markup import escape
from evalkit.paged import INDEX

MAX_LISTED = 1_500
"""Entries that the index lists; the pages list their own."""
_HEADS = ("Page", "Items", "Begins", "Holds")
_MANY = {"summary": "summaries"}


class Exported(ExportedPages, frozen=True):
    """The pages of a transcript, and how many items they hold."""

    n_items: int


def written_lines(index: str, n_pages: int, redacted: Mapping[str, int]) -> list[str]:
    """What an export wrote, as lines for a terminal."""
    n = sum(redacted.values())
    return [
        index,
        f"  {wording.n_of(n_pages, 'page')}, {wording.n_of(n, 'secret')} redacted",
    ]


def export_transcript(
    path: Path,
    out: Path,
    *,
    redactor: Redactor,
    title: str | None = None,
    stamp: str | None = None,
    links: Mapping[str, str] | None = None,
) -> Exported:
    """Write a transcript as pages that link to each other.

    Args:
        path: The transcript.
        out: Folder of the pages; pages of an earlier export there are replaced.
        redactor: Takes secrets out, or does not.
        title: Of all pages; the file's name by default.
        stamp: Of its run, where that measures no model.
        links: Links to pages above, beside those of its own.

    Raises:
        InputError: It is no transcript, or cannot be read.
    """
    book = _Book(path, out, redactor, title or path.name, dict(links or {}))
    book.stamp = stamp
    return book.write()


class _Book:
    def __init__(
        self,
        path: Path,
        out: Path,
        redactor: Redactor,
        title: str,
        links: dict[str, str],
    ) -> None:
        self._path = path
        self._transcript = Transcript(path)
        self._out = out
        self._redactor = redactor
        self._tell = Teller(redactor)
        self._title = self._tell.name(title)
        self._links = links
        self._binder = Binder(self._tell)
        self.stamp: str | None = None

    def write(self) -> Exported:
        before = self._redactor.counts.copy()
        names: list[str] = []
        rows: list[tuple[str, ...]] = []
        entries: list[Entry] = []
        n_cut = n_entries = 0
        for leaf, has_next in self._binder.leaves(self._pieces()):
            names.append(self._write(leaf, has_next=has_next))
            entries += leaf.entries[: MAX_LISTED + 1 - len(entries)]
            n_entries += len(leaf.entries)
            n_cut += leaf.n_cut
            rows.append(_row(leaf))
        counts = self._redactor.counts - before
        index = self._index(rows, entries, n_entries, told=(counts, n_cut))
        clear(self._out, len(names))
        return Exported(
            index=str(index),
            pages=tuple(names),
            n_items=len(self._transcript),
            redacted=dict(counts),
            n_cut=n_cut,
        )

    def _pieces(self) -> Iterator[Piece]:
        renderer, spending = Renderer(self._tell), Spending(self._transcript)
        for item in self._transcript.each(range(len(self._transcript))):
            made = renderer.article(item, spending.line(item))
            entries = (made.entry,) if made.entry else ()
            yield Piece(made.html, (f"m{item.n}",), entries, item.n)

    def _write(self, leaf: Leaf, *, has_next: bool) -> str:
        links = {**self._links, "Index": INDEX, **neighbours(leaf, has_next=has_next)}
        listed = contents(leaf.entries)
        opened = " open" if len(leaf.entries) <= 40 else ""
        said = f"Contents of this page ({wording.n_of(len(leaf.entries), 'entry', 'entries')})"
        above = f"<details{opened}><summary>{said}</summary>{listed}</details>"
        page = document(
            f"{self._title}, page {leaf.number}",
            (above if listed else "") + self._binder.text(leaf),
            notes=[*told_hidden(leaf.redacted, leaf.n_cut, on=self._redactor.on), SAID],
            links=links,
            stamp=self.stamp,
        )
        return str(write_page(self._out / leaf.name, page))

    def _index(
        self,
        rows: list[tuple[str, ...]],
        entries: list[Entry],
        n_entries: int,
        *,
        told: tuple[Counter[str], int],
    ) -> Path:
        found = msgspec.structs.replace(account(self._path), file=self._path.name)
        lines = "\n".join(map(self._tell.quietly, summary_lines(found)))
        left = n_entries - MAX_LISTED
        rest = (
            f"<p>And {left:,} more: the pages list them at their top.</p>"
            if left > 0
            else ""
        )
        body = (
            f"<pre>{escape(lines)}</pre><h2>Pages</h2>{grid('Pages of this transcript', _HEADS, rows)}"
            f"<h2>Contents</h2>{contents(entries[:MAX_LISTED], self._binder.pages)}{rest}"
        )
        counts, n_cut = told
        page = document(
            self._title,
            body,
            notes=[*told_hidden(counts, n_cut, on=self._redactor.on), SAID],
            links=self._links | ({"First page": "page-1.html"} if rows else {}),
            stamp=self.stamp,
        )
        return write_page(self._out / INDEX, page)


def _row(leaf: Leaf) -> tuple[str, ...]:
    first, last = leaf.pieces[0].n, leaf.pieces[-1].n
    kinds = Counter(entry.what for entry in leaf.entries)
    begun = next((entry.time for entry in leaf.entries if entry.time), "")
    told = ", ".join(
        wording.n_of(n, what, _MANY.get(what)) for what, n in kinds.items()
    )
    link = f'<a href="{leaf.name}">{leaf.name}</a>'
    return link, f"#{first} to #{last}", escape(begun), told
