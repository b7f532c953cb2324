"""A running server for tests, and a client for it."""

import asyncio
import contextlib
import http.client
import io
import json
import threading
import unittest
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parcels.server import ParcelServer


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class ServerCase(unittest.TestCase):
    """Starts a server on a free port for every test."""

    def setUp(self) -> None:
        self.out = self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        self.server = ParcelServer()
        loop = asyncio.new_event_loop()
        loop.run_until_complete(self.server.start("127.0.0.1", 0))
        thread = threading.Thread(target=loop.run_forever)
        thread.start()

        def stop() -> None:
            asyncio.run_coroutine_threadsafe(self.server.stop(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

        self.addCleanup(stop)

    def request(self, method: str, path: str, body: bytes | None = None) -> Reply:
        """Send a request to the server."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=5)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            data = response.read().decode()
            return Reply(response.status, dict(response.getheaders()), data)
        finally:
            connection.close()

    def post(self, parcel: Mapping[str, Any]) -> Reply:
        """Post a parcel."""
        return self.request("POST", "/parcels", json.dumps(parcel).encode())
