"""Start the service: `python -m parcels`."""

import asyncio
import os
import signal
import sys

from parcels.server import ParcelServer


async def live() -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    server = ParcelServer()
    await server.start("127.0.0.1", int(os.getenv("PORT") or "8080"))
    print(f"parcels listening on port {server.port}", file=sys.stderr)
    await stopping.wait()
    await server.stop()


asyncio.run(live())
