"""Model requests of transcripts, each counted once, in little memory. Pure."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator

from evalkit.records import Record
from evalkit.transcript.rows import Tokens

N_CLASSES = 5
NO_TOKENS = Tokens(0, 0, 0, 0, 0)
CHARS_PER_TOKEN = 4
"""Of a model's text, about; of thinking not a character need be shown."""
MAX_CHARS_PER_TOKEN = 8
MIN_CHARS = 200
"""Below so much text no count of a request is implausible."""
MAX_MISSING = 0.1
"""Of the output tokens told, which may miss before their sum is doubted."""


class Mark:
    """What is known of a request: how final its count is, and where it was found.

    Plain bits, since those of an enum take a microsecond each. `OWN` in a row of the file itself, `SIDE` there as a row of a subagent, `NESTED`
    inside a row that tells of a subagent's progress, `JOINED` in a subagent's file.
    """

    FINAL = 1
    STOPPED = 2
    KEPT = 4
    OWN = 8
    SIDE = 16
    NESTED = 32
    JOINED = 64


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
        self._counts = array("q")
        self._chars = array("q")
        self._models = array("H")
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
        self, key: str, model: str, tokens: Tokens | None, marks: int, n_chars: int = 0
    ) -> int:
        """Take one account of a request.

        Args:
            key: Its message id.
            model: Who answered.
            tokens: Its usage; None where the row has none.
            marks: `Mark`s.
            n_chars: Length of the text that this row shows of the answer.

        Returns:
            The request's number, in the order they were first met.
        """
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = len(self._marks)
            self._counts.extend((-1,) * N_CLASSES)
            self._chars.append(0)
            self._models.append(0)
            self._marks.append(0)
            ahead = True
        else:
            ahead = self._is_ahead(slot, tokens, marks)
        self._chars[slot] += n_chars
        where = self._marks[slot] & ~(Mark.FINAL | Mark.KEPT)
        if ahead:
            self._put(slot, model, tokens)
            self._marks[slot] = where | marks
        else:
            how = self._marks[slot] & (Mark.FINAL | Mark.KEPT)
            self._marks[slot] = where | (marks & ~(Mark.FINAL | Mark.KEPT)) | how
        return slot

    def include(self, others: Calls, marks: int = 0) -> None:
        """Take the requests of another transcript, marked so in place of its places."""
        names = list(others._names)
        places = Mark.OWN | Mark.SIDE | Mark.NESTED if marks else 0
        for slot, key in enumerate(others._slots):
            self.add(
                key,
                names[others._models[slot]],
                others.tokens(slot),
                others._marks[slot] & ~places | marks,
                others._chars[slot],
            )

    def tokens(self, slot: int) -> Tokens | None:
        """Usage of a request by its number."""
        counts = self._counts[slot * N_CLASSES : (slot + 1) * N_CLASSES]
        return None if counts[0] < 0 else Tokens(*counts)

    def chosen(self, wanted: int, but: int = 0) -> list[int]:
        """Numbers of the requests that have one of the marks, and none of the others."""
        return [n for n, m in enumerate(self._marks) if m & wanted and not m & but]

    def total(self, slots: list[int]) -> Tokens | None:
        """Usage of requests together; None where none of them tells any."""
        sums, told = [0] * N_CLASSES, False
        for slot in slots:
            start = slot * N_CLASSES
            if self._counts[start] >= 0:
                told = True
                for n in range(N_CLASSES):
                    sums[n] += self._counts[start + n]
        return Tokens(*sums) if told else None

    def models(self, slots: list[int]) -> dict[str, int]:
        """How many of the requests each model answered."""
        names = list(self._names)
        return dict(Counter(names[self._models[slot]] for slot in slots))

    def doubts(self, slots: list[int]) -> tuple[str, ...]:
        """Why the output count of requests is not to be believed; empty: no reason."""
        if not slots:
            return ()
        found: list[str] = []
        silent = sum(self._counts[slot * N_CLASSES] < 0 for slot in slots)
        if silent:
            found.append(f"{silent:,} of {len(slots):,} requests report no usage")
        if not any(self._marks[slot] & Mark.STOPPED for slot in slots):
            found.append("no message says why it stopped")
        short = [slot for slot in slots if self._is_short(slot)]
        missing = sum(
            self._chars[slot] // CHARS_PER_TOKEN - self._output(slot) for slot in short
        )
        output = sum(max(self._output(slot), 0) for slot in slots)
        if missing > MAX_MISSING * output:
            found.append(
                f"{len(short):,} of {len(slots):,} requests have more text than their "
                f"output tokens can hold: about {missing:,} tokens beside {output:,}"
            )
        return tuple(found)

    def _is_short(self, slot: int) -> bool:
        chars, output = self._chars[slot], self._output(slot)
        return chars >= MIN_CHARS and 0 <= output * MAX_CHARS_PER_TOKEN < chars

    def _output(self, slot: int) -> int:
        return self._counts[slot * N_CLASSES + N_CLASSES - 1]

    def _is_ahead(self, slot: int, tokens: Tokens | None, marks: int) -> bool:
        start = slot * N_CLASSES
        if self._counts[start] < 0:
            return True
        if tokens is None:
            return False
        known = sum(self._counts[start : start + N_CLASSES])
        final = self._marks[slot] & Mark.FINAL
        return (tokens.total, marks & Mark.FINAL) >= (known, final)

    def _put(self, slot: int, model: str, tokens: Tokens | None) -> None:
        self._models[slot] = self._names.setdefault(model, len(self._names))
        if tokens is not None:
            start = slot * N_CLASSES
            counts = (tokens.input, tokens.write_5m, tokens.write_1h, tokens.read)
            self._counts[start : start + N_CLASSES] = array(
                "q", (*counts, tokens.output)
            )
