"""HTTP: requests in, replies out."""

import json
import logging
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hop.service import Refused, Service

MAX_BODY_BYTES = 64 * 1024
STATUS = {
    "invalid_request": 400,
    "not_found": 404,
    "gone": 410,
    "too_large": 413,
    "rate_limited": 429,
}
Reply = tuple[int, Any, dict[str, str]]

log = logging.getLogger("hop.routes")


class Server(ThreadingHTTPServer):
    """Serves the API on 127.0.0.1."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, service: Service) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.service = service


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._handle(self._get)

    def do_POST(self) -> None:
        self._handle(self._post)

    def do_DELETE(self) -> None:
        self._handle(self._delete)

    def _handle(self, route: Callable[..., Reply]) -> None:
        try:
            status, body, headers = route(*self.path.partition("?")[0].split("/")[1:])
        except Refused as error:
            status, body, headers = STATUS[error.code], envelope(error.code, error), {}
        except Exception:
            log.exception("%s %s", self.command, self.path)
            status, body, headers = 500, envelope("internal", "an error of ours"), {}
        self._reply(status, body, headers)

    def _get(self, *path: str) -> Reply:
        match path:
            case [code]:
                return 302, None, {"Location": self.server.service.follow(code)}
        raise no_route()

    def _post(self, *path: str) -> Reply:
        if path != ("links",):
            raise no_route()
        body = self._read()
        self.server.service.admit(self.client_address[0])
        link = self.server.service.create(body.get("url"), body.get("ttl_seconds"))
        shown = {"code": link.code, "url": link.url, "expires_at": link.expires_at}
        return 201, shown, {}

    def _delete(self, *path: str) -> Reply:
        match path:
            case ["links", code]:
                self.server.service.delete(code)
                return 204, None, {}
        raise no_route()

    def _read(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise Refused("invalid_request", "there is no body of known length")
        if int(length) > MAX_BODY_BYTES:
            raise Refused("too_large", "the body is too long")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused("invalid_request", "the body is not JSON") from None
        if not isinstance(body, dict):
            raise Refused("invalid_request", "the body is no object")
        return body

    def _reply(self, status: int, body: Any, headers: dict[str, str]) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if data:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_error(self, code: int, message: str | None = None, *_: Any) -> None:
        """What the library refuses by itself looks like every other error."""
        self._reply(code, envelope("invalid_request", message), {})

    def log_message(self, format: str, *args: Any) -> None:
        log.info(format, *args)


def envelope(code: str, message: object) -> dict[str, Any]:
    """The body of an error."""
    return {"error": {"code": code, "message": str(message)}}


def no_route() -> Refused:
    """The refusal of a path that the API does not have."""
    return Refused("not_found", "no such resource")
