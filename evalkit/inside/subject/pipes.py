"""What children write: output that is kept, and answers on a private pipe."""

from __future__ import annotations

import contextlib
import json
import os
import select
import threading
import time
from collections.abc import Sequence

from evalkit.inside.subject.bounds import (
    MAX_LINES,
    MAX_OUTPUT,
    Any,
    Json,
    refuse_constant,
    text_of,
)
from evalkit.inside.subject.family import Family, nameless_file


class Capture:
    """stdout and stderr of a child: the first bytes of each are kept.

    A thread drains the pipes, so that no child waits for a reader.
    """

    def __init__(self) -> None:
        pipes = os.pipe(), os.pipe()
        self.ends = tuple(end for _, end in pipes)
        self.truncated = False
        self._kept = {start: bytearray() for start, _ in pipes}
        self._open = set(self._kept)
        self._lock = threading.Lock()
        for start in self._open:
            os.set_blocking(start, False)

    def follow(self) -> None:
        """Begin to drain, once the child has its ends."""
        for end in self.ends:
            os.close(end)
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        poller = select.poll()
        for start in self._open:
            poller.register(start, select.POLLIN)
        while self._open:
            for start, _ in poller.poll():
                if self._take(start) == b"":
                    poller.unregister(start)
                    with self._lock:
                        self._open.discard(start)
                        os.close(start)

    def _take(self, start: int) -> bytes | None:
        with self._lock:
            if start not in self._open:
                return None
            try:
                data = os.read(start, 65_536)
            except BlockingIOError:
                return None
            kept = self._kept[start]
            room = MAX_OUTPUT - len(kept)
            kept += data[:room]
            self.truncated |= len(data) > room
            return data

    def texts(self) -> tuple[str, str]:
        """What was written so far to stdout and to stderr."""
        for start in self._kept:
            for _ in range(4):  # a pipe holds 64 KiB: this empties it
                if not self._take(start):
                    break
        out, err = (text_of(bytes(kept)) for kept in self._kept.values())
        return out, err

    def text(self) -> str:
        """Both together, saying so where something is missing."""
        return "".join(self.texts()) + ("\n[truncated]" if self.truncated else "")


def spawn(
    family: Family, job: Json, capture: Capture, *more: int, stdin: bytes = b""
) -> int:
    """Have a child made, its output captured; `more` are descriptors it gets."""
    try:
        with contextlib.closing(nameless_file(stdin)) as source:
            return family.make(job, source.fileno(), *capture.ends, *more)
    finally:
        capture.follow()


class Talker:
    """A child that answers on a private pipe, line by line."""

    def __init__(self, pid: int, start: int, owed: int) -> None:
        self.pid = pid
        self.start = start
        self.owed = owed
        self.lines: list[Json] = []
        self.ready = False
        self.over: str | None = None
        self._rest = b""
        self._room = MAX_LINES
        os.set_blocking(start, False)

    @property
    def done(self) -> bool:
        """True where nothing more is to be read from it."""
        return self.over is not None or len(self.lines) >= self.owed

    def take(self) -> None:
        """Read what is there."""
        with contextlib.suppress(BlockingIOError):
            while not self.done:
                data = os.read(self.start, 65_536)
                if not data:
                    self.over = "no-answer"
                self._room -= len(data)
                *lines, self._rest = (self._rest + data).split(b"\n")
                for line in lines:
                    self._hear(line)
                if self._room < 0:
                    self.over = "not-plain"

    def _hear(self, line: bytes) -> None:
        if self.over is not None:  # whoever misspoke is not listened to further
            return
        try:
            told: Any = json.loads(line, parse_constant=refuse_constant)
            # Refuses 1e999 and lone surrogates, which would pass as JSON so far.
            json.dumps(told, allow_nan=False, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            told = None
        if told == {"ready": True}:
            self.ready = True
        elif isinstance(told, dict) and len(self.lines) < self.owed:
            self.lines.append(told)
        else:
            self.over = "no-answer"


def listen(
    family: Family, talkers: Sequence[Talker], within_s: float, go: int | None = None
) -> None:
    """Hear children out, until each has answered, died or run out of time.

    Args:
        family: They belong to.
        talkers: The children.
        within_s: For all of them.
        go: Closed when all are ready, which lets them begin.
    """
    deadline = time.monotonic() + within_s
    while pending := [talker for talker in talkers if not talker.done]:
        poller = select.poll()
        for talker in pending:
            poller.register(talker.start, select.POLLIN)
        poller.poll(20)
        family.reap()
        for talker in pending:
            ended = talker.pid in family.ended
            talker.take()
            if ended and not talker.done:
                talker.over = "no-answer"
            elif time.monotonic() > deadline and not talker.done:
                talker.over = "timeout"
        if go is not None and all(talker.ready or talker.done for talker in talkers):
            os.close(go)
            go = None
    if go is not None:
        os.close(go)
    for talker in talkers:
        os.close(talker.start)
        if talker.over or family.wait(talker.pid, 1.0) is None:
            family.end(talker.pid)
