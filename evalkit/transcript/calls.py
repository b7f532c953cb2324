"""Model requests of transcripts, each counted once, in little memory. Pure."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import compress
from operator import and_

from evalkit.records import Record
from evalkit.transcript.rows import Counts, Tokens

CHARS_PER_TOKEN = 4
"""Of a model's text, about; of thinking not a character need be shown."""
MAX_CHARS_PER_TOKEN = 8
MIN_CHARS = 200
"""Below so much text no count of a request is implausible."""
MAX_MISSING = 0.1
"""Of the output tokens told, which may miss before their sum is doubted."""


class Mark:
    """What is known of a request: how final its count is, and where it was found.

    Plain bits, since those of an enum take a microsecond each. `OWN` in a row of the
    file itself, `SIDE` there as a row of a subagent, `NESTED` inside a row that tells
    of a subagent's progress, `JOINED` in a subagent's file.
    `SILENT`: no usage was reported.
    """

    FINAL = 1
    STOPPED = 2
    KEPT = 4
    OWN = 8
    SIDE = 16
    NESTED = 32
    JOINED = 64
    SILENT = 128


_HOW = Mark.FINAL | Mark.KEPT | Mark.SILENT
"""Marks of the account that counts; the others are of all accounts together."""
_UNKNOWN = (0, 0, 0, 0, 0)
_CLASSES = len(_UNKNOWN)
_OUTPUT = 4


class ModelCall(Record, frozen=True):
    """One model request. `tokens` is None where no usage was reported.

    `final` is False where only the usage of the message's start is known, whose
    output count means nothing. `source` is `session` or `stdout`.
    """

    id: str
    model: str
    tokens: Tokens | None
    final: bool
    source: str


class Calls:
    """Requests by message id; of several accounts of one that with most tokens counts.

    Arrays instead of records: a gigabyte of transcript holds 200,000 requests.
    """

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._counts = array("I")
        self._chars = array("Q")
        self._models = array("I")
        self._marks = bytearray()
        self._names: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._marks)

    def __iter__(self) -> Iterator[ModelCall]:
        names = list(self._names)
        for slot, key in enumerate(self._slots):
            marks = self._marks[slot]
            yield ModelCall(
                id=key,
                model=names[self._models[slot]],
                tokens=self.tokens(slot),
                final=bool(marks & Mark.FINAL),
                source="session" if marks & Mark.KEPT else "stdout",
            )

    def add(
        self, key: str, model: str, counts: Counts | None, marks: int, n_chars: int = 0
    ) -> int:
        """Take one account of a request.

        Args:
            key: Its message id.
            model: Who answered.
            counts: Its usage in the five classes; None where none is reported.
            marks: `Mark`s.
            n_chars: Length of the text that this row shows of the answer.

        Returns:
            The request's number, in the order they were first met.
        """
        if counts is None:
            counts, marks = _UNKNOWN, marks | Mark.SILENT
        n_known = len(self._marks)
        slot = self._slots.setdefault(key, n_known)
        if slot == n_known:
            self._counts.extend(counts)
            self._chars.append(n_chars)
            self._models.append(self._names.setdefault(model, len(self._names)))
            self._marks.append(marks)
            return slot
        self._chars[slot] += n_chars
        known = self._marks[slot]
        start = slot * _CLASSES
        new, old = sum(counts), sum(self._counts[start : start + _CLASSES])
        if new > old or (new == old and marks & ~known & Mark.FINAL):
            self._counts[start : start + _CLASSES] = array("I", counts)
            self._models[slot] = self._names.setdefault(model, len(self._names))
            self._marks[slot] = known & ~_HOW | marks
        else:
            self._marks[slot] = known | marks & ~_HOW
        return slot

    def include(self, others: Calls, marks: int = 0) -> None:
        """Take the requests of another transcript, marked so in place of its places."""
        names = list(others._names)
        places = Mark.OWN | Mark.SIDE | Mark.NESTED if marks else 0
        for slot, key in enumerate(others._slots):
            self.add(
                key,
                names[others._models[slot]],
                others._classes(slot),
                others._marks[slot] & ~places | marks,
                others._chars[slot],
            )

    def tokens(self, slot: int) -> Tokens | None:
        """Usage of a request by its number; None where none was reported."""
        counts = self._classes(slot)
        return Tokens(*counts) if counts else None

    def slot(self, key: str) -> int:
        """Number of a request by its message id; -1 where it was never met."""
        return self._slots.get(key, -1)

    def model(self, slot: int) -> str:
        """Who answered a request."""
        return list(self._names)[self._models[slot]]

    def is_final(self, slot: int) -> bool:
        """False where a request's usage is only that of its message's start."""
        return bool(self._marks[slot] & Mark.FINAL)

    def chosen(self, wanted: int, but: int = 0) -> bytes:
        """Which requests have one of the marks and none of the others: 1 each, or 0."""
        table = bytes(bool(n & wanted and not n & but) for n in range(256))
        return bytes(self._marks).translate(table)

    def total(self, chosen: bytes) -> Tokens | None:
        """Usage of requests together; None where none of them tells any."""
        if not any(compress(self._told(), chosen)):
            return None
        columns = (self._counts[n::_CLASSES] for n in range(_CLASSES))
        return Tokens(*(sum(compress(column, chosen)) for column in columns))

    def models(self, chosen: bytes) -> dict[str, int]:
        """How many of the requests each model answered."""
        names = list(self._names)
        counts = Counter(compress(self._models, chosen))
        return {names[n]: count for n, count in counts.items()}

    def doubts(self, chosen: bytes) -> tuple[str, ...]:
        """Why the output count of requests is not to be believed; empty: no reason."""
        n = sum(chosen)
        if not n:
            return ()
        found: list[str] = []
        told = bytes(map(and_, self._told(), chosen))
        silent = n - sum(told)
        if silent:
            found.append(f"{silent:,} of {n:,} requests report no usage")
        if not any(compress(self.chosen(Mark.STOPPED), chosen)):
            found.append("no message says why it stopped")
        outputs = self._counts[_OUTPUT::_CLASSES]
        n_short = n_missing = 0
        for chars, output in compress(zip(self._chars, outputs, strict=True), told):
            if chars > output * MAX_CHARS_PER_TOKEN and chars >= MIN_CHARS:
                n_short += 1
                n_missing += chars // CHARS_PER_TOKEN - output
        n_told = sum(compress(outputs, told))
        if n_missing > MAX_MISSING * n_told:
            found.append(
                f"{n_short:,} of {n:,} requests have more text than their output "
                f"tokens can hold: about {n_missing:,} tokens beside {n_told:,}"
            )
        return tuple(found)

    def _told(self) -> bytes:
        return self.chosen(0xFF, but=Mark.SILENT)

    def _classes(self, slot: int) -> Counts | None:
        if self._marks[slot] & Mark.SILENT:
            return None
        start = slot * _CLASSES
        given, write_5m, write_1h, read, output = self._counts[start : start + _CLASSES]
        return given, write_5m, write_1h, read, output
