"""Pieces of HTML bound to pages that link to each other, none of them too large."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from evalkit.explore.article import Entry
from evalkit.explore.telling import Teller
from evalkit.records import Record

MAX_PAGE_BYTES = 2_000_000
_FRAME_BYTES = 60_000
"""Of a page, for what stands around its pieces."""
_BYTES_PER_ENTRY = 1_000
_BYTES_PER_LINK = 40
"""That a link may grow by, when it leads to another page."""
_LINK = re.compile(r'href="#([\w-]+)"')
_PAGE = re.compile(r"page-(\d+)\.html")


class ExportedPages(Record, frozen=True):
    """What was written: the page to begin with, and all others.

    `redacted` tells what they hide by kind, `n_cut` how many texts were cut.
    """

    index: str
    pages: tuple[str, ...]
    redacted: dict[str, int]
    n_cut: int


class Piece(NamedTuple):
    """HTML that stays on one page: its anchors, its entries, the item it begins with."""

    html: str
    anchors: tuple[str, ...]
    entries: tuple[Entry, ...] = ()
    n: int = 0

    @property
    def n_bytes(self) -> int:
        """What it takes of a page, at most."""
        links = _BYTES_PER_LINK * self.html.count('href="#')
        entries = _BYTES_PER_ENTRY * len(self.entries)
        return len(self.html.encode(errors="replace")) + links + entries


class Leaf:
    """The pieces of one page, what they hide, and how many of their texts are cut."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = f"page-{number}.html"
        self.pieces: list[Piece] = []
        self.redacted: Counter[str] = Counter()
        self.n_cut = 0
        self.n_bytes = _FRAME_BYTES

    @property
    def entries(self) -> list[Entry]:
        """What a list of its contents names."""
        return [entry for piece in self.pieces for entry in piece.entries]


class Binder:
    """Binds pieces to pages, and knows the page of every anchor.

    Args:
        tell: What the texts of the pieces go through.
    """

    def __init__(self, tell: Teller) -> None:
        self._tell = tell
        self.pages: dict[str, str] = {}

    def leaves(self, pieces: Iterable[Piece]) -> Iterator[tuple[Leaf, bool]]:
        """Pieces, as many together as a page holds; True: another page follows.

        Args:
            pieces: Made one by one as they are asked for, so that it is known what
                each of them hides.
        """
        leaf: Leaf | None = None
        for piece, redacted, n_cut in self._noted(pieces):
            n_bytes = piece.n_bytes
            if leaf is None:
                leaf = Leaf(1)
            elif leaf.n_bytes + n_bytes > MAX_PAGE_BYTES:
                yield leaf, True
                leaf = Leaf(leaf.number + 1)
            leaf.pieces.append(piece)
            leaf.n_bytes += n_bytes
            leaf.redacted += redacted
            leaf.n_cut += n_cut
            self.pages |= dict.fromkeys(piece.anchors, leaf.name)
        if leaf:
            yield leaf, False

    def text(self, leaf: Leaf) -> str:
        """The pieces of a page, with links that lead to other pages too."""

        def link(found: re.Match[str]) -> str:
            page = self.pages.get(found[1], leaf.name)
            return found[0] if page == leaf.name else f'href="{page}#{found[1]}"'

        return _LINK.sub(link, "".join(piece.html for piece in leaf.pieces))

    def _noted(
        self, pieces: Iterable[Piece]
    ) -> Iterator[tuple[Piece, Counter[str], int]]:
        redactor = self._tell.redactor
        counts, n_cut = redactor.counts.copy(), self._tell.n_cut
        for piece in pieces:
            yield piece, redactor.counts - counts, int(self._tell.n_cut > n_cut)
            counts, n_cut = redactor.counts.copy(), self._tell.n_cut


def neighbours(leaf: Leaf, *, has_next: bool) -> Mapping[str, str]:
    """Links from a page to those before and after it."""
    links: dict[str, str] = {}
    if leaf.number > 1:
        links["Previous page"] = f"page-{leaf.number - 1}.html"
    if has_next:
        links["Next page"] = f"page-{leaf.number + 1}.html"
    return links


def clear(folder: Path, n_pages: int) -> None:
    """Remove pages that a longer export left in a folder."""
    for path in folder.glob("page-*.html"):
        number = _PAGE.fullmatch(path.name)
        if number and int(number[1]) > n_pages:
            path.unlink()
