"""What the gateway writes down: `gateway.jsonl`, and bodies where asked to."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from evalkit.gateway.terms import Caps
from evalkit.gateway.withheld import Secret, Stream
from evalkit.records import Exchange, Record

FILE = "gateway.jsonl"
RECORDINGS = "recordings"
SECRET_HEADERS = frozenset(
    {"authorization", "x-api-key", "cookie", "set-cookie", "proxy-authorization"}
)
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
        # A line that a killed gateway left half would swallow the next.
        self._file.truncate(self._path.read_bytes().rfind(b"\n") + 1)
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


class Recording:
    """Bodies of one request, without the credential: both as they came."""

    def __init__(self, stem: Path, notes: Notes, secret: Secret) -> None:
        self._stem = stem
        self._notes = notes
        self._secret = secret
        self._answer = Stream(secret)

    def asked(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Keep a request, its headers without what is secret."""
        told = {
            "path": self._secret.out_of(path),
            "headers": self._open_headers(headers),
            "body": msgspec.Raw(self._secret.out_of_bytes(body)),
        }
        data = msgspec.json.encode(told)
        self._notes.keep(lambda: self._path("request.json").write_bytes(data))

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Keep the head of an answer."""
        told = {"status": status, "headers": self._open_headers(headers)}
        data = msgspec.json.encode(told)
        self._notes.keep(lambda: self._path("answer.json").write_bytes(data))

    def add(self, chunk: bytes) -> None:
        """Keep the next bytes of an answer."""
        self._notes.keep(lambda: self._append(self._answer.take(chunk)))

    def end(self) -> None:
        """Keep the last bytes."""
        if rest := self._answer.end():
            self._notes.keep(lambda: self._append(rest))

    def _open_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        clean = self._secret.out_of_headers(headers)
        lower = {name.lower(): value for name, value in clean.items()}
        return {k: v for k, v in lower.items() if k not in SECRET_HEADERS}

    def _append(self, chunk: bytes) -> None:
        with self._path("answer.body").open("ab") as opened:
            opened.write(chunk)

    def _path(self, ending: str) -> Path:
        return self._stem.with_name(f"{self._stem.name}.{ending}")


def recording_folder(run: Path, name: str) -> Path:
    """A new folder for the bodies of a call; one of the same name is left alone."""
    wanted = run / RECORDINGS / name
    wanted.parent.mkdir(parents=True, exist_ok=True)
    for n in range(1, 1000):
        folder = wanted if n == 1 else wanted.with_name(f"{wanted.name}~{n}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(wanted)
