"""Lets those who know a token ask a provider, and keeps account of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import aiohttp
import msgspec
from aiohttp import web

from evalkit.gateway import contents, passing, recording, replies
from evalkit.gateway.accounts import MAX_REFUSALS, Account, Opened, Taking, cost_by
from evalkit.gateway.contents import Contents, UnreadableError
from evalkit.gateway.holding import Holding
from evalkit.gateway.meter import Meter
from evalkit.gateway.notes import Notes
from evalkit.gateway.passing import Passing
from evalkit.gateway.recording import Recording
from evalkit.gateway.replies import Refusal
from evalkit.gateway.sources import Network, Source
from evalkit.gateway.tape import Tape
from evalkit.gateway.terms import Start, Taped, Trial
from evalkit.gateway.varying import Varying
from evalkit.gateway.withheld import Secret
from evalkit.records import Exchange, Passage
from evalkit.wire import MAX_LINE_BYTES

MAX_BODY_BYTES = 64 * 1024 * 1024
CLOSE_S = 5.0
CONNECT_S = 30.0
MAX_PORTION_BYTES = MAX_LINE_BYTES // 4
"""Of rows in UTF-8: the wire writes ASCII, at most three times as long."""


class Server:
    """One gateway. Its methods run on the loop that serves it."""

    def __init__(self, given: Start, now: Callable[[], str]) -> None:
        self._given = given
        self._now = now
        self._folder = Path(given.folder)
        self._cost = cost_by(given.rates, given.accounting)
        self._opened: dict[str, Opened] = {}
        self._accounts: dict[str, Account] = {}
        self._notes = Notes(self._folder, now)
        replays = given.varies is not None
        wait_s = 0.0 if replays else given.retry_wait_ms / 1000
        self._holding = Holding(None if replays else given.at_once, wait_s)

    @property
    def fault(self) -> str | None:
        """What the disk would not take."""
        return self._notes.fault

    async def start(self) -> int:
        """Begin to listen; gives the port on loopback."""
        given = self._given
        self._client = None if given.varies is not None else new_client()
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._serve)
        # Without it a request goes on, and is paid for, after its client is gone.
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=CLOSE_S
        )
        await self._runner.setup()
        await web.UnixSite(self._runner, given.socket).start()
        # The sandbox's user must reach it; its folder keeps everybody else out.
        Path(given.socket).chmod(0o666)
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        answers = given.provider.url if self._client else "recordings"
        self._notes.add("start", models=given.models, provider=answers)
        return int(self._runner.addresses[-1][1])

    def open(self, token: str, trial: Trial, taped: Taped | None) -> None:
        """Let who knows a token make requests, in a replay of what was recorded."""
        account = self._accounts.setdefault(
            trial.trial, Account(trial.caps, self._cost)
        )
        folder = None
        if self._given.record:
            folder = str(recording.new_folder(self._folder, trial.name))
        source = self._source(taped)
        self._opened[token] = Opened(trial, account, source, folder)
        self._notes.add("open", name=trial.name, trial=trial.trial, caps=trial.caps)

    async def close(self, token: str) -> int:
        """Let them no more; the number of rows there are to tell."""
        opened = self._opened[token]
        opened.is_open = False
        await passing.wait_all(opened.under_way, CLOSE_S)
        self._notes.add("close", name=opened.trial.name, n=opened.n_refused)
        return len(opened.rows)

    def tell(self, token: str, first: int) -> tuple[Exchange, ...]:
        """Rows of a closed token that fit a line; forgotten once all are told."""
        opened = self._opened[token]
        rows = portion(opened.rows, first)
        if first + len(rows) >= len(opened.rows):
            del self._opened[token]
        return rows

    async def stop(self) -> None:
        """End everything under way, and the notes."""
        for opened in self._opened.values():
            opened.is_open = False
            await passing.wait_all(opened.under_way, CLOSE_S)
        await self._runner.cleanup()
        if self._client:
            await self._client.close()
        self._notes.stop()

    def _source(self, taped: Taped | None) -> Source:
        provider = self._given.provider
        if self._client:
            return Network(self._client, provider.url)
        assert taped is not None
        assert self._given.varies is not None
        varying, secret = Varying(self._given.varies), Secret(provider.credential)
        return Tape(taped, varying, provider.dialect, secret)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        opened = self._opened.get(token_of(request))
        if opened is None or not opened.is_open:
            return self._turn_away(request, replies.UNKNOWN_TOKEN)
        dialect = self._given.provider.dialect
        if request.method != "POST" or request.path not in replies.PATHS[dialect]:
            refusal = replies.not_offered(request.method, request.path, dialect)
            return self._turn_away(request, refusal, opened)
        task = asyncio.current_task()
        assert task is not None
        opened.under_way.add(task)
        try:
            return await self._admit(request, opened)
        except web.HTTPRequestEntityTooLarge:
            said = f"a body over {MAX_BODY_BYTES:,} bytes"
            return self._turn_away(request, Refusal(413, said), opened)
        finally:
            opened.under_way.discard(task)

    async def _admit(self, request: web.Request, opened: Opened) -> web.StreamResponse:
        body = await request.read()
        try:
            asked = contents.read(body, opened.trial.marks)
        except UnreadableError as error:
            return self._turn_away(request, Refusal(400, str(error)), opened)
        if asked.model not in self._given.models:
            refusal = replies.not_registered(asked.model, self._given.models)
            return self._turn_away(request, refusal, opened)
        # Nothing is awaited from here until the request counts.
        if reached := opened.account.reached():
            return self._refuse(request, opened, asked, body, reached)
        meter = Meter(self._given.provider.dialect)
        charged = not request.path.endswith(replies.COUNTS)
        taking = Taking(asked.model, meter, len(body) if charged else None)
        opened.account.begin(taking)
        return await self._carry(request, opened, asked, body, taking)

    async def _carry(
        self,
        request: web.Request,
        opened: Opened,
        asked: Contents,
        body: bytes,
        taking: Taking,
    ) -> web.StreamResponse:
        number = opened.next_number()
        kept = None
        if opened.recordings:
            stem = recording.stem_of(Path(opened.recordings), number)
            secret = Secret(self._given.provider.credential)
            kept = Recording(stem, self._notes, secret)
        passed = Passing(
            number,
            request.path,
            asked,
            body,
            taking.meter,
            provider=self._given.provider,
            source=opened.source,
            recording=kept,
            now=self._now,
        )
        try:
            async with self._holding.leave() as left_at_s:
                try:
                    return await passed.carry(request)
                finally:
                    self._holding.hear(left_at_s, passed.heard())
        except asyncio.CancelledError:
            if not opened.is_open:
                if passed.passage is not Passage.HELD:
                    passed.passage = Passage.CLOSED
                passing.abort(request)
            raise
        finally:
            row = passed.end()
            opened.account.end(taking, row.passage)
            self._keep(opened, row)

    def _refuse(
        self,
        request: web.Request,
        opened: Opened,
        asked: Contents,
        body: bytes,
        reached: tuple[str, str],
    ) -> web.Response:
        opened.n_refused += 1
        refusal = replies.over_cap(*reached)
        if opened.n_refused <= MAX_REFUSALS:
            row = Exchange(
                n=opened.next_number(),
                path=request.path,
                model=asked.model,
                passage=Passage.REFUSED,
                streamed=asked.streamed,
                started_at=self._now(),
                first_byte_ms=None,
                total_ms=0.0,
                http_status=refusal.status,
                refused_by=reached[0],
                listed=asked.listed,
                carried=asked.carried,
                n_request_bytes=len(body),
                detail=refusal.message,
            )
            self._keep(opened, row)
        return self._answer(refusal)

    def _keep(self, opened: Opened, row: Exchange) -> None:
        opened.rows.append(row)
        trial = opened.trial
        self._notes.add("request", name=trial.name, trial=trial.trial, exchange=row)

    def _turn_away(
        self, request: web.Request, refusal: Refusal, opened: Opened | None = None
    ) -> web.Response:
        name = f"{opened.trial.name}: " if opened else ""
        where = f"{request.method[:20]} {request.path[:100]}"
        self._notes.add_stranger(f"{name}{where}: {refusal.status} {refusal.message}")
        return self._answer(refusal)

    def _answer(self, refusal: Refusal) -> web.Response:
        return web.json_response(
            body=refusal.body(self._given.provider.dialect),
            status=refusal.status,
            headers=refusal.headers,
        )


def new_client() -> aiohttp.ClientSession:
    """What connects to a provider."""
    return aiohttp.ClientSession(
        # No connection is used twice: one that the provider has just closed
        # would fail a request through no fault of the agent's.
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("user-agent", "content-type"),
    )


def portion(rows: Sequence[Exchange], first: int) -> tuple[Exchange, ...]:
    """Rows from this one on, as many as the wire takes at once."""
    n_bytes = 0
    for last in range(first, len(rows)):
        n_bytes += len(msgspec.json.encode(rows[last])) + 1
        if n_bytes > MAX_PORTION_BYTES:
            return tuple(rows[first : max(last, first + 1)])
    return tuple(rows[first:])


def token_of(request: web.Request) -> str:
    """The token a client shows, in either of the headers."""
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return request.headers.get("x-api-key") or bearer
