"""The HTTP API."""

import json
import logging
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from payhook.acquirer import Acquirer
from payhook.bodies import MalformedBody, parse_body
from payhook.receiver import Receiver
from payhook.store import Store

log = logging.getLogger("payhook.server")


class PayhookServer(ThreadingHTTPServer):
    """Serves the API; one thread per connection."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], store: Store, receiver: Receiver):
        super().__init__(address, Handler)
        self.store = store
        self.receiver = receiver


def create_server(
    host: str,
    port: int,
    *,
    data_file: str | os.PathLike[str],
    acquirer_url: str,
) -> PayhookServer:
    """A server bound to host and port (0: any free port), ready to serve."""
    store = Store(data_file)
    return PayhookServer((host, port), store, Receiver(store, Acquirer(acquirer_url)))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PayhookServer

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            answer = self._post(raw)
        except MalformedBody as error:
            answer = 400, {"error": str(error)}
        except Exception:
            log.exception("POST %s failed", self.path)
            answer = 500, {"error": "internal error"}
        self._reply(*answer)

    def _post(self, raw: bytes) -> tuple[int, dict[str, Any]]:
        if self.path == "/deliveries":
            return self.server.receiver.receive(raw)
        if self.path == "/orders":
            return self._add_order(parse_body(raw, texts=("order_id",)))
        return 404, {"error": "no such resource"}

    def do_GET(self) -> None:
        if self.path == "/health":
            self._reply(200, {"ok": True})
            return
        if not self.path.startswith("/orders/"):
            self._reply(404, {"error": "no such resource"})
            return
        try:
            order = self.server.store.get(unquote(self.path.removeprefix("/orders/")))
        except KeyError:
            self._reply(404, {"error": "no such order"})
        else:
            self._reply(200, order)

    def _add_order(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if not self.server.store.add(body["order_id"], body["amount_cents"]):
            return 409, {"error": "there is such an order already"}
        return 201, self.server.store.get(body["order_id"])

    def _reply(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        log.info("%s %s", self.address_string(), format % args)
