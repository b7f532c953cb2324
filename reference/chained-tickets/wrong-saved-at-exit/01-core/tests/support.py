"""A running service for tests, its clock, and a client."""

import http.client
import json
import threading
import unittest
from typing import Any, NamedTuple

from hop.routes import Server
from hop.service import Service
from hop.store import Store


class Reply(NamedTuple):
    status: int
    body: Any
    headers: Any


class ServiceCase(unittest.TestCase):
    """Every test has a service of its own; `now_s` is its time."""

    def setUp(self) -> None:
        self.now_s = 1_000_000.0
        self.server = Server(0, Service(Store(), lambda: self.now_s))
        thread = threading.Thread(target=self.server.serve_forever, args=(0.005,))
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send a request; bytes go as they are, all else as JSON."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.server.server_port, timeout=5
        )
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data if method == "POST" else None, headers)
        response = connection.getresponse()
        raw = response.read()
        connection.close()
        return Reply(response.status, json.loads(raw) if raw else None, response.headers)

    def create(self, url: str = "https://example.com/a", **more: Any) -> str:
        reply = self.send("POST", "/links", {"url": url, **more})
        self.assertEqual(201, reply.status, reply.body)
        return reply.body["code"]

    def assert_refused(self, status: int, code: str, reply: Reply) -> None:
        self.assertEqual(status, reply.status)
        self.assertEqual({"error"}, set(reply.body))
        self.assertEqual({"code", "message"}, set(reply.body["error"]))
        self.assertEqual(code, reply.body["error"]["code"])
        self.assertTrue(reply.body["error"]["message"])
