"""The HTTP API."""

import json
import logging
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from eventstats.log import generate
from eventstats.params import parse_query
from eventstats.stats import Query, Statistics

log = logging.getLogger("eventstats.server")


class RequestError(Exception):
    """The request cannot be served; `status` and text go to the client."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class StatsServer(ThreadingHTTPServer):
    """Serves the API and owns the statistics."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], seed: int) -> None:
        super().__init__(address, Handler, bind_and_activate=False)
        self.statistics = Statistics(generate(seed))
        self.server_bind()
        self.server_activate()


def create_server(host: str, port: int, seed: int) -> StatsServer:
    """A server bound to host and port (0: any free port), ready to serve."""
    return StatsServer((host, port), seed)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StatsServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        try:
            self._reply(200, self._resource(url.path, url.query))
        except RequestError as error:
            self._reply(error.status, {"error": str(error)})

    def _resource(self, path: str, query: str) -> dict[str, Any]:
        if path == "/stats":
            return self.server.statistics.summarise(self._query(query))
        if path == "/health":
            return {"ok": True}
        raise RequestError(404, "no such resource")

    def _query(self, text: str) -> Query:
        try:
            return parse_query(text)
        except ValueError as error:
            raise RequestError(400, str(error)) from error

    def _reply(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        log.info("%s %s", self.address_string(), format % args)
