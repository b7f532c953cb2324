"""One HTTP request on one connection, byte for byte as asked."""

from __future__ import annotations

import base64
import http.client
import io
import select
import socket
import time
from collections.abc import Callable
from typing import Any, cast

from evalkit.inside.subject.bounds import MAX_TEXT, MAX_WAIT_S, Json, text_of
from evalkit.inside.subject.plain import message_of
from evalkit.inside.subject.ports import unread_bytes

MAX_UNREAD_S = 2.0
"""How long a service may leave the first half of a request unread."""


class Incoming(io.RawIOBase):
    """The bytes of a reply, each read bounded by what is left of the time."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self.n_bytes = 0

    def readable(self) -> bool:
        """True, as `BufferedReader` asks."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read what is there."""
        self._connection.settimeout(_left(self._deadline))
        n_bytes = self._connection.recv_into(buffer)
        self.n_bytes += n_bytes
        return n_bytes

    def makefile(self, mode: str) -> io.BufferedReader:
        """A buffered view, as `HTTPResponse` asks."""
        assert mode == "rb"
        return io.BufferedReader(self)


def _kind(error: OSError | None) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    return "timeout" if isinstance(error, TimeoutError) else "transport"


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


class Exchange:
    """One request on a connection of its own: connect, then send and read.

    Args:
        question: As made by `questions.Send`.
        port: Of the service on 127.0.0.1.
        signal_service: Called with a signal's name between two halves.
    """

    def __init__(
        self, question: Json, port: int, signal_service: Callable[[str], None]
    ) -> None:
        self._question = question
        self._port = port
        self._signal = signal_service
        self._connection: socket.socket | None = None
        self._failed: OSError | None = None
        self._timeout_s = min(float(question["timeout_s"]), MAX_WAIT_S)
        self._sent_s = 0.0

    def connect(self, *, again: bool = False) -> None:
        """Connect; `again` retries a refused connection until the time is up."""
        deadline = time.monotonic() + self._timeout_s
        source = self._question.get("source")
        while True:
            try:
                self._connection = socket.create_connection(
                    ("127.0.0.1", self._port),
                    timeout=_left(deadline),
                    source_address=(source, 0) if source else None,
                )
            except ConnectionRefusedError as error:
                if not again or time.monotonic() > deadline:
                    self._failed = error
                    return
                time.sleep(0.01)
            except OSError as error:
                self._failed = error
                return
            else:
                return

    def carry_out(self) -> Json:
        """Send the request and read the reply, in the fields of `Reply`."""
        self._sent_s = time.monotonic()
        if self._connection is None:
            return self._without(_kind(self._failed), str(self._failed))
        wait_s = float((self._question.get("halves") or {}).get("wait_s", 0))
        deadline = self._sent_s + self._timeout_s + wait_s
        incoming = Incoming(self._connection, deadline)
        with self._connection:
            try:
                self._send_all(deadline, wait_s)
                return self._read(incoming)
            except TimeoutError:
                return self._without("timeout", f"{incoming.n_bytes} bytes came")
            except (OSError, http.client.HTTPException) as error:
                what = "broke off" if incoming.n_bytes else "no byte of a reply came"
                detail = f"{what}: {type(error).__name__} {message_of(error)}"
                return self._without("transport", detail)

    def _without(self, error: str, detail: str) -> Json:
        return {"status": None, "error": error, "detail": detail[:500], **self._times()}

    def _times(self) -> Json:
        elapsed_s = time.monotonic() - self._sent_s
        return {"sent_s": round(self._sent_s, 6), "elapsed_s": round(elapsed_s, 6)}

    def _send_all(self, deadline: float, wait_s: float) -> None:
        """Send the request; stops where the peer replies or breaks off before."""
        head, body = self._bytes()
        halves = self._question.get("halves")
        if halves is None:
            self._send(head + body, deadline)
            return
        middle = len(body) // 2
        self._send(head + body[:middle], deadline)
        self._wait_until_read(len(head) + middle)
        if halves.get("signal"):
            self._signal(halves["signal"])
        time.sleep(min(wait_s, MAX_WAIT_S))
        self._send(body[middle:], deadline)

    def _wait_until_read(self, n_sent: int) -> None:
        """Wait until the service has begun to read: only then is it at work on it."""
        peer = cast(socket.socket, self._connection).getsockname()[1]
        deadline = time.monotonic() + MAX_UNREAD_S
        while time.monotonic() < deadline:
            unread = unread_bytes(self._port, peer)
            if unread is None or unread < n_sent:
                return
            time.sleep(0.002)

    def _send(self, data: bytes, deadline: float) -> None:
        connection = cast(socket.socket, self._connection)
        poller = select.poll()
        poller.register(connection, select.POLLIN | select.POLLOUT)
        view = memoryview(data)
        while view:
            events = poller.poll(_left(deadline) * 1000)
            if not events:
                raise TimeoutError
            if events[0][1] & ~select.POLLOUT:
                return
            try:
                view = view[connection.send(view[:65_536]) :]
            except (BrokenPipeError, ConnectionResetError):
                return

    def _bytes(self) -> tuple[bytes, bytes]:
        question = self._question
        raw = question.get("body")
        body = base64.b64decode(raw) if raw else b""
        needed = {"Host": f"127.0.0.1:{self._port}", "Connection": "close"}
        if question.get("chunked"):
            needed["Transfer-Encoding"] = "chunked"
            body = _in_chunks(body)
        elif raw is not None or question["method"] in {"POST", "PUT", "PATCH"}:
            needed["Content-Length"] = str(len(body))
        given = {str(name).lower() for name, _ in question["headers"]}
        headers = [
            *(
                (name, value)
                for name, value in needed.items()
                if name.lower() not in given
            ),
            *question["headers"],
        ]
        first = f"{question['method']} {question['path']} HTTP/1.1\r\n"
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        return f"{first}{lines}\r\n".encode(), body

    def _read(self, incoming: Incoming) -> Json:
        method = self._question["method"]
        reply = http.client.HTTPResponse(cast(Any, incoming), method=method)
        reply.begin()
        body = reply.read(MAX_TEXT + 1)
        truncated = len(body) > MAX_TEXT
        if not truncated and reply.length:
            raise http.client.IncompleteRead(body, reply.length)
        return {
            "status": reply.status,
            "headers": [
                pair for pair in reply.getheaders() if pair[0].lower() != "date"
            ],
            "body": text_of(body[:MAX_TEXT]),
            "truncated": truncated,
            **self._times(),
        }


def _in_chunks(body: bytes) -> bytes:
    size = max(1, min(16_384, -(-len(body) // 2)))
    pieces = [body[n : n + size] for n in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"
