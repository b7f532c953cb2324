"""Request bodies, as a stream that knows its limit."""

import io
from http import HTTPStatus
from typing import Any, BinaryIO

from sentinel.config import BODY_LIMIT
from sentinel.errors import Refusal

SINK_BYTES = 2**20


def body_of(environ: dict[str, Any]) -> bytes:
    """The whole body of a WSGI request, refused where it exceeds the limit."""
    source: BinaryIO = environ["wsgi.input"]
    if environ.get("HTTP_TRANSFER_ENCODING", "").strip().lower() == "chunked":
        reader: io.RawIOBase = Chunked(source)
    else:
        reader = Counted(source, environ.get("CONTENT_LENGTH", ""))
    body = io.BufferedReader(reader).read(BODY_LIMIT + 1)
    if len(body) > BODY_LIMIT:
        sunk = len(body)
        while sunk < SINK_BYTES and (piece := reader.read(8192)):
            sunk += len(piece)
        raise Refusal(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {BODY_LIMIT} bytes"
        )
    return body


class Counted(io.RawIOBase):
    """As many bytes as the client announced."""

    def __init__(self, source: BinaryIO, announced: str) -> None:
        if not (announced.isascii() and announced.isdigit()):
            raise Refusal(HTTPStatus.BAD_REQUEST, "no valid Content-Length")
        self._source = source
        self._left = int(announced)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._source.read(min(len(buffer), self._left))
        self._left -= len(piece)
        buffer[: len(piece)] = piece
        return len(piece)


class Chunked(io.RawIOBase):
    """The content of a chunked body."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._left = 0
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left and not self._ended:
            self._open_chunk()
        if self._ended:
            return 0
        piece = self._source.read(min(len(buffer), self._left))
        if not piece:
            raise Refusal(HTTPStatus.BAD_REQUEST, "the body ends within a chunk")
        self._left -= len(piece)
        if not self._left and self._source.readline(8) != b"\r\n":
            raise Refusal(HTTPStatus.BAD_REQUEST, "a chunk does not end")
        buffer[: len(piece)] = piece
        return len(piece)

    def _open_chunk(self) -> None:
        size, _, _ = self._source.readline(256).partition(b";")
        digits = size.strip().decode("latin-1")
        if not digits or set(digits.lower()) - set("0123456789abcdef"):
            raise Refusal(HTTPStatus.BAD_REQUEST, "a chunk has no size")
        self._left = int(digits, 16)
        self._ended = self._left == 0
        while self._ended and self._source.readline(256).strip():
            pass
