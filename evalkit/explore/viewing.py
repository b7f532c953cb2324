"""A transcript under somebody's eyes: some of its items, page by page, in any order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from evalkit.errors import InputError
from evalkit.explore.article import Renderer
from evalkit.explore.index import Transcript
from evalkit.explore.items import Item
from evalkit.explore.redaction import Redactor
from evalkit.explore.search import search
from evalkit.explore.spending import Spending
from evalkit.explore.telling import Teller
from evalkit.explore.terminal import style_of
from evalkit.records import Record

N_ITEMS = 50
"""Of a page."""
MAX_CHARS = 20_000
"""Told of a text on a page; the item by itself tells more."""
MAX_PAGE_BYTES = 2_000_000
"""What a page may hold before the rest of its items is told with few characters."""
FEW_CHARS = 1_000
N_LOOKED_BACK = 24
"""Items before a result among which its call is looked for."""
N_SEARCHED = 2048
"""Items searched at once; other questions are answered in between."""


class Shown(Record, frozen=True):
    """An item as a page holds it.

    Args:
        n: Its number in the transcript.
        html: All of it, or what is told on a page.
        line: What it is about.
        so_far: Tokens and dollars of all requests up to it, in words.
        cut: True where the item by itself tells more.
    """

    n: int
    html: str
    line: str
    so_far: str
    cut: bool


class Page(Record, frozen=True):
    """Items of a page, and the rules for rare colours that are in them."""

    items: tuple[Shown, ...]
    style: str


class Found(Record, frozen=True):
    """Hits of a search since the last time; `n_searched` of `n` items are done."""

    hits: tuple[int, ...]
    n_searched: int
    n: int


class View:
    """One transcript: what is shown of it, and where what one looks for stands.

    What its files held when they were indexed counts: where one changed since, every
    question is refused.

    Args:
        path: The transcript.
        redactor: Takes secrets out, or does not.

    Raises:
        InputError: It is no transcript, or cannot be read.
    """

    def __init__(self, path: Path, redactor: Redactor) -> None:
        known = _stamp(path)
        self.transcript = Transcript(path)
        self._known = {file: _stamp(file) for file in self.transcript.files}
        self._known[path] = known
        self.spending = Spending(self.transcript)
        self.numbers: Sequence[int] = range(len(self.transcript))
        self._search = iter(())
        self.redact(redactor)

    def redact(self, redactor: Redactor) -> None:
        """Tell from now on what this one lets through."""
        self._tell = Teller(redactor, MAX_CHARS)
        self._whole = Teller(redactor)
        self._renderer = Renderer(self._tell)
        self._renderer_of_whole = Renderer(self._whole)

    def choose(self, names: Sequence[str]) -> None:
        """Show only items of some kinds; of none of them named: all.

        Raises:
            InputError: There is no such kind.
        """
        transcript = self.transcript
        self.numbers = transcript.select(*names) if names else range(len(transcript))

    def place(self, n: int) -> int:
        """Where an item stands among those shown; else the next one, or the last."""
        return max(0, min(bisect_left(self.numbers, n), len(self.numbers) - 1))

    def page(self, number: int) -> Page:
        """The items of a page; none beyond the last.

        Args:
            number: From 0; `N_ITEMS` each.

        Raises:
            InputError: A file changed, or is gone.
        """
        start = number * N_ITEMS
        return self.items(self.numbers[start : start + N_ITEMS])

    def items(self, numbers: Sequence[int]) -> Page:
        """Items by their numbers, as a page holds them.

        Raises:
            InputError: A file changed, or is gone.
        """
        self._expect_unchanged()
        made: list[Shown] = []
        left = MAX_PAGE_BYTES
        for item in self.transcript.each(numbers):
            self._find_call_of(item, self._renderer)
            with self._tell.at_most(MAX_CHARS if left > 0 else FEW_CHARS):
                shown = self._shown(item, self._renderer, self._tell)
            left -= len(shown.html)
            made.append(shown)
        return Page(tuple(made), style_of("".join(shown.html for shown in made)))

    def whole(self, n: int) -> Page:
        """One item, told as far as it ever is.

        Raises:
            InputError: There is no such item; or a file changed, or is gone.
        """
        self._expect_unchanged()
        if not 0 <= n < len(self.transcript):
            raise InputError(
                f"item {n}",
                expected=f"one of the {len(self.transcript):,} of this transcript",
                found="none",
                cure="name another",
            )
        (item,) = self.transcript.chosen([n])
        self._find_call_of(item, self._renderer_of_whole)
        shown = self._shown(item, self._renderer_of_whole, self._whole)
        return Page((shown,), style_of(shown.html))

    def jump(self, name: str, n: int, *, back: bool = False) -> int | None:
        """Number of the next shown item of a kind after one, or before it.

        Raises:
            InputError: There is no such kind.
        """
        found = self.transcript.next(name, n, back=back)
        while found is not None and not self._is_shown(found):
            found = self.transcript.next(name, found, back=back)
        return found

    def find(self, query: str, *, regex: bool, case: bool) -> None:
        """Begin a search of what is shown; `found` goes on with it.

        Raises:
            InputError: The expression is none.
        """
        numbers, transcript = self.numbers, self.transcript
        how = {"regex": regex, "case": case}
        search(transcript, query, numbers=(), **how)
        starts = range(0, len(numbers), N_SEARCHED)
        self._search = (
            Found(
                hits=tuple(search(transcript, query, numbers=some, **how)),
                n_searched=start + len(some),
                n=len(numbers),
            )
            for start in starts
            for some in [numbers[start : start + N_SEARCHED]]
        )

    def found(self) -> Found:
        """What the search finds among the next items.

        Raises:
            InputError: A file changed, or is gone.
        """
        self._expect_unchanged()
        n = len(self.numbers)
        return next(self._search, Found((), n, n))

    def _shown(self, item: Item, renderer: Renderer, tell: Teller) -> Shown:
        n_cut = tell.n_cut
        made = renderer.article(item, self.spending.line(item))
        return Shown(
            n=item.n,
            html=made.html,
            line=made.line,
            so_far=self.spending.so_far(item.n),
            cut=tell.n_cut > n_cut,
        )

    def _find_call_of(self, item: Item, renderer: Renderer) -> None:
        """Meet the call of a result, where it is not far before."""
        if renderer.knows_call_of(item):
            return
        before = range(item.n - 1, max(item.n - 1 - N_LOOKED_BACK, -1), -1)
        for other in self.transcript.each(before):
            renderer.note(other)
            if renderer.knows_call_of(item):
                return

    def _is_shown(self, n: int) -> bool:
        at = bisect_left(self.numbers, n)
        return at < len(self.numbers) and self.numbers[at] == n

    def _expect_unchanged(self) -> None:
        for file, known in self._known.items():
            now = _stamp(file)
            if now != known:
                raise InputError(
                    file,
                    expected="the file as it was when it was opened",
                    found="it has changed" if now else "it is gone",
                    cure="open it again",
                )


def _stamp(file: Path) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
