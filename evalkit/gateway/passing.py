"""One request on its way to who answers it, the answer on its way back, and its row."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from aiohttp import web
from multidict import CIMultiDict

from evalkit.gateway import replies
from evalkit.gateway.contents import Contents
from evalkit.gateway.holding import Heard
from evalkit.gateway.meter import Meter
from evalkit.gateway.notes import MAX_DETAIL_CHARS
from evalkit.gateway.recording import Recording
from evalkit.gateway.replies import Refusal
from evalkit.gateway.sources import (
    Answer,
    BrokenError,
    DepartedError,
    Source,
    UnreachableError,
    is_stream,
)
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
    """Carries one request through; afterwards `end` tells what was seen."""

    def __init__(
        self,
        number: int,
        path: str,
        asked: Contents,
        body: bytes,
        meter: Meter,
        *,
        provider: Provider,
        source: Source,
        recording: Recording | None,
        now: Callable[[], str],
    ) -> None:
        self._number = number
        self._asked = asked
        self._body = body
        self._meter = meter
        self._provider = provider
        self._secret = Secret(provider.credential)
        self._source = source
        self._recording = recording
        self._started_at = now()
        self._clock_s = time.monotonic()
        self._first_byte_ms: float | None = None
        self._n_answer_bytes = 0
        self._held_ms = 0.0
        self._status: int | None = None
        self._retry_after: str | None = None
        self._path = path
        self._detail = ""
        self._varied: tuple[str, ...] = ()
        self._is_broken = False
        self.passage = Passage.HELD

    async def carry(self, request: web.Request) -> web.StreamResponse:
        """Ask, and pass the answer on as it comes."""
        self._held_ms, self._clock_s = self._elapsed_ms(), time.monotonic()
        self.passage = Passage.CLIENT_GONE
        headers = sent_headers(request.headers, self._provider)
        if self._recording:
            self._recording.asked(request.path_qs, headers, self._body)
        asking = self._source.ask(request.path_qs, headers, self._body)
        try:
            async with asking as answer:
                self._varied = answer.varied
                self._retry_after = answer.headers.get("retry-after")
                if answer.status >= 400:
                    return await self._pass_error(answer)
                return await self._pass(request, answer)
        except UnreachableError as error:
            said = self._secret.out_of(str(error))
            refusal = Refusal(502, f"the provider cannot be reached: {said}")
            return self._refuse(refusal, Passage.UNREACHABLE, said)
        except DepartedError as error:
            refusal = replies.departed(str(error))
            return self._refuse(refusal, Passage.DEPARTED, str(error))

    def heard(self) -> Heard:
        """What the provider said to it so far."""
        return Heard(self._status, self._meter.error, self._retry_after)

    def end(self) -> Exchange:
        """Keep the last of it; what was seen of it."""
        is_held = self.passage is Passage.HELD
        recorded = None
        if self._recording and not is_held:
            recorded = self._recording.end(broken=self._is_broken)
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
            total_ms=0.0 if is_held else self._elapsed_ms(),
            held_ms=self._elapsed_ms() if is_held else self._held_ms,
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
            recorded=recorded,
            varied=self._varied,
        )

    async def _pass(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        streams = is_stream(answer.headers)
        headers = self._secret.out_of_headers(returned_headers(answer.headers))
        response = web.StreamResponse(status=answer.status, headers=headers)
        self._status = answer.status
        self._record_head(answer.status, headers)
        await response.prepare(request)
        whole = bytearray()
        try:
            async for chunk in answer.pieces():
                self._note_chunk(chunk)
                if streams:
                    self._meter.take_stream(chunk)
                else:
                    whole += chunk
                await response.write(chunk)
        except BrokenError as error:
            # The client must see the cut too, not an answer that ends well.
            self._is_broken = True
            self._ended(Passage.TRUNCATED, str(error))
            abort(request)
            return response
        if not streams:
            self._meter.take_whole(bytes(whole))
        cut = streams and not self._meter.is_whole
        self._ended(Passage.TRUNCATED if cut else Passage.COMPLETE)
        with suppress(ConnectionError):  # it has all it asked for
            await response.write_eof()
        return response

    async def _pass_error(self, answer: Answer) -> web.Response:
        self._status = answer.status
        headers = self._secret.out_of_headers(returned_headers(answer.headers))
        try:
            body = b"".join([piece async for piece in answer.pieces()])
        except BrokenError as error:
            raise UnreachableError(str(error)) from error
        if answer.status in {401, 403}:
            body = Refusal(401, replies.WITHHELD).body(self._provider.dialect)
            headers = CIMultiDict({"content-type": "application/json"})
        body = self._secret.out_of_bytes(body)
        self._record_head(answer.status, headers)
        self._note_chunk(body)
        self._meter.take_whole(body)
        self._ended(Passage.FAILED)
        return web.Response(status=answer.status, headers=headers, body=body)

    def _refuse(self, refusal: Refusal, passage: Passage, said: str) -> web.Response:
        self._status = refusal.status
        self._ended(passage, said)
        return web.json_response(
            body=refusal.body(self._provider.dialect),
            status=refusal.status,
            headers=refusal.headers,
        )

    def _ended(self, passage: Passage, detail: str = "") -> None:
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
    headers = _texts(given, NOT_SENT)
    # What is compressed cannot be counted as it passes.
    headers["accept-encoding"] = "identity"
    bearer = "Bearer " if provider.header is Header.BEARER else ""
    headers[provider.header] = bearer + provider.credential
    return headers


def returned_headers(given: Mapping[str, str]) -> CIMultiDict[str]:
    """A provider's headers, without those of its connection to us."""
    return _texts(given, NOT_RETURNED)


def _texts(given: Mapping[str, str], left_out: set[str]) -> CIMultiDict[str]:
    """Headers but for some, and for those that are no text: nobody could keep them."""
    return CIMultiDict(
        (k, v)
        for k, v in given.items()
        if k.lower() not in left_out and v.isprintable()
    )
