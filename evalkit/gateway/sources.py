"""Where answers come from: the provider, over the network."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import aiohttp
from multidict import CIMultiDict


class Answer(Protocol):
    """An answer that has begun; `varied` as in `records.Exchange`."""

    status: int
    headers: Mapping[str, str]
    varied: tuple[str, ...]

    def pieces(self) -> AsyncIterator[bytes]:
        """Its body, as it comes.

        Raises:
            BrokenError: The connection broke before its end.
        """
        ...


class Source(Protocol):
    """What answers requests."""

    def ask(
        self, path: str, headers: CIMultiDict[str], body: bytes
    ) -> AbstractAsyncContextManager[Answer]:
        """The answer to a request.

        Raises:
            UnreachableError: There is none.
            DepartedError: A recording holds none for it.
        """
        ...


class BrokenError(Exception):
    """An answer broke off; says how."""


class UnreachableError(Exception):
    """Nobody answered; says why."""


class DepartedError(Exception):
    """A request is none of those recorded; says where it differs."""


class _Live:
    def __init__(self, upstream: aiohttp.ClientResponse) -> None:
        self._upstream = upstream
        self.status = upstream.status
        self.headers: Mapping[str, str] = upstream.headers
        self.varied = ()

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._upstream.content.iter_any():
                yield chunk
        except (aiohttp.ClientPayloadError, aiohttp.ClientOSError) as error:
            raise BrokenError(f"{type(error).__name__}: {error}") from error


class Network:
    """A provider.

    Args:
        client: Connects to it.
        url: What stands before a request's path.
    """

    def __init__(self, client: aiohttp.ClientSession, url: str) -> None:
        self._client = client
        self._url = url.rstrip("/")

    @asynccontextmanager
    async def ask(
        self, path: str, headers: CIMultiDict[str], body: bytes
    ) -> AsyncGenerator[Answer]:
        """Its answer; see `Source`."""
        asking = self._client.post(
            self._url + path, data=body, headers=headers, allow_redirects=False
        )
        try:
            upstream = await asking
        except (aiohttp.ClientError, OSError) as error:
            raise UnreachableError(f"{type(error).__name__}: {error}") from error
        async with upstream:
            yield _Live(upstream)


def is_stream(headers: Mapping[str, str]) -> bool:
    """True for the headers of an event stream."""
    kind = next((v for k, v in headers.items() if k.lower() == "content-type"), "")
    return kind.partition(";")[0].strip().lower() == "text/event-stream"
