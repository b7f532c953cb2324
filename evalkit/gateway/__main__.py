"""The gateway's process: given a descriptor, carries out what the runner asks."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from evalkit import process
from evalkit.gateway.server import Server
from evalkit.gateway.terms import Close, Open, Orders, Start, Tell, Told
from evalkit.wire import GoneError, Wire


def utc_now() -> str:
    """The time, as ISO text."""
    return datetime.now(UTC).isoformat()


def serve(number: int) -> None:
    """Carry out orders, one by one, until the socket ends."""
    process.die_with_parent()
    os.set_inheritable(number, False)  # noqa: FBT003 - its signature
    asyncio.run(_serve(Wire(socket.socket(fileno=number))))


async def _serve(wire: Wire) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    clerk = _Clerk()

    def carry(work: Callable[[], Coroutine[Any, Any, Told]]) -> Told:
        return asyncio.run_coroutine_threadsafe(work(), loop).result()

    def listen() -> None:
        with suppress(GoneError):
            while True:
                order = msgspec.convert(wire.receive(None), Orders)
                told = carry(lambda order=order: clerk.carry_out(order))
                wire.send(msgspec.to_builtins(told))
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=listen, daemon=True).start()
    await ended.wait()
    await clerk.stop()


class _Clerk:
    """Carries out orders; a fault is told, never raised."""

    def __init__(self) -> None:
        self._server: Server | None = None

    async def carry_out(self, order: Orders) -> Told:
        try:
            told = await self._carry_out(order)
        except Exception as error:  # noqa: BLE001 - it is the answer
            return Told(fault=f"{type(error).__name__}: {error}")
        if self._server and self._server.fault:
            return msgspec.structs.replace(told, fault=self._server.fault)
        return told

    async def stop(self) -> None:
        if self._server:
            await self._server.stop()

    async def _carry_out(self, order: Orders) -> Told:
        if isinstance(order, Start):
            server = Server(order, utc_now)
            port = await server.start()
            self._server = server
            return Told(port=port)
        assert self._server is not None
        match order:
            case Open(token, trial, taped):
                self._server.open(token, trial, taped)
                return Told()
            case Close(token):
                return Told(n_rows=await self._server.close(token))
            case Tell(token, first):
                return Told(rows=self._server.tell(token, first))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
