"""The server, and the way from a path to its handler."""

import json
import logging
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from waybill.handlers import depots, parcels
from waybill.replies import HttpError
from waybill.repository import RepositoryUnavailable

HANDLERS = {"depots": depots.show, "parcels": parcels.show}

log = logging.getLogger(__name__)


def respond(database, path):
    """Status, headers and body for a GET of this path."""
    try:
        return 200, {}, handler_reply(database, path)
    except RepositoryUnavailable as error:
        log.warning("GET %s -> 503", path, exc_info=error)
        return 503, {}, {"error": "unavailable"}
    except Exception as error:
        status = getattr(error, "status", 500)
        if status >= 500:
            log.error("GET %s -> %d", path, status, exc_info=error)
        body = {"error": getattr(error, "code", "internal")}
        return status, getattr(error, "headers", {}), body


def handler_reply(database, path):
    route, _, key = urlsplit(path).path.removeprefix("/").partition("/")
    if route not in HANDLERS or not key:
        raise HttpError(404, "unknown_route")
    return HANDLERS[route](database, unquote(key))


def serve(port, database):
    class Connection(BaseHTTPRequestHandler):
        def do_GET(self):
            status, headers, body = respond(database, self.path)
            raw = json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format, *args):
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

    log.info("listening on %d, reading %s", port, database)
    Server(("127.0.0.1", port), Connection).serve_forever()
