"""Texts as a page may tell them: secrets taken out, and no more than can be read."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

from evalkit.explore.redaction import OVERLAP, Redactor

MAX_CHARS = 100_000
"""Characters told of one text: its beginning, and a fifth of them from its end."""
MAX_NAME = 200
MAX_LINE = 140
LINE_SEEN = 4 * MAX_LINE
"""Characters looked at for a line, so that a secret at its end is seen whole."""


class Teller:
    """Tells texts, and counts those that it had to cut.

    Args:
        redactor: Takes secrets out.
        max_chars: Characters told of one text.
    """

    def __init__(self, redactor: Redactor, max_chars: int = MAX_CHARS) -> None:
        self.redactor = redactor
        self.max_chars = max_chars
        self.n_cut = 0

    def __call__(self, text: str) -> str:
        """The text; where it is too long, a line in its middle says what is left out."""
        most = self.max_chars
        if len(text) <= most:
            return self.redactor(text)
        self.n_cut += 1
        n_last = most // 5
        n_first = most - n_last
        first = self._beginning(text, n_first)
        seen = text[-n_last - OVERLAP :]
        last = self.redactor.part(seen, len(seen) - n_last, len(seen))
        left_out = len(text) - most
        return (
            f"{first}\n[cut: {left_out:,} of {len(text):,} characters are left out here;"
            f" the transcript has them all]\n{last}"
        )

    def name(self, text: str | None) -> str:
        """A short text on one line, such as a name."""
        line = " ".join((text or "").split())
        told = self._beginning(line, MAX_NAME)
        return told if len(line) <= MAX_NAME else f"{told}..."

    def line(self, text: str) -> str:
        """How a text begins, on one line; what it hides is not counted."""
        line = " ".join(text[:LINE_SEEN].split())
        counted = self.redactor.counts.copy()
        told = self._beginning(line, MAX_LINE)
        self.redactor.counts = counted
        return told if len(line) <= MAX_LINE else f"{told}..."

    def quietly(self, text: str) -> str:
        """A text that is told elsewhere too, without counting again what it hides."""
        counted = self.redactor.counts.copy()
        told = self.redactor(text)
        self.redactor.counts = counted
        return told

    def _beginning(self, text: str, n: int) -> str:
        """How a text begins; a secret that lies across the cut is seen whole."""
        return self.redactor.part(text[: n + OVERLAP], 0, n)

    @contextmanager
    def at_most(self, max_chars: int, *, again: bool = True) -> Generator[Self]:
        """Tell with fewer characters; texts told `again` are not counted again."""
        usual, counted = self.max_chars, self.redactor.counts.copy()
        self.max_chars = max_chars
        try:
            yield self
        finally:
            self.max_chars = usual
            if again:
                self.redactor.counts = counted
