"""Phrases found in a text however they are written there, all of them in one pass.

Only letters and digits are compared, one by one. What stands between two of them is a
gap. It may be read as nothing, as a space, as both (a word broken at a hyphen), and as
it is written.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

_LETTER = re.compile(r"([^\W_])")
_BROKEN = re.compile(r"-(?:[^\S\n]*+\n[\s#>*/|]*+)?")
"""A word may have a hyphen, and go on in the next line behind a comment's mark."""
_ENDS = re.compile(r"[.!?]")
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u02bc", "'"),
    }
)
_PASSED_OVER = {"Cf", "Mn"}
_NOTHING, _SPACE, _EXACT, _SPACED = range(4)
_Key = tuple[int, str]
"""A way to read a gap, and what is then read in it."""


def shown(text: str) -> str:
    """A text without what a reader passes over: accents, and what is not displayed."""
    return "".join(map(_shown, text))


def has_word(phrase: str) -> bool:
    """True where there is something in a phrase to look for."""
    return bool(_LETTER.search(shown(phrase)))


class Found(NamedTuple):
    """A phrase as it was asked for, and the line of the text it begins in, from 1."""

    line: int
    phrase: str


class _Whole(NamedTuple):
    """What is known where the last letter of a phrase was met."""

    phrase: str
    n_letters: int
    closing: str


class Phrases:
    """Phrases to look for.

    A space in one stands for any gap that ends no sentence, a hyphen also for nothing;
    other marks stand for themselves, with or without space where the phrase has some.

    Args:
        phrases: One without a letter or digit is found nowhere.
        across: A space stands for the end of a sentence too.
    """

    # The letters of all phrases stand in one row, and bit n of a number is about letter
    # n: a step of the search is a few operations on numbers, whatever the text holds.

    def __init__(self, phrases: Iterable[str], *, across: bool = False) -> None:
        self._across = across
        self._first = 0
        self._last = 0
        self._letters: defaultdict[str, int] = defaultdict(int)
        self._gaps: defaultdict[_Key, int] = defaultdict(int)
        self._opening: defaultdict[str, int] = defaultdict(int)
        self._whole: dict[int, _Whole] = {}
        n = 0
        for phrase in phrases:
            opening, *parts = _parts(phrase.strip())
            letters, gaps = parts[::2], parts[1::2]
            if not letters:
                continue
            self._first |= 1 << n
            self._opening[_outer(opening)] |= 1 << n
            for at, letter in enumerate(letters, n):
                self._letters[letter] |= 1 << at
            for at, gap in enumerate(gaps[:-1], n + 1):
                for key in _asked(gap):
                    self._gaps[key] |= 1 << at
            n += len(letters)
            self._last |= 1 << n - 1
            self._whole[n - 1] = _Whole(phrase, len(letters), _outer(gaps[-1]))

    def find(self, text: str) -> Iterator[Found]:
        """Each place of each phrase in a text, by where they end.

        Takes time in proportion to the text's length.
        """
        before, *parts = _parts(text)
        allowed: dict[str, int] = {}
        lines: list[int] = []
        line, met = 1, 0
        for letter, after in zip(parts[::2], parts[1::2], strict=True):
            if before not in allowed:
                allowed[before] = self._allowed(before)
            line += before.count("\n")
            lines.append(line)
            met = (met << 1 | self._first) & allowed[before]
            met &= self._letters.get(letter, 0)
            for n in _bits(met & self._last):
                phrase, n_letters, closing = self._whole[n]
                if _tight(after).startswith(closing):
                    yield Found(lines[-n_letters], phrase)
            before = after

    def _allowed(self, gap: str) -> int:
        """The letters that may follow a gap."""
        found = 0
        for key in _read(gap, across=self._across):
            found |= self._gaps.get(key, 0)
        tight = _tight(gap)
        for opening, letters in self._opening.items():
            if tight.endswith(opening):
                found |= letters
        return found


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    # By characters, since marks of a whole text would be sorted, in squared time.
    known = unicodedata.normalize("NFKD", char).translate(_ALIKE)
    return "".join(c for c in known if unicodedata.category(c) not in _PASSED_OVER)


def _parts(text: str) -> list[str]:
    """Gap, letter, gap, ... letter, gap."""
    return _LETTER.split(shown(text).casefold())


def _asked(gap: str) -> Iterator[_Key]:
    """How the gap of a phrase may be read in a text."""
    if gap.strip("-_") and not gap.isspace():
        tight = _tight(gap)
        yield (_EXACT, gap) if tight == gap else (_SPACED, tight)
        return
    if not gap.strip("-_"):
        yield _NOTHING, ""
    if gap:
        yield _SPACE, ""


def _read(gap: str, *, across: bool) -> Iterator[_Key]:
    """All ways to read a gap of a text."""
    if not gap or _BROKEN.fullmatch(gap):
        yield _NOTHING, ""
    if gap and (across or not _ENDS.search(gap)):
        yield _SPACE, ""
    yield _EXACT, gap
    yield _SPACED, _tight(gap)


def _outer(gap: str) -> str:
    """What must stand before or behind a phrase."""
    return _tight(gap) if gap.strip("-_") else ""


def _tight(gap: str) -> str:
    return "".join(gap.split())


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
