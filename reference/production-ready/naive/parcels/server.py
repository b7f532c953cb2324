"""The HTTP API."""

import json
import time
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from parcels.store import Store

MAX_BODY_BYTES = 64 * 1024
CODES = {400: "invalid_request", 404: "not_found", 413: "body_too_large"}


class ParcelServer(ThreadingHTTPServer):
    """Serves the API and owns the store."""

    request_queue_size = 128

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, Handler)
        self.store = Store()


def create_server(host: str, port: int) -> ParcelServer:
    """A server bound to host and port (0: any free port), ready to serve."""
    return ParcelServer((host, port))


class Handler(BaseHTTPRequestHandler):
    server: ParcelServer

    def do_POST(self) -> None:
        started = time.time()
        if self.path != "/parcels":
            self._error(404, "unknown route", started)
            return
        length = int(self.headers.get("Content-Length", 0))
        if length > MAX_BODY_BYTES:
            self._error(413, "body too large", started)
            return
        try:
            body = json.loads(self.rfile.read(length))
        except json.JSONDecodeError:
            self._error(400, "malformed JSON", started)
            return
        if not isinstance(body, dict):
            self._error(400, "body must be an object", started)
            return
        for field, kind in (("recipient", str), ("weight_g", int), ("express", bool)):
            if field not in body:
                self._error(400, f"{field} is missing", started)
                return
            if not isinstance(body[field], kind):
                self._error(400, f"{field} has the wrong type", started)
                return
        parcel = self.server.store.add(
            body["recipient"], body["weight_g"], body["express"]
        )
        self._reply(200, asdict(parcel), started)

    def do_GET(self) -> None:
        started = time.time()
        if self.path == "/health":
            self._reply(200, {"status": "ok"}, started)
            return
        resource, _, parcel_id = self.path.removeprefix("/").partition("/")
        if resource != "parcels":
            self._error(404, "unknown route", started)
            return
        parcel = self.server.store.get(parcel_id)
        if parcel is None:
            self._error(404, "unknown parcel", started)
            return
        self._reply(200, asdict(parcel), started)

    def _error(self, status: int, message: str, started: float) -> None:
        error = {"code": CODES[status], "message": message}
        self._reply(status, {"error": error}, started)

    def _reply(self, status: int, body: dict[str, Any], started: float) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(data)
        line = {
            "method": self.command,
            "path": self.path,
            "status": status,
            "duration_ms": round((time.time() - started) * 1000, 2),
        }
        print(json.dumps(line))

    def log_message(self, format: str, *args: Any) -> None:
        pass
