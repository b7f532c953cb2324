"""The HTTP API as a WSGI application."""

import json
import re
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from urllib.parse import parse_qsl
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from eventstats.database import Database
from eventstats.log import generate

BOUNDS = {"from": "at >= ?", "to": "at <= ?"}


class StatsServer(ThreadingMixIn, WSGIServer):
    """Serves the application, a thread for each connection."""

    daemon_threads = True
    request_queue_size = 128


class QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


def create_server(host: str, port: int, seed: int) -> StatsServer:
    """A server bound to host and port (0: any free port), ready to serve."""
    server = StatsServer((host, port), QuietHandler)
    server.set_app(make_application(Database(generate(seed))))
    return server


def make_application(database: Database) -> Callable[..., Iterable[bytes]]:
    """The WSGI application for a database."""

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        status, body = answer(database, environ["PATH_INFO"], environ["QUERY_STRING"])
        data = json.dumps(body, indent=1).encode()
        headers = [
            ("Content-Type", "application/json; charset=utf-8"),
            ("Content-Length", str(len(data))),
        ]
        start(status, headers)
        return [data]

    return application


def answer(database: Database, path: str, text: str) -> tuple[str, dict[str, Any]]:
    """Status line and body for a request."""
    if path == "/health":
        return "200 OK", {"ok": True}
    if path != "/stats":
        return "404 Not Found", {"error": f"there is nothing at {path}"}
    given = dict(parse_qsl(text))
    conditions: dict[str, Any] = {}
    if "type" in given:
        conditions["type = ?"] = given["type"]
    for name in BOUNDS.keys() & given.keys():
        if not re.fullmatch(r"-?[0-9]{1,18}", given[name]):
            return "400 Bad Request", {"error": f"{name} must be milliseconds"}
        conditions[BOUNDS[name]] = int(given[name])
    first, last = (conditions.get(bound) for bound in BOUNDS.values())
    if first is not None and last is not None and first > last:
        return "400 Bad Request", {"error": "the window ends before it begins"}
    return "200 OK", database.report(conditions)
