"""A transcript as pages of static HTML with an index."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from evalkit import wording
from evalkit.explore.account import account
from evalkit.explore.article import Article, Entry, Renderer
from evalkit.explore.index import Transcript
from evalkit.explore.page import contents, document, grid, told_hidden, write_page
from evalkit.explore.redaction import Redactor
from evalkit.explore.spending import SAID, Spending
from evalkit.explore.summary import summary_lines
from evalkit.explore.telling import Teller
from evalkit.markup import escape
from evalkit.paged import INDEX
from evalkit.records import Record

MAX_PAGE_BYTES = 2_000_000
_FRAME_BYTES = 60_000
"""Of a page, for what stands around its items."""
_BYTES_PER_ENTRY = 1_000
MAX_LISTED = 1_500
"""Entries that the index lists; the pages list their own."""
_LINK = re.compile(r'href="#m(\d+)"')
_HEADS = ("Page", "Items", "Begins", "Holds")
_MANY = {"summary": "summaries"}
_PAGE = re.compile(r"page-(\d+)\.html")


class Exported(Record, frozen=True):
    """What was written: the index first; what it hides by kind, items it cut."""

    index: str
    pages: tuple[str, ...]
    n_items: int
    redacted: dict[str, int]
    n_cut: int


def written_lines(index: str, n_pages: int, redacted: Mapping[str, int]) -> list[str]:
    """What an export wrote, as lines for a terminal."""
    n = sum(redacted.values())
    return [
        index,
        f"  {wording.n_of(n_pages, 'page')}, {wording.n_of(n, 'secret')} redacted",
    ]


class _Leaf:
    """The items of one page."""

    def __init__(self, number: int) -> None:
        self.name = f"page-{number}.html"
        self.articles: list[Article] = []
        self.redacted: Counter[str] = Counter()
        self.n_cut = 0
        self.n_bytes = _FRAME_BYTES

    @property
    def entries(self) -> list[Entry]:
        return [one.entry for one in self.articles if one.entry]


def export_transcript(
    path: Path,
    out: Path,
    *,
    redactor: Redactor,
    title: str | None = None,
    simulated: bool = False,
    links: Mapping[str, str] | None = None,
) -> Exported:
    """Write a transcript as pages that link to each other.

    Args:
        path: The transcript.
        out: Folder of the pages; pages of an earlier export there are replaced.
        redactor: Takes secrets out, or does not.
        title: Of all pages; the file's name by default.
        simulated: True where a stand-in for an agent or a model took part.
        links: Links to pages above, beside those of its own.

    Raises:
        InputError: It is no transcript, or cannot be read.
    """
    book = _Book(path, out, redactor, title or path.name, dict(links or {}))
    book.simulated = simulated
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
        self._pages: dict[int, str] = {}
        self.simulated = False

    def write(self) -> Exported:
        before = self._redactor.counts.copy()
        names: list[str] = []
        rows: list[tuple[str, ...]] = []
        entries: list[Entry] = []
        n_cut = n_entries = 0
        last: _Leaf | None = None
        for leaf in self._leaves():
            if last:
                self._write(last, names, has_next=True)
            entries += leaf.entries[: MAX_LISTED + 1 - len(entries)]
            n_entries += len(leaf.entries)
            n_cut += leaf.n_cut
            rows.append(_row(leaf))
            last = leaf
        if last:
            self._write(last, names, has_next=False)
        counts = self._redactor.counts - before
        index = self._index(rows, entries, n_entries, told=(counts, n_cut))
        self._clear(len(names))
        return Exported(
            index=str(index),
            pages=tuple(names),
            n_items=len(self._transcript),
            redacted=dict(counts),
            n_cut=n_cut,
        )

    def _leaves(self) -> Iterator[_Leaf]:
        """Items, as many together as a page holds."""
        renderer, spending = Renderer(self._tell), Spending(self._transcript)
        leaf = _Leaf(1)
        for item in self._transcript.each(range(len(self._transcript))):
            counts, n_cut = self._redactor.counts.copy(), self._tell.n_cut
            made = renderer.article(item, spending.line(item))
            size = len(made.html.encode(errors="replace")) + 40 * made.html.count("#m")
            size += _BYTES_PER_ENTRY if made.entry else 0
            if leaf.articles and leaf.n_bytes + size > MAX_PAGE_BYTES:
                yield leaf
                leaf = _Leaf(len(set(self._pages.values())) + 1)
            leaf.articles.append(made)
            leaf.n_bytes += size
            leaf.redacted += self._redactor.counts - counts
            leaf.n_cut += self._tell.n_cut > n_cut
            self._pages[item.n] = leaf.name
        if leaf.articles:
            yield leaf

    def _write(self, leaf: _Leaf, names: list[str], *, has_next: bool) -> None:
        number = len(names) + 1
        links = self._links | {"Index": INDEX}
        if number > 1:
            links["Previous page"] = f"page-{number - 1}.html"
        if has_next:
            links["Next page"] = f"page-{number + 1}.html"
        listed = contents(leaf.entries)
        opened = " open" if len(leaf.entries) <= 40 else ""
        said = f"Contents of this page ({wording.n_of(len(leaf.entries), 'entry', 'entries')})"
        above = f"<details{opened}><summary>{said}</summary>{listed}</details>"
        text = "".join(one.html for one in leaf.articles)
        page = document(
            f"{self._title}, page {number}",
            (above if listed else "") + _LINK.sub(self._away(leaf.name), text),
            notes=[*told_hidden(leaf.redacted, leaf.n_cut, on=self._redactor.on), SAID],
            links=links,
            simulated=self.simulated,
        )
        names.append(str(write_page(self._out / leaf.name, page)))

    def _away(self, here: str) -> Callable[[re.Match[str]], str]:
        def link(found: re.Match[str]) -> str:
            page = self._pages.get(int(found[1]), here)
            return found[0] if page == here else f'href="{page}#m{found[1]}"'

        return link

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
            f"<h2>Contents</h2>{contents(entries[:MAX_LISTED], self._pages)}{rest}"
        )
        counts, n_cut = told
        page = document(
            self._title,
            body,
            notes=[*told_hidden(counts, n_cut, on=self._redactor.on), SAID],
            links=self._links | ({"First page": "page-1.html"} if rows else {}),
            simulated=self.simulated,
        )
        return write_page(self._out / INDEX, page)

    def _clear(self, n_pages: int) -> None:
        """Remove pages that a longer export left here."""
        for path in self._out.glob("page-*.html"):
            number = _PAGE.fullmatch(path.name)
            if number and int(number[1]) > n_pages:
                path.unlink()


def _row(leaf: _Leaf) -> tuple[str, ...]:
    first, last = leaf.articles[0].n, leaf.articles[-1].n
    kinds = Counter(entry.what for entry in leaf.entries)
    begun = next((entry.time for entry in leaf.entries if entry.time), "")
    told = ", ".join(
        wording.n_of(n, what, _MANY.get(what)) for what, n in kinds.items()
    )
    link = f'<a href="{leaf.name}">{leaf.name}</a>'
    return link, f"#{first} to #{last}", escape(begun), told
