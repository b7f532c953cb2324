"""HTTP over asyncio streams: one request per connection."""

import asyncio
import json
import sys
import time
import traceback
from http import HTTPStatus

from parcels.api import Api, Refusal, refusal_body

MAX_BODY_BYTES = 65_536
DRAIN_S = 9.0


class ParcelServer:
    """Accepts connections and keeps track of the requests under way."""

    def __init__(self) -> None:
        self.api = Api()
        self.port = 0
        self._under_way: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> None:
        """Listen."""
        self._listener = await asyncio.start_server(
            self._accept, host, port, backlog=128
        )
        self.port = self._listener.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Accept nothing more, and finish what has begun."""
        self._listener.close()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=DRAIN_S)

    def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.create_task(self._live(reader, writer))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _live(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            await self._respond(head.decode("latin-1"), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went away
        finally:
            writer.close()

    async def _respond(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        started = time.perf_counter()
        first, *lines = head.rstrip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        fields = dict(line.lower().split(":", 1) for line in lines)
        n_bytes = int(fields.get("content-length", "0"))
        try:
            if n_bytes > MAX_BODY_BYTES:
                raise Refusal(413, f"at most {MAX_BODY_BYTES} bytes, please")
            answer = self.api.answer(method, path, await reader.readexactly(n_bytes))
            status = HTTPStatus.OK
        except Refusal as refusal:
            status, answer = refusal.status, refusal_body(refusal)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise
        except Exception:
            traceback.print_exc()
            refusal = Refusal(500, "something broke on our side")
            status, answer = refusal.status, refusal_body(refusal)
        data = json.dumps(answer).encode()
        writer.write(
            f"HTTP/1.1 {status.value} {status.phrase}\r\n"
            "Content-Type: application/json; charset=utf-8\r\n"
            f"Content-Length: {len(data)}\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Connection: close\r\n\r\n".encode()
            + data
        )
        await writer.drain()
        log(method, path, status, started)


def log(method: str, path: str, status: HTTPStatus, started: float) -> None:
    """Write a line of the request log."""
    took_ms = (time.perf_counter() - started) * 1000
    line = {
        "at": round(time.time(), 3),
        "method": method,
        "path": path,
        "status": status.value,
        "duration_ms": took_ms,
    }
    print(json.dumps(line), file=sys.stdout, flush=True)
