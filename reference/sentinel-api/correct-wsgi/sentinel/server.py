"""A threading WSGI server for the application."""

import logging
import socketserver
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from sentinel.application import Application
from sentinel.config import Settings

log = logging.getLogger("sentinel.server")


class ThreadingServer(socketserver.ThreadingMixIn, WSGIServer):
    """Answers every request in a thread of its own."""

    daemon_threads = True
    request_queue_size = 128


class LoggingHandler(WSGIRequestHandler):
    """Logs instead of writing to stderr."""

    def log_message(self, format: str, *args: Any) -> None:
        log.info("%s %s", self.address_string(), format % args)


def create_server(host: str, port: int) -> ThreadingServer:
    """A server bound to host and port (0: any free port), ready to serve."""
    server = ThreadingServer((host, port), LoggingHandler)
    server.set_app(Application(Settings.read()))
    return server
