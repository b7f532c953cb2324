"""Where the items of a transcript lie: one pass over its files, arrays of numbers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from evalkit.explore import claude, codex, opening, subagents
from evalkit.explore.items import Facet, Part
from evalkit.transcript import claude as claude_rows
from evalkit.transcript import codex as codex_rows
from evalkit.transcript.calls import Calls, Mark
from evalkit.transcript.kinds import Kind
from evalkit.transcript.lines import Chunk, chunks
from evalkit.transcript.rows import Tokens

T = TypeVar("T")
NO_REQUEST = -1


class Place(NamedTuple):
    """Where a line lies: the number of its file, its first byte, size and number."""

    file: int
    offset: int
    size: int
    line: int


class Places:
    """An array for each thing that is known of all items; `slot` is their request."""

    def __init__(self) -> None:
        self.facets = array("H")
        self.file = array("H")
        self.offset = array("Q")
        self.size = array("I")
        self.line = array("I")
        self.part = array("I")
        self.slot = array("i")

    def __len__(self) -> int:
        return len(self.facets)

    def add(self, place: Place, part: int, facets: int, slot: int = NO_REQUEST) -> None:
        """One more item: a part of the line at a place."""
        self.facets.append(facets)
        self.file.append(place.file)
        self.offset.append(place.offset)
        self.size.append(place.size)
        self.line.append(place.line)
        self.part.append(part)
        self.slot.append(slot)

    def insert(self, at: int, others: Places) -> None:
        """Items of another file, before the item that is `at`."""
        for name, values in vars(self).items():
            values[at:at] = getattr(others, name)

    def place(self, n: int) -> Place:
        """Where the line of an item lies."""
        return Place(self.file[n], self.offset[n], self.size[n], self.line[n])


class Placed(NamedTuple):
    """What one pass finds.

    Args:
        places: Where each item lies.
        files: The files, the transcript itself first.
        agents: Whose file each is; None: the transcript itself.
        session: What the files say together.
        usage: Tokens of each request, and whether they are final.
        model: Who answered each request; empty where that is not told.
    """

    places: Places
    files: tuple[Path, ...]
    agents: tuple[str | None, ...]
    session: claude_rows.Session | codex_rows.CodexSession
    usage: Callable[[int], tuple[Tokens | None, bool]]
    model: Callable[[int], str]


def find_places(path: Path, kind: Kind) -> Placed:
    """Read a transcript, and its subagents' files, once from end to end."""
    if kind in {Kind.CODEX_STREAM, Kind.CODEX_ROLLOUT}:
        return _of_codex(path)
    return _of_claude(path, kind)


def _of_claude(path: Path, kind: Kind) -> Placed:
    calls, seen = Calls(), set[int]()
    main = _File(0, calls, seen, Mark.OWN)
    session = main.read(path)
    files = [path]
    agents: list[str | None] = [None]
    joined: list[tuple[int, Places]] = []
    beside = subagents.files_of(path, session.id) if kind is Kind.CLAUDE_SESSION else ()
    for n, file in enumerate(beside, 1):
        agent = subagents.agent_of(file)
        inner = _File(n, calls, seen, Mark.JOINED)
        inner.read(file)
        main.close(agent)
        call = main.launches.get(main.agents.get(agent, ""), len(main.places) - 1)
        joined.append((call + 1, inner.places))
        files.append(file)
        agents.append(agent)
    for at, places in sorted(joined, key=lambda pair: -pair[0]):
        main.places.insert(at, places)

    def usage(slot: int) -> tuple[Tokens | None, bool]:
        return calls.tokens(slot), calls.is_final(slot)

    return Placed(main.places, tuple(files), tuple(agents), session, usage, calls.model)


class _File:
    """One file of Claude Code's, as it is read.

    `seen` holds the requests that an item has, of whatever file.
    """

    def __init__(self, n: int, calls: Calls, seen: set[int], place: int) -> None:
        self._n = n
        self._calls = calls
        self._reader = claude_rows.Reader(claude.Row, calls, place)
        self._seen = seen
        self._nested: dict[str, list[int]] = {}
        self.places = Places()
        self.launches: dict[str, int] = {}
        self.agents: dict[str, str] = {}

    def read(self, path: Path) -> claude_rows.Session:
        """Take all its lines."""
        for place, row in _rows(path, self._n, self._reader.take):
            if row is None:
                self.places.add(place, 0, Facet.ERROR | Facet.BAD)
                continue
            found = claude.parts(row)
            self._note_agents(row, found)
            slot = self._slot(row)
            for n, part in enumerate(found):
                self.places.add(place, n, part.facets, NO_REQUEST if n else slot)
        return self._reader.session()

    def close(self, agent: str) -> None:
        """Its file is joined: what rows of progress repeat of it is no more a message."""
        for n in self._nested.get(agent, ()):
            self.places.facets[n] = Facet.SYSTEM | Facet.SUBAGENT

    def _slot(self, row: claude.Row) -> int:
        """The request of a row, at the first row that carries it."""
        message = claude.message_of(row)
        key = claude_rows.key_of(row, message) if message else None
        slot = self._calls.slot(key) if key else NO_REQUEST
        if slot in self._seen:
            return NO_REQUEST
        self._seen.add(slot)
        return slot

    def _note_agents(self, row: claude.Row, found: list[Part]) -> None:
        first = len(self.places)
        if row.type == "progress":
            agent = claude.progress_of(row).agent_id
            if agent:
                self.agents.setdefault(agent, row.parent_call or "")
                spread = range(first, first + len(found))
                self._nested.setdefault(agent, []).extend(spread)
        agent = claude.launched(row)
        for n, part in enumerate(found):
            block = part.content
            if part.facets & Facet.LAUNCH and block.id:
                self.launches[block.id] = first + n
            if agent and part.facets & Facet.RESULT and block.tool_use_id:
                self.agents[agent] = block.tool_use_id


def _of_codex(path: Path) -> Placed:
    reader = codex_rows.Reader()
    places = Places()
    for place, row in _rows(path, 0, reader.take):
        if row is None:
            places.add(place, 0, Facet.ERROR | Facet.BAD)
            continue
        for n, part in enumerate(codex.parts(row)):
            places.add(place, n, part.facets)
    session = reader.session()
    slots = {line: slot for slot, line in enumerate(reader.lines_of_usage())}
    rows = session.requests or session.turns
    for n, line in enumerate(places.line):
        if not places.part[n]:
            places.slot[n] = slots.get(line, NO_REQUEST)

    def usage(slot: int) -> tuple[Tokens, bool]:
        row = rows[slot]
        counts = (row.input, row.write_5m, row.write_1h, row.read, row.output)
        return Tokens(*counts), True

    def model(slot: int) -> str:
        return rows[slot].model

    return Placed(places, (path,), (None,), session, usage, model)


def _rows(
    path: Path, file: int, take: Callable[[Chunk], list[T | None]]
) -> Iterator[tuple[Place, T | None]]:
    """Each line that is not blank: where it lies, and its row; None: it is none."""
    number = 0
    with opening.opened(path) as opened:
        for chunk in chunks(opened):
            offset = chunk.start
            for row, line in zip(take(chunk), chunk.lines, strict=True):
                number += 1
                if row is not None or not line or line.strip():
                    size = len(line.removesuffix(b"\n"))
                    yield Place(file, offset, size, number), row
                offset += len(line)
