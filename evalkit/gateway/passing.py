"""One request on its way to the provider, its answer on the way back, and its row."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from evalkit.gateway import replies
from evalkit.gateway.contents import Contents
from evalkit.gateway.meter import Meter
from evalkit.gateway.notes import MAX_DETAIL_CHARS, Recording
from evalkit.gateway.replies import Refusal
from evalkit.gateway.terms import Header, Provider
from evalkit.gateway.withheld import Secret
from evalkit.records import Exchange, Passage

HOP_BY_HOP = {
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
    "proxy-connection", "te", "trailer", "trailers", "transfer-encoding", "upgrade",
}  # fmt: skip
NOT_SENT = HOP_BY_HOP | {
    "accept-encoding", "authorization", "content-encoding", "content-length",
    "cookie", "expect", "forwarded", "host", "x-api-key",
}  # fmt: skip
NOT_RETURNED = HOP_BY_HOP | {
    "anthropic-organization-id", "content-length", "openai-organization", "set-cookie",
}  # fmt: skip
MAX_NAME_CHARS = 200


class Passing:
    """Carries one request through; afterwards `row` tells what was seen."""

    def __init__(
        self,
        number: int,
        asked: Contents,
        body: bytes,
        meter: Meter,
        *,
        provider: Provider,
        client: aiohttp.ClientSession,
        recording: Recording | None,
        now: Callable[[], str],
    ) -> None:
        self._number = number
        self._asked = asked
        self._body = body
        self._meter = meter
        self._provider = provider
        self._secret = Secret(provider.credential)
        self._client = client
        self._recording = recording
        self._started_at = now()
        self._clock_s = time.monotonic()
        self._first_byte_ms: float | None = None
        self._n_answer_bytes = 0
        self._status: int | None = None
        self._path = ""
        self._detail = ""
        self.passage = Passage.CLIENT_GONE

    async def carry(self, request: web.Request) -> web.StreamResponse:
        """Ask the provider, and pass its answer on as it comes."""
        self._path = request.path
        headers = sent_headers(request.headers, self._provider)
        if self._recording:
            self._recording.asked(request.path_qs, headers, self._body)
        query = f"?{request.query_string}" if request.query_string else ""
        asking = self._client.post(
            self._provider.url.rstrip("/") + request.path + query,
            data=self._body,
            headers=headers,
            allow_redirects=False,
        )
        try:
            upstream = await asking
        except (aiohttp.ClientError, OSError) as error:
            return self._unreachable(error)
        async with upstream:
            if upstream.status >= 400:
                return await self._pass_error(upstream)
            return await self._pass(request, upstream)

    def row(self) -> Exchange:
        """What was seen of it so far."""
        used = self._meter.tokens
        detail = self._secret.out_of(self._detail or self._meter.error)
        served = self._meter.served and self._secret.out_of(self._meter.served)
        return Exchange(
            n=self._number,
            path=self._path,
            model=self._asked.model,
            passage=self.passage,
            streamed=self._asked.streamed,
            started_at=self._started_at,
            first_byte_ms=self._first_byte_ms,
            total_ms=self._elapsed_ms(),
            http_status=self._status,
            served=served and served[:MAX_NAME_CHARS],
            input=used.input if used else None,
            write_5m=used.write_5m if used else None,
            write_1h=used.write_1h if used else None,
            read=used.read if used else None,
            output=used.output if used else None,
            listed=self._asked.listed,
            carried=self._asked.carried,
            n_request_bytes=len(self._body),
            n_answer_bytes=self._n_answer_bytes,
            detail=detail[:MAX_DETAIL_CHARS],
        )

    async def _pass(
        self, request: web.Request, upstream: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        streams = upstream.content_type == "text/event-stream"
        headers = self._secret.out_of_headers(returned_headers(upstream.headers))
        response = web.StreamResponse(status=upstream.status, headers=headers)
        self._status = upstream.status
        self._record_head(upstream.status, headers)
        await response.prepare(request)
        whole = bytearray()
        try:
            async for chunk in upstream.content.iter_any():
                self._note_chunk(chunk)
                if streams:
                    self._meter.take_stream(chunk)
                else:
                    whole += chunk
                await response.write(chunk)
        except (aiohttp.ClientPayloadError, aiohttp.ClientOSError) as error:
            # The client must see the cut too, not an answer that ends well.
            self._end(Passage.TRUNCATED, str(error))
            abort(request)
            return response
        if not streams:
            self._meter.take_whole(bytes(whole))
        cut = streams and not self._meter.is_whole
        self._end(Passage.TRUNCATED if cut else Passage.COMPLETE)
        with suppress(ConnectionError):  # it has all it asked for
            await response.write_eof()
        return response

    async def _pass_error(self, upstream: aiohttp.ClientResponse) -> web.Response:
        self._status = upstream.status
        headers = self._secret.out_of_headers(returned_headers(upstream.headers))
        try:
            body = await upstream.read()
        except aiohttp.ClientError as error:
            return self._unreachable(error)
        if upstream.status in {401, 403}:
            body = Refusal(401, replies.WITHHELD).body(self._provider.dialect)
            headers = CIMultiDict({"content-type": "application/json"})
        body = self._secret.out_of_bytes(body)
        self._record_head(upstream.status, headers)
        self._note_chunk(body)
        self._meter.take_whole(body)
        self._end(Passage.FAILED)
        return web.Response(status=upstream.status, headers=headers, body=body)

    def _unreachable(self, error: Exception) -> web.Response:
        said = self._secret.out_of(f"{type(error).__name__}: {error}")
        refusal = Refusal(502, f"the provider cannot be reached: {said}")
        self._status = refusal.status
        body = refusal.body(self._provider.dialect)
        self._end(Passage.UNREACHABLE, said)
        return web.json_response(body=body, status=refusal.status)

    def _end(self, passage: Passage, detail: str = "") -> None:
        self.passage, self._detail = passage, detail

    def _record_head(self, status: int, headers: Mapping[str, str]) -> None:
        if self._recording:
            self._recording.answered(status, headers)

    def _note_chunk(self, chunk: bytes) -> None:
        if self._first_byte_ms is None:
            self._first_byte_ms = self._elapsed_ms()
        self._n_answer_bytes += len(chunk)
        if self._recording:
            self._recording.add(chunk)

    def _elapsed_ms(self) -> float:
        return round((time.monotonic() - self._clock_s) * 1000, 3)


def abort(request: web.Request) -> None:
    """End the connection to a client at once."""
    if request.transport is not None:
        request.transport.abort()


async def wait_all(tasks: set[asyncio.Task[object]], timeout_s: float) -> None:
    """End tasks and wait for them."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=timeout_s)


def sent_headers(given: Mapping[str, str], provider: Provider) -> CIMultiDict[str]:
    """A client's headers, with the credential in the place of its token."""
    headers = CIMultiDict((k, v) for k, v in given.items() if k.lower() not in NOT_SENT)
    # What is compressed cannot be counted as it passes.
    headers["accept-encoding"] = "identity"
    bearer = "Bearer " if provider.header is Header.BEARER else ""
    headers[provider.header] = bearer + provider.credential
    return headers


def returned_headers(given: Mapping[str, str]) -> CIMultiDict[str]:
    """A provider's headers, without those of its connection to us."""
    return CIMultiDict(
        (k, v) for k, v in given.items() if k.lower() not in NOT_RETURNED
    )
