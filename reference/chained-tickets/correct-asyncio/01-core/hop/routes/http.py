"""As much of HTTP/1.1 as the API needs: one request, one reply, then close."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

MAX_BODY = 100_000


class Request(NamedTuple):
    """What a client wants; `body` is None if it was too large to be read."""

    method: str
    path: str
    body: bytes | None
    peer: str


class Response(NamedTuple):
    """What it gets."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


async def serve(handle: Callable[[Request], Response], port: int) -> None:
    """Answer requests until cancelled."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await read(reader, writer.get_extra_info("peername")[0])
            writer.write(encode(handle(request)))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", port, backlog=128)
    async with server:
        await server.serve_forever()


async def read(reader: asyncio.StreamReader, peer: str) -> Request:
    """One request from a connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length") or 0)
    if not 0 <= length <= MAX_BODY:
        return Request(method, target, None, peer)
    return Request(method, target, await reader.readexactly(length), peer)


def encode(response: Response) -> bytes:
    """A response as bytes."""
    headers = (
        *response.headers,
        ("Content-Length", str(len(response.body))),
        ("Connection", "close"),
    )
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    phrase = HTTPStatus(response.status).phrase
    return f"HTTP/1.1 {response.status} {phrase}\r\n{lines}\r\n".encode() + response.body
