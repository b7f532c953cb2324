"""Reading request bodies."""

import re
from collections.abc import Iterator
from email.message import Message
from typing import BinaryIO

from sentinel.config import MAX_BODY_BYTES
from sentinel.errors import RequestError

MAX_LINE_BYTES = 1024
MAX_READ_BYTES = 1_000_000
"""More than is accepted, so that whoever sends too much gets to see the reply."""


def read_body(headers: Message, stream: BinaryIO) -> bytes:
    """The body of a request, sent with a length or in chunks."""
    if "chunked" in headers.get("Transfer-Encoding", "").lower():
        return b"".join(read_chunks(stream))
    length = headers.get("Content-Length", "").strip()
    if not re.fullmatch(r"[0-9]{1,18}", length):
        raise broken()
    body = stream.read(min(int(length), MAX_READ_BYTES))
    if len(body) > MAX_BODY_BYTES:
        raise too_large()
    return body


def too_large() -> RequestError:
    """The error for a body over the limit."""
    return RequestError(413, f"the body has more than {MAX_BODY_BYTES} bytes")


def broken() -> RequestError:
    """The error for a body of which nobody knows where it ends."""
    return RequestError(400, "the body has no proper length or chunks")


def read_chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The chunks of a body, up to its end or the first one over the limit."""
    left = MAX_BODY_BYTES
    while size := _read_size(stream):
        left -= size
        if left < 0:
            raise too_large()
        chunk = stream.read(size)
        if len(chunk) < size or stream.read(2) != b"\r\n":
            raise broken()
        yield chunk
    while stream.readline(MAX_LINE_BYTES).strip():
        pass


def _read_size(stream: BinaryIO) -> int:
    line = stream.readline(MAX_LINE_BYTES)
    size = line.partition(b";")[0].strip()
    if not re.fullmatch(rb"[0-9a-fA-F]{1,15}", size):
        raise broken()
    return int(size, 16)
