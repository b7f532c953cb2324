"""The HTTP API, on an event loop."""

import asyncio
import json
import logging
import os
import socket
from typing import Any
from urllib.parse import unquote

from payhook.acquirer import Acquirer
from payhook.receiver import receive
from payhook.store import Journal, Malformed, fields_of

log = logging.getLogger("payhook.server")


class LoopServer:
    """Answers one request per connection, all of them on one loop."""

    def __init__(self, host: str, port: int, journal: Journal, acquirer: Acquirer):
        self._socket = socket.create_server((host, port), backlog=128)
        self.server_address = self._socket.getsockname()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._ended = asyncio.Event()
        self._journal = journal
        self._acquirer = acquirer

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        self._loop.run_until_complete(self._serve())

    def shutdown(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)

    def server_close(self) -> None:
        self._socket.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connected, sock=self._socket.dup())
        async with server:
            await self._end.wait()

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            method, path, raw = await read_request(reader)
            status, body = await self._answer(method, path, raw)
            data = json.dumps(body).encode()
            head = f"HTTP/1.0 {status} \r\nContent-Length: {len(data)}\r\n\r\n"
            writer.write(head.encode() + data)
            await writer.drain()
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            log.warning("a request broke off: %s", error)
        finally:
            writer.close()

    async def _answer(self, method: str, path: str, raw: bytes) -> tuple[int, Any]:
        try:
            if (method, path) == ("POST", "/deliveries"):
                return await receive(raw, self._journal, self._acquirer)
            if (method, path) == ("POST", "/orders"):
                order_id, amount_cents = fields_of(raw, "order_id", "amount_cents")
                return self._journal.place(order_id, amount_cents)
        except Malformed as error:
            return 400, {"error": f"malformed: {error}"}
        except Exception:
            log.exception("%s %s", method, path)
            return 500, {"error": "internal error"}
        if path == "/health":
            return 200, {"ok": True}
        order = self._journal.orders.get(unquote(path.removeprefix("/orders/")))
        return (200, order) if order else (404, {"error": "not found"})


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    """Method, path and body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value for name, _, value in (x.partition(":") for x in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return method, path, raw


def create_server(
    host: str,
    port: int,
    *,
    data_file: str | os.PathLike[str],
    acquirer_url: str,
) -> LoopServer:
    """A server bound to host and port (0: any free port), ready to serve."""
    return LoopServer(host, port, Journal(data_file), Acquirer(acquirer_url))
