"""Lines of a transcript as they are read: how many, of what types, which are no rows.

A line is a row where JSON, UTF-8 and the shape that its type has all hold. No line
is fatal, and each that is no row is known by its number.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from evalkit.records import Record

T = TypeVar("T")
MAX_LINE_BYTES = 64 * 2**20
MAX_BAD_LINES = 100
"""Bad lines told by number; the rest is only counted."""
MAX_FAULT_CHARS = 200
_FAULTS = (msgspec.MsgspecError, UnicodeError, RecursionError)


class BadLine(Record, frozen=True):
    """A line that is no row: its number, from 1, and what is wrong with it."""

    line: int
    fault: str


class Tally(Record, frozen=True):
    """What the lines of one or more transcripts are.

    `n_lines` leaves blank ones out. `torn` is the last line where it has no end and
    is no row: it was being written, so it is no bad line. `records` counts rows by
    type, `unknown` those of types that are not known.
    """

    n_lines: int = 0
    n_bad_lines: int = 0
    bad_lines: tuple[BadLine, ...] = ()
    torn: BadLine | None = None
    records: dict[str, int] = {}
    unknown: dict[str, int] = {}

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            n_lines=self.n_lines + other.n_lines,
            n_bad_lines=self.n_bad_lines + other.n_bad_lines,
            bad_lines=(self.bad_lines + other.bad_lines)[:MAX_BAD_LINES],
            torn=self.torn or other.torn,
            records=dict(Counter(self.records) + Counter(other.records)),
            unknown=dict(Counter(self.unknown) + Counter(other.unknown)),
        )


class Lines:
    """Reads lines, and keeps their tally."""

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known
        self._records: Counter[str] = Counter()
        self._bad: list[BadLine] = []
        self._n_lines = self._n_bad = 0
        self._torn: BadLine | None = None

    def each(
        self, lines: Iterable[bytes], take: Callable[[bytes], T]
    ) -> Iterator[tuple[int, T | BadLine]]:
        """The number of each line, and what `take` makes of it, or why it is no row.

        Args:
            lines: Lines with their line ends, as a binary file yields them.
            take: Reads a line; raises what msgspec raises, before it changes a thing.
        """
        for number, line in enumerate(lines, 1):
            if line.isspace() or not line:
                continue
            self._n_lines += 1
            try:
                found = _taken(
                    line.removeprefix(BOM_UTF8) if number == 1 else line, take
                )
            except _FAULTS as error:
                found = self._note(number, line, str(error)[:MAX_FAULT_CHARS])
            yield number, found

    def count(self, name: str) -> None:
        """A row of a type was read."""
        self._records[name] += 1

    def tally(self) -> Tally:
        """All that was read until now."""
        return Tally(
            n_lines=self._n_lines,
            n_bad_lines=self._n_bad,
            bad_lines=tuple(self._bad),
            torn=self._torn,
            records=dict(self._records),
            unknown={
                name: n for name, n in self._records.items() if name not in self._known
            },
        )

    def _note(self, number: int, line: bytes, fault: str) -> BadLine:
        bad = BadLine(number, fault)
        if not line.endswith(b"\n") and len(line) <= MAX_LINE_BYTES:
            self._torn = bad
            return bad
        self._n_bad += 1
        if len(self._bad) < MAX_BAD_LINES:
            self._bad.append(bad)
        return bad


def mended(line: bytes) -> bytes | None:
    """A line without halves of surrogate pairs, which node writes and msgspec refuses.

    They come from texts cut in the middle of a character. None where that is not
    what is wrong.
    """
    if b"\\u" not in line:
        return None
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return text.encode(errors="replace")


def _taken(line: bytes, take: Callable[[bytes], T]) -> T:
    if len(line) > MAX_LINE_BYTES:
        raise msgspec.DecodeError(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
    if not line.isascii():
        line.decode()
    try:
        return take(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        whole = mended(line)
        if whole is None:
            raise
    return take(whole)
