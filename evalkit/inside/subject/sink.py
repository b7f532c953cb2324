"""A scripted HTTP receiver."""

from __future__ import annotations

import contextlib
import http.server
import socket
import socketserver
import threading
import time
from collections.abc import Sequence
from typing import Any

from evalkit.inside.subject.bounds import (
    MAX_FILES,
    MAX_TEXT,
    MAX_WAIT_S,
    Json,
    text_of,
)


class Sink(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """A receiver that answers the n-th request with the n-th reply; the last repeats."""

    request_queue_size = 128
    daemon_threads = True

    def __init__(self, replies: Sequence[Json]) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.replies = replies
        self.calls: list[Json] = []
        self.lock = threading.Lock()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                request, address = self.socket.accept()
            except OSError:
                return
            self.process_request(request, address)

    def end(self) -> None:
        """Accept nothing more."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a sender that leaves is no fault of the sink."""


class Receiver(http.server.BaseHTTPRequestHandler):
    """Records one request and replies as scripted."""

    server: Sink  # pyright: ignore[reportIncompatibleVariableOverride]

    def handle_one_request(self) -> None:
        """Take any method, which the base class would want a method for."""
        at_s = time.monotonic()
        self.raw_requestline = self.rfile.readline(65_537)
        self.close_connection = True
        if not self.raw_requestline or not self.parse_request():
            return
        call = {
            "at_s": round(at_s, 6),
            "method": self.command,
            "path": self.path,
            "headers": list(self.headers.items()),
            "body": text_of(self._body()[:MAX_TEXT]),
        }
        with self.server.lock:
            n = min(len(self.server.calls), len(self.server.replies) - 1)
            if len(self.server.calls) < MAX_FILES:
                self.server.calls.append(call)
        self._reply(self.server.replies[n])

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(100).split(b";")[0] or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline(100)
        return body

    def _reply(self, reply: Json) -> None:
        time.sleep(min(float(reply.get("delay_s", 0)), MAX_WAIT_S))
        body = str(reply.get("body", "")).encode()
        self.send_response_only(int(reply.get("status", 200)))
        for name, value in dict(reply.get("headers", {})).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
