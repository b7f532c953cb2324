"""Strict JSON objects, one a line, over a socket: exactly one answer to each."""

from __future__ import annotations

import json
import socket
import time
from typing import Any, NoReturn

MAX_LINE_BYTES = 8 * 1024 * 1024
CHUNK_BYTES = 65_536


class GoneError(Exception):
    """The other side can no longer be trusted to answer; says why."""


class SilentError(GoneError):
    """No answer came in time."""


class Wire:
    """One end of a stream socket."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def send(self, value: object) -> None:
        """Send one object.

        Raises:
            GoneError: The other side closed, or spoke without being asked.
        """
        try:
            self._refuse_unasked()
            self._socket.settimeout(None)
            self._socket.sendall(json.dumps(value, allow_nan=False).encode() + b"\n")
        except OSError as error:
            raise GoneError(f"it closed: {error.strerror}") from error

    def receive(self, timeout_s: float | None) -> dict[str, Any]:
        """Receive one object.

        Args:
            timeout_s: How long to wait for the whole of it; None is for ever.

        Raises:
            SilentError: It did not come in time.
            GoneError: Anything else than one strict JSON object on one line came.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        line = bytearray()
        while not line.endswith(b"\n"):
            line += self._chunk(deadline, timeout_s)
            if len(line) > MAX_LINE_BYTES:
                raise GoneError(f"an answer over {MAX_LINE_BYTES:,} bytes")
            if line.find(b"\n") not in (-1, len(line) - 1):
                raise GoneError("more than one answer")
        return _parse(bytes(line))

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _chunk(self, deadline: float | None, timeout_s: float | None) -> bytes:
        left_s = None if deadline is None else deadline - time.monotonic()
        try:
            if left_s is not None and left_s <= 0:
                raise TimeoutError  # noqa: TRY301 - as the socket says it
            self._socket.settimeout(left_s)
            chunk = self._socket.recv(CHUNK_BYTES)
        except TimeoutError as error:
            raise SilentError(f"no answer within {timeout_s:g} s") from error
        except OSError as error:
            raise GoneError(f"it closed: {error.strerror}") from error
        if not chunk:
            raise GoneError("it ended")
        return chunk

    def _refuse_unasked(self) -> None:
        self._socket.settimeout(0)
        try:
            seen = self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        raise GoneError("it spoke without being asked" if seen else "it ended")


def _parse(line: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(
            line, parse_constant=_refuse_constant, object_pairs_hook=_unique
        )
    except (ValueError, RecursionError) as error:
        raise GoneError(f"an answer that is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise GoneError("an answer that is no object")
    return parsed


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found
