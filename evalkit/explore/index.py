"""A transcript page by page: only the items of a page are decoded."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from evalkit.errors import InputError
from evalkit.explore import claude, codex, opening
from evalkit.explore.items import FILTERS, Facet, Item, Part, kind_of
from evalkit.explore.places import NO_REQUEST, Place, Placed, find_places
from evalkit.transcript.kinds import Kind
from evalkit.transcript.lines import FAULTS, TOO_LONG, decode
from evalkit.transcript.rows import Tokens

N_CLASSES = 5


class Transcript:
    """A transcript and its subagents' files, indexed; none of their text is held.

    Subagents' items stand after the call that launched them, or at the end. The
    index tells what the files held when it was made.

    Args:
        path: The transcript's file.

    Raises:
        InputError: It is no transcript, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kind = opening.kind_of(path)
        self._placed = find_places(path, self.kind)
        self._cumulative = _cumulative(self._placed)
        is_codex = self.kind in {Kind.CODEX_STREAM, Kind.CODEX_ROLLOUT}
        self._form = codex if is_codex else claude
        self._decoder = msgspec.json.Decoder[Any](self._form.Row)

    def __len__(self) -> int:
        return len(self._placed.places)

    @property
    def session(self) -> Any:
        """What the files say together; see `transcript.claude`, `transcript.codex`."""
        return self._placed.session

    @property
    def files(self) -> tuple[Path, ...]:
        """The transcript's file, then its subagents'."""
        return self._placed.files

    def items(self, start: int, n: int) -> list[Item]:
        """The items of a page.

        Args:
            start: Number of the first, from 0.
            n: How many; fewer come where there are no more.
        """
        first = max(start, 0)
        return self.chosen(range(first, min(first + n, len(self))))

    def chosen(self, numbers: Iterable[int]) -> list[Item]:
        """Items by their numbers, such as those that a filter lets through."""
        return list(self.each(numbers))

    def each(self, numbers: Iterable[int]) -> Iterator[Item]:
        """Items by their numbers, one by one."""
        known, found = None, _Read(b"", "", None, [])
        for n, place, line in self._lines(numbers):
            if place != known:
                found = self._read(line)
                known = place
            yield self._item(n, found)

    def select(self, *names: str) -> array[int]:
        """Numbers of the items of some kinds, in order.

        Args:
            names: Of `FILTERS`.

        Raises:
            InputError: There is no such kind.
        """
        wanted = _facets(names)
        facets = self._placed.places.facets
        return array("I", (n for n, f in enumerate(facets) if f & wanted))

    def next(self, name: str, start: int, *, back: bool = False) -> int | None:
        """Number of the next item of a kind after one, or before it; None: no more.

        Raises:
            InputError: There is no such kind.
        """
        wanted = _facets((name,))
        facets = self._placed.places.facets
        way = range(start - 1, -1, -1) if back else range(start + 1, len(self))
        return next((n for n in way if facets[n] & wanted), None)

    def counts(self) -> dict[str, int]:
        """How many items each filter lets through."""
        facets = self._placed.places.facets
        return {
            name: sum(bool(f & wanted) for f in facets)
            for name, wanted in FILTERS.items()
        }

    def facets(self, start: int, stop: int) -> array[int]:
        """What items are, as `Facet` bits, from `start` to before `stop`."""
        return self._placed.places.facets[start:stop]

    def times(self, numbers: Iterable[int]) -> list[str | None]:
        """When items were, as their rows say; nothing else of them is decoded."""
        found: list[str | None] = []
        for _n, _place, line in self._lines(numbers):
            try:
                found.append(decode(line, _TIMED).timestamp)
            except FAULTS:
                found.append(None)
        return found

    def cumulative(self, n: int) -> Tokens:
        """Usage of all requests up to an item."""
        return Tokens(*self._cumulative[n * N_CLASSES : (n + 1) * N_CLASSES])

    def requests(self) -> Iterator[tuple[int, str, Tokens]]:
        """Each request that tells its usage: its first item, its model, its tokens."""
        for n, slot in enumerate(self._placed.places.slot):
            tokens = None if slot == NO_REQUEST else self._placed.usage(slot)[0]
            if tokens is not None:
                yield n, self._placed.model(slot), tokens

    def _lines(self, numbers: Iterable[int]) -> Iterator[tuple[int, Place, bytes]]:
        """The line of each item; one file is open at a time, however many there are."""
        known, line = None, b""
        with ExitStack() as stack:
            opened: BinaryIO | None = None
            for n in numbers:
                place = self._placed.places.place(n)
                if opened is None or known is None or place.file != known.file:
                    stack.close()
                    file = opening.opened(self.files[place.file])
                    opened = stack.enter_context(file)
                if place != known:
                    opened.seek(place.offset)
                    line = opened.read(place.size)
                known = place
                yield n, place, line

    def _read(self, line: bytes) -> _Read:
        try:
            row = decode(line, self._decoder)
            return _Read(line, "", row, self._form.parts(row))
        except FAULTS as error:
            return _Read(line, f"{error}\n" if line else TOO_LONG, None, [])

    def _changed(self, file: int) -> InputError:
        return InputError(
            self.files[file],
            expected="the file as it was when it was opened",
            found="other rows where its items were",
            cure="open it again",
        )

    def _item(self, n: int, found: _Read) -> Item:
        places = self._placed.places
        facets, slot = places.facets[n], places.slot[n]
        told: dict[str, Any] = {"row": "", "text": "", "is_error": True}
        if found.row is not None:
            if places.part[n] >= len(found.parts):
                raise self._changed(places.file[n])
            told = self._form.fields(found.row, found.parts[places.part[n]])
        if not told["text"] and facets & (Facet.SYSTEM | Facet.UNKNOWN | Facet.BAD):
            told["text"] = found.fault + found.line.decode(errors="replace")
            told["is_raw"] = True
        usage, final = None, True
        if slot != NO_REQUEST:
            usage, final = self._placed.usage(slot)
        return Item(
            n=n,
            kind=kind_of(facets),
            facets=facets,
            line=places.line[n],
            agent=self._placed.agents[places.file[n]],
            usage=usage,
            final=final,
            cumulative=self.cumulative(n),
            **told,
        )


class _Timed(msgspec.Struct):
    """A row, as far as it tells when it was written."""

    timestamp: str | None = None


_TIMED = msgspec.json.Decoder[Any](_Timed)


class _Read(NamedTuple):
    """A line as it was read: its fault, or its row where it is one, the row's parts."""

    line: bytes
    fault: str
    row: Any
    parts: list[Part]


def _facets(names: Iterable[str]) -> int:
    found = 0
    for name in names:
        if name not in FILTERS:
            raise InputError(
                "kind",
                expected=" or ".join(FILTERS),
                found=repr(name),
                cure="choose some of these",
            )
        found |= FILTERS[name]
    return found


def _cumulative(placed: Placed) -> array[int]:
    """Five running sums an item."""
    columns = [array("Q", bytes(8 * len(placed.places))) for _ in range(N_CLASSES)]
    for n, slot in enumerate(placed.places.slot):
        tokens = None if slot == NO_REQUEST else placed.usage(slot)[0]
        if tokens is not None:
            counts = msgspec.structs.astuple(tokens)
            for column, count in zip(columns, counts, strict=True):
                column[n] = count
    sums = array("Q", bytes(8 * N_CLASSES * len(placed.places)))
    for n, column in enumerate(columns):
        sums[n::N_CLASSES] = array("Q", accumulate(column))
    return sums
