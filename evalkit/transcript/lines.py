"""Lines of a transcript as they are read: how many, of what types, which are no rows.

A line is a row where JSON, UTF-8 and the shape that its type has all hold. No line
is fatal, and each that is no row is known by its number.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from io import BufferedIOBase
from operator import attrgetter
from typing import Generic, NamedTuple, Protocol, TypeVar, cast

import msgspec

from evalkit.records import Record

CHUNK_BYTES = 2**17
"""More does not stay in a processor's cache, and takes twice as long."""
MAX_LINE_BYTES = 64 * 2**20
MAX_BAD_LINES = 100
"""Bad lines told by number; the rest is only counted."""
MAX_FAULT_CHARS = 200
FAULTS = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What reading a line may raise where the line is no row."""
_OPEN, _CLOSE = b"{}"
TOO_LONG = f"the line is longer than {MAX_LINE_BYTES:,} bytes"
_type_of = attrgetter("type")


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
        data: The lines with their ends; empty where it is one line that is not held.
        start: Where in the file they begin, in bytes.
    """

    data: bytes
    start: int

    def lines(self) -> list[bytes]:
        """The lines, without their ends."""
        return self.data.removesuffix(b"\n").split(b"\n")


def chunks(opened: BufferedIOBase) -> Iterator[Chunk]:
    """A file as whole lines, in pieces small enough to be read fast."""
    start = len(BOM_UTF8) if opened.read(len(BOM_UTF8)) == BOM_UTF8 else 0
    opened.seek(start)
    buffer, n_held = bytearray(2 * CHUNK_BYTES), 0
    view = memoryview(buffer)
    while n_read := opened.readinto(view[n_held : n_held + CHUNK_BYTES]):
        n_filled = n_held + n_read
        end = buffer.rfind(b"\n", 0, n_filled) + 1
        if end:
            yield Chunk(bytes(view[:end]), start)
            start += end
            n_held = n_filled - end
            view[:n_held] = view[end:n_filled]
            continue
        line = bytes(view[:n_filled]) + opened.readline(MAX_LINE_BYTES)
        size, n_held = len(line), 0
        if size > MAX_LINE_BYTES:
            while line and not line.endswith(b"\n"):
                line = opened.readline(CHUNK_BYTES)
                size += len(line)
            line = b""
        yield Chunk(line, start)
        start += size
    if n_held:
        yield Chunk(bytes(view[:n_held]), start)


class Lines(Generic[R]):
    """Reads lines to rows, and keeps their tally."""

    def __init__(self, row: type[R], known: frozenset[str]) -> None:
        self._decoder = msgspec.json.Decoder(row)
        self._known = known
        self._records: Counter[str] = Counter()
        self._bad: list[BadLine] = []
        self._number = self._n_lines = self._n_bad = 0
        self._torn: BadLine | None = None

    def rows(self, chunk: Chunk) -> list[R | None]:
        """The rows of a chunk, one a line; None where a line is blank or no row."""
        found = self._at_once(chunk.data) if chunk.data else None
        if found is not None:
            self._number += len(found)
            self._n_lines += len(found)
            self._records.update(map(_type_of, found))
            return cast("list[R | None]", found)
        if not chunk.data:
            self._number += 1
            self._n_lines += 1
            self._note(TOO_LONG, self._number)
            return [None]
        *lines, last = chunk.lines()
        torn = not chunk.data.endswith(b"\n")
        return [*map(self._row, lines), self._row(last, torn=torn)]

    def spoil(self, row: R, n_after: int, error: Exception) -> None:
        """A row that was read turned out to be none, so many lines before the last."""
        self._records[row.type] -= 1
        self._note(str(error), self._number - n_after)

    def tally(self) -> Tally:
        """All that was read until now."""
        records = {name: n for name, n in self._records.items() if n}
        return Tally(
            n_lines=self._n_lines,
            n_bad_lines=self._n_bad,
            bad_lines=tuple(self._bad),
            torn=self._torn,
            records=records,
            unknown={name: n for name, n in records.items() if name not in self._known},
        )

    def _at_once(self, data: bytes) -> list[R] | None:
        """All rows, where every line is one; else None.

        msgspec takes an object that spans lines, and two on one line. So each line
        must begin and end as an object does, and there be a row for each; and it
        takes what is no UTF-8 where it passes over it.
        """
        start, n_lines = 0, 0
        find, opening, closing = data.find, _OPEN, _CLOSE
        try:
            while end := find(b"\n", start) + 1:
                line = data[start:end]
                if line[0] != opening or line[-2] != closing:
                    return None
                if not line.isascii():
                    line.decode()
                start = end
                n_lines += 1
            if start < len(data):
                data[start:].decode()
                n_lines += 1
            found = cast("list[R]", self._decoder.decode_lines(data))
        except (*FAULTS, IndexError):
            return None
        return found if len(found) == n_lines else None

    def _row(self, line: bytes, *, torn: bool = False) -> R | None:
        self._number += 1
        if not line or line.isspace():
            return None
        self._n_lines += 1
        try:
            row = decode(line, self._decoder)
        except FAULTS as error:
            if torn:
                self._torn = BadLine(self._number, str(error)[:MAX_FAULT_CHARS])
            else:
                self._note(str(error), self._number)
            return None
        self._records[row.type] += 1
        return row

    def _note(self, fault: str, number: int) -> None:
        self._n_bad += 1
        if len(self._bad) < MAX_BAD_LINES:
            self._bad.append(BadLine(number, fault[:MAX_FAULT_CHARS]))


def decode(line: bytes, decoder: msgspec.json.Decoder[R]) -> R:
    """Read one line.

    Node writes halves of surrogate pairs, where a text was cut in the middle of a
    character; msgspec refuses them, so they are replaced.

    Raises:
        msgspec.MsgspecError: It is no row; or one of the other `FAULTS`.
    """
    line.decode()
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if b"\\u" not in line:
            raise
        try:
            text = json.dumps(json.loads(line), ensure_ascii=False)
        except ValueError:
            text = None
        if text is None:
            raise
    return decoder.decode(text.encode(errors="replace"))
