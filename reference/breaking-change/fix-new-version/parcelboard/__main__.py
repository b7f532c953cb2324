"""Serves the responses: python -m parcelboard."""

import json
import os
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from parcelboard import responses

PREFIXES = {
    "/v1/parcels": (responses.parcel, responses.parcels),
    "/v2/parcels": (responses.parcel_v2, responses.parcels_v2),
}


class Server(ThreadingHTTPServer):
    request_queue_size = 128


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        url = urlsplit(self.path)
        records = json.loads(Path(os.environ.get("PLAN", "plan.json")).read_text("utf-8"))
        for prefix, (one, many) in PREFIXES.items():
            if url.path == prefix:
                self.give_list(many, records, parse_qs(url.query).get("before", []))
                return
            if url.path.startswith(f"{prefix}/"):
                number = unquote(url.path.removeprefix(f"{prefix}/"))
                self.give_one(one, records, number)
                return
        self.give(404, {"error": "no such resource"})

    def give_list(
        self, many: Any, records: list[dict[str, Any]], asked: list[str]
    ) -> None:
        try:
            moments = [datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ") for text in asked]
        except ValueError:
            self.give(400, {"error": "before is no moment"})
            return
        before = moments[0].replace(tzinfo=UTC) if moments else None
        self.give(200, many(records, before))

    def give_one(
        self, one: Any, records: list[dict[str, Any]], number: str
    ) -> None:
        for record in records:
            if record["number"] == number:
                self.give(200, one(record))
                return
        self.give(404, {"error": "no such parcel"})

    def give(self, status: int, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


if __name__ == "__main__":
    Server(("127.0.0.1", int(os.environ.get("PORT", "8084"))), Handler).serve_forever()
