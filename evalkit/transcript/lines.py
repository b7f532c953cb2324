"""Lines of a transcript as they are read: how many, of what types, which are no rows.

A line is a row where JSON, UTF-8 and the shape that its type has all hold. No line
is fatal, and each that is no row is known by its number.
"""

from __future__ import annotations

import json
from bisect import insort
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from io import BufferedIOBase, BytesIO
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from evalkit.records import Record

CHUNK_BYTES = 2**17
"""More does not stay in a processor's cache: a megabyte takes a tenth longer."""
MAX_LINE_BYTES = 64 * 2**20
MAX_BAD_LINES = 100
"""Bad lines told by number; the rest is only counted."""
MAX_FAULT_CHARS = 200
FAULTS = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What reading a line may raise where the line is no row."""
TOO_LONG = f"the line is longer than {MAX_LINE_BYTES:,} bytes"


class Typed(Protocol):
    """A row has a type."""

    type: str


R = TypeVar("R", bound=Typed)


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


class Chunk(NamedTuple):
    """Some whole lines of a file.

    Args:
        lines: With their ends; one that is too long to be held is empty.
        start: Where in the file they begin, in bytes.
    """

    lines: list[bytes]
    start: int


def chunks(opened: BufferedIOBase) -> Iterator[Chunk]:
    """A file as whole lines, in pieces small enough to be read fast."""
    start = len(BOM_UTF8) if opened.read(len(BOM_UTF8)) == BOM_UTF8 else 0
    opened.seek(start)
    rest = b""
    while block := opened.read(CHUNK_BYTES):
        lines = BytesIO(block).readlines()
        lines[0] = rest + lines[0]
        rest = b"" if block.endswith(b"\n") else lines.pop()
        if not lines:
            lines, rest = [_long_line(rest, opened)], b""
        end = opened.tell() - len(rest)
        yield Chunk(lines, start)
        start = end
    if rest:
        yield Chunk([rest], start)


def _long_line(begun: bytes, opened: BufferedIOBase) -> bytes:
    """A line that is begun, read to its end; empty where it is too long to be held."""
    line = begun + opened.readline(MAX_LINE_BYTES)
    if len(line) <= MAX_LINE_BYTES:
        return line
    while line and not line.endswith(b"\n"):
        line = opened.readline(CHUNK_BYTES)
    return b""


class Lines(Generic[R]):
    """Reads lines to rows, and keeps their tally."""

    def __init__(self, row: type[R], known: frozenset[str]) -> None:
        self._decoder = msgspec.json.Decoder(row)
        self._known = known
        self._records: Counter[str] = Counter()
        self._bad: list[BadLine] = []
        self._number = self._n_blank = self._n_bad = 0
        self._torn: BadLine | None = None

    def rows(self, chunk: Chunk) -> list[R | None]:
        """The rows of a chunk, one a line; None where a line is blank or no row."""
        decode_row = self._decoder.decode
        found: list[R | None] = []
        for line in chunk.lines:
            try:
                if not line.isascii():
                    line.decode()  # msgspec takes any bytes where it passes over them.
                row = decode_row(line)
            except FAULTS:
                row = self._mended(line, self._number + len(found) + 1)
            found.append(row)
        self._number += len(found)
        self._records.update([row.type for row in found if row])
        return found

    def spoil(self, row: R, n_after: int, error: Exception) -> None:
        """A row that was read turned out to be none, so many lines before the last."""
        self._records[row.type] -= 1
        self._note(str(error), self._number - n_after)

    def tally(self) -> Tally:
        """All that was read until now."""
        records = {name: n for name, n in self._records.items() if n}
        return Tally(
            n_lines=self._number - self._n_blank,
            n_bad_lines=self._n_bad,
            bad_lines=tuple(self._bad),
            torn=self._torn,
            records=records,
            unknown={name: n for name, n in records.items() if name not in self._known},
        )

    def _mended(self, line: bytes, number: int) -> R | None:
        """The row of a line that msgspec refuses; None, and told, where it is none."""
        if not line:
            self._note(TOO_LONG, number)
        elif line.isspace():
            self._n_blank += 1
        else:
            try:
                return decode(line.removesuffix(b"\n"), self._decoder)
            except FAULTS as error:
                if line.endswith(b"\n"):
                    self._note(str(error), number)
                else:
                    self._torn = BadLine(number, str(error)[:MAX_FAULT_CHARS])
        return None

    def _note(self, fault: str, number: int) -> None:
        self._n_bad += 1
        found = BadLine(number, fault[:MAX_FAULT_CHARS])
        insort(self._bad, found, key=lambda bad: bad.line)
        del self._bad[MAX_BAD_LINES:]


def decode(line: bytes, decoder: msgspec.json.Decoder[R]) -> R:
    """Read one line.

    Node writes halves of surrogate pairs, where a text was cut in the middle of a
    character; msgspec refuses them, so they are replaced.

    Raises:
        msgspec.MsgspecError: It is no row; or one of the other `FAULTS`.
    """
    text = line.decode()
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if b"\\u" not in line:
            raise
        try:
            mended = json.dumps(json.loads(text), ensure_ascii=False)
        except ValueError:
            mended = None
        if mended is None:
            raise
    return decoder.decode(mended.encode(errors="replace"))
