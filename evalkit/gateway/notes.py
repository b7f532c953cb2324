"""What the gateway writes down of each request: `gateway.jsonl`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from evalkit.gateway.terms import Caps
from evalkit.records import Exchange, Record

FILE = "gateway.jsonl"
MAX_DETAIL_CHARS = 300
MAX_STRANGERS = 1000
"""Lines kept of requests that belong to no call; anybody can make any number."""


class Line(Record, frozen=True, omit_defaults=True):
    """One line: start, open, request, refusal (of a stranger), close, stop."""

    event: str
    at: str
    name: str | None = None
    trial: str | None = None
    caps: Caps | None = None
    models: tuple[str, ...] = ()
    provider: str | None = None
    exchange: Exchange | None = None
    n: int | None = None
    detail: str = ""


class Notes:
    """Appends to the notes of a run; a fault of the disk is kept, and told later."""

    def __init__(self, folder: Path, now: Callable[[], str]) -> None:
        self._now = now
        self._path = folder / FILE
        # What is read from a device may never end.
        if self._path.exists() and not self._path.is_file():
            raise OSError(errno.EINVAL, "it is no regular file", str(self._path))
        self._file = self._path.open("ab", buffering=0)
        cut_half_line(self._path)
        self._n_strangers = 0
        self.fault: str | None = None

    def add(
        self,
        event: str,
        *,
        name: str | None = None,
        trial: str | None = None,
        caps: Caps | None = None,
        models: tuple[str, ...] = (),
        provider: str | None = None,
        exchange: Exchange | None = None,
        n: int | None = None,
        detail: str = "",
    ) -> None:
        """Append a line."""
        line = Line(
            event,
            self._now(),
            name,
            trial,
            caps,
            models,
            provider,
            exchange,
            n,
            detail,
        )
        self.keep(lambda: self._file.write(msgspec.json.encode(line) + b"\n"))

    def add_stranger(self, detail: str) -> None:
        """Note a refused request that belongs to no call, up to a number of them."""
        self._n_strangers += 1
        if self._n_strangers <= MAX_STRANGERS:
            self.add("refusal", detail=detail[:MAX_DETAIL_CHARS])

    def stop(self) -> None:
        """Write the last line."""
        self.add("stop", n=self._n_strangers)
        self._file.close()

    def keep(self, write: Callable[[], object]) -> None:
        """Write something; requests go on where the disk takes no more."""
        try:
            write()
        except OSError as error:
            where = error.filename or self._path
            self.fault = f"{where}: {error.strerror or error}"


def cut_half_line(path: Path) -> None:
    """Take away a line that somebody killed left half: it would swallow the next."""
    os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
