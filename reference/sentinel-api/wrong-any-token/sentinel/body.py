"""Reading request bodies."""

import re
from collections.abc import Iterator
from email.message import Message
from typing import BinaryIO

from sentinel.config import MAX_BODY_BYTES
from sentinel.errors import RequestError

MAX_LINE_BYTES = 1024
MAX_DISCARDED_BYTES = 1024 * 1024
"""Read of a refused body, so that the client gets to see the reply."""


def read_body(headers: Message, stream: BinaryIO) -> bytes:
    """The body of a request, sent with a length or in chunks."""
    if "chunked" in headers.get("Transfer-Encoding", "").lower():
        return _limited(read_chunks(stream))
    length = headers.get("Content-Length", "").strip()
    if not re.fullmatch(r"[0-9]{1,18}", length):
        raise RequestError(400, "Content-Length is missing or no number")
    if int(length) > MAX_BODY_BYTES:
        stream.read(min(int(length), MAX_DISCARDED_BYTES))
        raise too_large()
    return stream.read(int(length))


def too_large() -> RequestError:
    """The error for a body over the limit."""
    return RequestError(413, f"the body has more than {MAX_BODY_BYTES} bytes")


def _limited(chunks: Iterator[bytes]) -> bytes:
    kept, n_bytes = [], 0
    for chunk in chunks:
        n_bytes += len(chunk)
        if n_bytes <= MAX_BODY_BYTES:
            kept.append(chunk)
        elif n_bytes > MAX_DISCARDED_BYTES:
            break
    if n_bytes > MAX_BODY_BYTES:
        raise too_large()
    return b"".join(kept)


def read_chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The chunks of a body, up to its end."""
    while size := _read_size(stream):
        if size > MAX_DISCARDED_BYTES:
            raise too_large()
        chunk = stream.read(size)
        if len(chunk) < size or stream.read(2) != b"\r\n":
            raise RequestError(400, "a chunk is broken")
        yield chunk
    while stream.readline(MAX_LINE_BYTES).strip():
        pass


def _read_size(stream: BinaryIO) -> int:
    line = stream.readline(MAX_LINE_BYTES)
    size = line.partition(b";")[0].strip()
    if not re.fullmatch(rb"[0-9a-fA-F]{1,15}", size):
        raise RequestError(400, "a chunk has no size")
    return int(size, 16)
