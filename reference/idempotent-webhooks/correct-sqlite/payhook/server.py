"""The HTTP API."""

import json
import logging
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from payhook.acquirer import Acquirer
from payhook.errors import Refused
from payhook.receiver import Desk
from payhook.store import Ledger

log = logging.getLogger("payhook.server")
TEXTS = {"delivery_id", "order_id"}


class PayhookServer(ThreadingHTTPServer):
    """Serves the API; one thread per connection."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], ledger: Ledger, desk: Desk):
        super().__init__(address, Handler)
        self.ledger = ledger
        self.desk = desk


def create_server(
    host: str,
    port: int,
    *,
    data_file: str | os.PathLike[str],
    acquirer_url: str,
) -> PayhookServer:
    """A server bound to host and port (0: any free port), ready to serve."""
    ledger = Ledger(data_file)
    return PayhookServer((host, port), ledger, Desk(ledger, Acquirer(acquirer_url)))


class Handler(BaseHTTPRequestHandler):
    server: PayhookServer

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_GET(self) -> None:
        self._answer(self._get)

    def _answer(self, handle: Any) -> None:
        try:
            status, body = handle()
        except Refused as refused:
            status, body = refused.status, {"error": str(refused), "status": refused.status}
        except Exception:
            log.exception("%s %s", self.command, self.path)
            status, body = 500, {"error": "something went wrong on our side"}
        data = json.dumps(body, indent=2).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.end_headers()
        self.wfile.write(data)

    def _get(self) -> tuple[int, Any]:
        if self.path == "/health":
            return 200, {"ok": True}
        _, _, order_id = self.path.partition("/orders/")
        order = self.server.ledger.find(unquote(order_id))
        if order is None:
            raise Refused(404, "not found")
        return 200, order

    def _post(self) -> tuple[int, Any]:
        if self.path == "/deliveries":
            delivery = self._fields("delivery_id", "order_id", "amount_cents")
            answer = self.server.desk.take(delivery)
            return 200, {"status": answer}
        if self.path != "/orders":
            raise Refused(404, "not found")
        order = self._fields("order_id", "amount_cents")
        if not self.server.ledger.place(order["order_id"], order["amount_cents"]):
            raise Refused(409, "the order exists")
        return 201, self.server.ledger.find(order["order_id"])

    def _fields(self, *names: str) -> dict[str, Any]:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(str(raw, "utf-8"))
            fields = {name: body[name] for name in names}
        except (ValueError, RecursionError):
            raise Refused(400, "this is not JSON") from None
        except (TypeError, KeyError, IndexError):
            raise Refused(400, f"an object with {', '.join(names)} is wanted") from None
        for name, value in fields.items():
            kind = str if name in TEXTS else int
            if type(value) is not kind or (kind is int and value < 1) or value == "":
                raise Refused(400, f"{name} is wrong")
        return fields

    def log_message(self, format: str, *args: Any) -> None:
        log.info("%s %s", self.address_string(), format % args)
