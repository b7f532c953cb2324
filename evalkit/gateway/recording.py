"""Bodies of requests and answers, as files: written as they pass, read in a replay."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from evalkit import files
from evalkit.errors import InputError
from evalkit.gateway.notes import Notes
from evalkit.gateway.terms import Kept, Taped
from evalkit.gateway.withheld import Secret, Stream
from evalkit.records import Exchange, Passage, Record

FOLDER = "recordings"
SECRET_HEADERS = frozenset(
    {"authorization", "x-api-key", "cookie", "set-cookie", "proxy-authorization"}
)
REQUEST, HEAD, BODY = "request.json", "answer.json", "answer.body"
"""Endings of the files of one request; the answer's are missing where none came."""
MAX_BYTES = 2**30


class Asked(Record, frozen=True):
    """A request as it is kept; its headers in lower case, without what is secret."""

    path: str
    headers: dict[str, str]
    body: Any


class Head(Record, frozen=True):
    """The head of an answer; `broken`: its connection broke before the body's end."""

    status: int
    headers: dict[str, str]
    broken: bool = False


class Recording:
    """Bodies of one request, without the credential: both as they came."""

    def __init__(self, stem: Path, notes: Notes, secret: Secret) -> None:
        self._stem = stem
        self._notes = notes
        self._secret = secret
        self._answer = Stream(secret)
        self._head: Head | None = None
        self._body = hashlib.sha256()
        self._digests: dict[str, str] = {}

    def asked(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Keep a request, its headers without what is secret."""
        asked = Asked(
            self._secret.out_of(path),
            open_headers(headers, self._secret),
            msgspec.Raw(self._secret.out_of_bytes(body)),
        )
        self._write(REQUEST, msgspec.json.encode(asked))

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Keep the head of an answer."""
        self._head = Head(status, open_headers(headers, self._secret))

    def add(self, chunk: bytes) -> None:
        """Keep the next bytes of an answer."""
        self._append(self._answer.take(chunk))

    def end(self, *, broken: bool) -> str:
        """Keep the last bytes; the digest of all that was kept."""
        self._append(self._answer.end())
        if self._head is not None:
            head = msgspec.structs.replace(self._head, broken=broken)
            self._write(HEAD, msgspec.json.encode(head))
        return _whole_digest(self._digests)

    def _append(self, chunk: bytes) -> None:
        if chunk:
            self._body.update(chunk)
            self._digests[BODY] = self._body.hexdigest()
            self._notes.keep(lambda: _append_to(_path(self._stem, BODY), chunk))

    def _write(self, ending: str, data: bytes) -> None:
        self._digests[ending] = files.sha256(data)
        self._notes.keep(lambda: _path(self._stem, ending).write_bytes(data))


class Replayed:
    """One recorded request with its answer, read and held against its digest.

    Raises:
        InputError: Its files are not those that were recorded.
    """

    def __init__(self, folder: Path, kept: Kept) -> None:
        stem = stem_of(folder, kept.n)
        data = {
            ending: files.read_regular(path, max_bytes=MAX_BYTES)
            for ending in (REQUEST, HEAD, BODY)
            if (path := _path(stem, ending)).exists()
        }
        found = {ending: files.sha256(each) for ending, each in data.items()}
        if _whole_digest(found) != kept.recorded:
            raise InputError(
                f"{stem}.*",
                expected="the recorded request and answer, as the evidence sealed them",
                found=f"other bytes in {', '.join(data)}" if data else "no file",
                cure="restore the recordings from a copy; what was cut, edited or lost "
                "cannot be replayed",
            )
        self.kept = kept
        self.asked = files.decode_json(data.get(REQUEST, b""), Asked, stem)
        self.head = files.decode_json(data[HEAD], Head, stem) if HEAD in data else None
        self.body = data.get(BODY, b"")


def taped(run: Path, name: str, rows: tuple[Exchange, ...]) -> Taped:
    """What was recorded of a call, by the rows of its evidence.

    Raises:
        InputError: A request that was passed on was not recorded.
    """
    folder = run / FOLDER / name
    kept: list[Kept] = []
    for row in rows:
        if row.passage in {Passage.REFUSED, Passage.HELD}:
            continue
        if row.recorded is None:
            raise InputError(
                folder,
                expected=f"a recording of request {row.n}",
                found="none that its evidence knows of",
                cure="plan a run with --record, and carry it out; what was not recorded "
                "cannot be replayed",
            )
        kept.append(Kept(row.n, row.passage, row.recorded, row.detail))
    return Taped(str(folder), tuple(kept))


def check(found: Taped) -> None:
    """Read every file of a call's recording.

    Raises:
        InputError: One is not as it was recorded; names the place.
    """
    for kept in found.kept:
        Replayed(Path(found.folder), kept)


def open_headers(headers: Mapping[str, str], secret: Secret) -> dict[str, str]:
    """Headers as they are kept: lower case, without what is secret."""
    clean = secret.out_of_headers(headers)
    lower = {name.lower(): value for name, value in clean.items()}
    return {k: v for k, v in lower.items() if k not in SECRET_HEADERS}


def stem_of(folder: Path, n: int) -> Path:
    """Where the files of a request lie, without their endings."""
    return folder / f"{n:04}"


def new_folder(run: Path, name: str) -> Path:
    """A new folder for the bodies of a call; one of the same name is left alone."""
    wanted = run / FOLDER / name
    wanted.parent.mkdir(parents=True, exist_ok=True)
    for n in range(1, 1000):
        folder = wanted if n == 1 else wanted.with_name(f"{wanted.name}~{n}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(wanted)


def _whole_digest(digests: Mapping[str, str]) -> str:
    return files.sha256(msgspec.json.encode(digests, order="deterministic"))


def _path(stem: Path, ending: str) -> Path:
    return stem.with_name(f"{stem.name}.{ending}")


def _append_to(path: Path, chunk: bytes) -> None:
    with path.open("ab") as opened:
        opened.write(chunk)
