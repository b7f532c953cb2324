"""The delivery worker: an event loop in a thread of its own, one task per hook."""

import asyncio
import json
import ssl
import threading
from typing import Any
from urllib.parse import SplitResult, urlsplit

from relay.store import DEAD, DELIVERED, Hook, Store

BACKOFF_S = 0.1
ATTEMPTS = 5
TIMEOUT_S = 2.0


class DeliveryWorker:
    """Delivers hooks in the background and writes the outcome to the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def submit(self, hook: Hook) -> None:
        """Hand a stored hook to the loop; returns at once."""
        self._loop.call_soon_threadsafe(self._begin, hook)

    def stop(self) -> None:
        """Stop delivering; hooks that are still pending stay so."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(
            asyncio.gather(*self._tasks, return_exceptions=True)
        )
        self._loop.close()

    def _begin(self, hook: Hook) -> None:
        task = self._loop.create_task(self._deliver(hook))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, hook: Hook) -> None:
        body = json.dumps(hook.payload).encode()
        wait_s = BACKOFF_S
        for attempt in range(1, ATTEMPTS + 1):
            trouble = await attempt_once(hook.url, body)
            if trouble is None:
                self._store.update(hook.id, attempts=attempt, status=DELIVERED)
                return
            changes: dict[str, Any] = {"attempts": attempt, "last_error": trouble}
            if attempt == ATTEMPTS:
                changes["status"] = DEAD
            self._store.update(hook.id, **changes)
            if attempt < ATTEMPTS:
                await asyncio.sleep(wait_s)
                wait_s *= 2


async def attempt_once(url: str, body: bytes) -> str | None:
    """Make one attempt; None for a 2xx reply, else what went wrong."""
    try:
        status = await asyncio.wait_for(_post(urlsplit(url), body), TIMEOUT_S)
    except TimeoutError:
        return f"no reply within {TIMEOUT_S:g} s"
    except (OSError, EOFError, ValueError, IndexError) as error:
        return f"{type(error).__name__}: {error}"
    return None if 200 <= status <= 299 else f"replied with status {status}"


async def _post(url: SplitResult, body: bytes) -> int:
    secure = ssl.create_default_context() if url.scheme == "https" else None
    port = url.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(url.hostname, port, ssl=secure)
    try:
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        head = (
            f"POST {path} HTTP/1.1\r\n"
            f"Host: {url.netloc.rpartition('@')[2]}\r\n"
            "Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        line = await reader.readuntil(b"\r\n")
        return int(line.split()[1])
    finally:
        writer.close()
