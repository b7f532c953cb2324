"""The HTTP API."""

import json
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from parcels.errors import RequestError, envelope
from parcels.store import Store

MAX_BODY_BYTES = 65_536
FIELDS = {"recipient": str, "weight_g": int, "express": bool}


class ParcelServer(ThreadingHTTPServer):
    """Serves the API and owns the store."""

    request_queue_size = 128
    daemon_threads = False  # closing the server waits for the requests under way

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, Handler)
        self.store = Store()


def create_server(host: str, port: int) -> ParcelServer:
    """A server bound to host and port (0: any free port), ready to serve."""
    return ParcelServer((host, port))


class Handler(BaseHTTPRequestHandler):
    server: ParcelServer

    def do_POST(self) -> None:
        self._handle(self._post)

    def do_GET(self) -> None:
        self._handle(self._get)

    def _handle(self, method: Callable[[], dict[str, Any]]) -> None:
        try:
            status, body = 200, method()
        except RequestError as error:
            status, body = error.status, envelope(error.status, error.text)
        except Exception:
            traceback.print_exc()
            status, body = 500, envelope(500, "the service failed")
        self._reply(status, body)

    # resources

    def _post(self) -> dict[str, Any]:
        if self.path != "/parcels":
            raise RequestError(404, "no such resource")
        length = int(self.headers["Content-Length"])
        if length > MAX_BODY_BYTES:
            raise RequestError(413, f"the body has more than {MAX_BODY_BYTES} bytes")
        return asdict(self.server.store.add(**parse_parcel(self.rfile.read(length))))

    def _get(self) -> dict[str, Any]:
        if self.path == "/health":
            return {"status": "ok"}
        resource, _, parcel_id = self.path.removeprefix("/").partition("/")
        parcel = self.server.store.get(parcel_id)
        if resource != "parcels" or parcel is None:
            raise RequestError(404, f"there is no {self.path}")
        return asdict(parcel)

    # replies

    def setup(self) -> None:
        super().setup()
        self.started = time.monotonic()

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """What the library refuses by itself gets a reply like any other."""
        self._reply(code, envelope(code, HTTPStatus(code).phrase))

    def _reply(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self._log(status)
        self.wfile.write(data)

    def _log(self, status: int) -> None:
        line = {
            "method": self.command,
            "path": getattr(self, "path", ""),  # a head can be too wrong to have one
            "status": status,
            "duration_ms": (time.monotonic() - self.started) * 1000,
        }
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """The request log has it already."""


def parse_parcel(body: bytes) -> dict[str, Any]:
    """The fields of a parcel as posted."""
    try:
        posted = json.loads(body.decode())
    except ValueError:
        raise RequestError(400, "the body is not JSON in UTF-8") from None
    if type(posted) is not dict:
        raise RequestError(400, "the body is not an object")
    for name, kind in FIELDS.items():
        if type(posted.get(name)) is not kind:
            raise RequestError(400, f"{name} is missing or of another type")
    return {name: posted[name] for name in FIELDS}
