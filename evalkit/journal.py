"""The journal: one fsynced line per event, each bound to the line before it.

The chain shows that a line was edited, except the last one, for which a head
kept elsewhere is needed; the report prints the head.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from evalkit import files
from evalkit.errors import InputError, RunLockedError
from evalkit.files import disk
from evalkit.records import Bodies, Deviation, Event

GENESIS = "0" * 64
_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Event)


class Journal(msgspec.Struct, frozen=True):
    """What a journal holds; `torn` is True where its last line is half written."""

    events: tuple[Event, ...]
    head: str
    torn: bool


def read_journal(path: Path, *, until: str | None = None) -> Journal:
    """Read and check a journal; a missing one is empty.

    Args:
        path: Its file.
        until: Head to stop at, so that what was added since is left out.

    Raises:
        InputError: A line is no event, or the chain breaks; names the line. Or
            `until` is not there, or the file is no regular one.
    """
    events: list[Event] = []
    head = GENESIS
    torn = False
    if path.exists():
        with files.open_regular(path) as lines:
            for n, line in enumerate(lines, 1):
                if head == until:
                    break
                torn = not line.endswith(b"\n")
                if torn:
                    break
                events.append(_checked(line, n, head, path))
                head = files.sha256(line[:-1])
    if until not in {None, head}:
        raise InputError(
            path,
            expected=f"a line with sha256 {until}",
            found=f"{len(events)} other lines",
            cure="it was edited meanwhile: restore it from a copy",
        )
    return Journal(tuple(events), head, torn=torn)


class Writer:
    """The one writer of a run's journal; holds the lock as long as it is open.

    Opening cuts a torn last line, and so does the next append after one that
    failed: its event is written again by whoever finds its evidence.
    """

    def __init__(self, path: Path, *, now: Callable[[], str]) -> None:
        """Take the lock and read what stands.

        Args:
            path: The journal's file; made if missing.
            now: Gives the time of an event as ISO text.

        Raises:
            RunLockedError: Another process holds the lock.
            InputError: The journal is not valid.
        """
        import filelock

        self._now = now
        self._lock = filelock.FileLock(path.with_suffix(".lock"), timeout=0)
        self._mutex = threading.Lock()
        try:
            self._lock.acquire()
        except filelock.Timeout as error:
            raise RunLockedError(
                f"{path.parent}: expected no other process on this run, found its lock "
                f"held; wait for that process, or end it"
            ) from error
        try:
            found = read_journal(path)
            self._file = path.open("ab", buffering=0)
            self._size = _end_of_last_line(path)
            self._cut()
            files.sync_folder(path.parent)
        except BaseException:
            self._lock.release()
            raise
        self.stood = found.events
        """The events that stood when it was opened; no later one is kept in memory."""
        self.head = found.head
        self._n_events = len(found.events)
        self._noted = {e.body for e in found.events if isinstance(e.body, Deviation)}

    def append(self, body: Bodies) -> Event:
        """Write one event and wait until it is on the disk.

        Raises:
            OSError: The disk did not take it; the journal can be appended to still.
        """
        with self._mutex:
            self._cut()
            event = Event(self._n_events + 1, self._now(), self.head, body)
            line = _encoder.encode(event)
            self._write(line + b"\n")
            self._size += len(line) + 1
            self.head = files.sha256(line)
            self._n_events += 1
            return event

    def note(self, deviation: Deviation) -> Event | None:
        """Write a deviation, unless a line says it already; then None.

        Raises:
            OSError: As `append` does.
        """
        if deviation in self._noted:
            return None
        event = self.append(deviation)
        self._noted.add(deviation)
        return event

    def _write(self, data: bytes) -> None:
        """Make bytes durable, or leave none of them."""
        try:
            disk.write_all(self._file, data)
            os.fsync(self._file.fileno())
        except BaseException:
            with suppress(OSError):  # then the next append cuts, or fails too
                self._cut()
            raise

    def _cut(self) -> None:
        """Take away what stands behind the last line that is known to be whole."""
        if os.fstat(self._file.fileno()).st_size != self._size:
            os.ftruncate(self._file.fileno(), self._size)
            os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._lock.release()


def _end_of_last_line(path: Path) -> int:
    return path.read_bytes().rfind(b"\n") + 1


def _checked(line: bytes, n: int, head: str, path: Path) -> Event:
    try:
        event = _decoder.decode(line)
    except msgspec.DecodeError as error:
        raise InputError(
            f"{path} line {n}",
            expected="an event as evalkit wrote it",
            found=str(error),
            cure="restore the journal from a copy; nothing was changed",
        ) from error
    if event.previous != head or event.n != n:
        raise InputError(
            f"{path} line {n}",
            expected=f"event {n} after the line with sha256 {head[:12]}",
            found=f"event {event.n} after {event.previous[:12]}: "
            f"a line up to {n} was edited, removed or added",
            cure="restore the journal from a copy; nothing was changed",
        )
    return event
