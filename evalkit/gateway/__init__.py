"""The only way from an agent to a model: holds the credential, counts, caps.

A process of its own, which the runner starts for a run. An agent gets a token and
a way to it; what each of its requests was and took is known afterwards, whatever
the agent says.
"""

from __future__ import annotations

import secrets
import socket
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from evalkit import files, process
from evalkit.errors import InfrastructureError, InputError
from evalkit.gateway import recording
from evalkit.gateway.terms import (
    Caps,
    Close,
    Header,
    Open,
    Orders,
    Provider,
    Start,
    Taped,
    Tell,
    Told,
    Trial,
)
from evalkit.gateway.varying import Rule, rules_of
from evalkit.records import Exchange, Request
from evalkit.usage import LIST, Rates, price
from evalkit.wire import GoneError, Wire

__all__ = [
    "INSIDE_PORT",
    "INSIDE_URL",
    "Admission",
    "Caps",
    "Gateway",
    "Header",
    "Provider",
    "Rule",
    "Taped",
    "Trial",
    "recording",
    "rules_of",
]

INSIDE_PORT = 8199
INSIDE_URL = f"http://127.0.0.1:{INSIDE_PORT}"
"""Where an agent in a sandbox finds it: there `inside/forward.py` listens."""
ANSWER_S = 60.0
LEAVE_S = 10.0
OPTIONS = ("-P", "-s", "-B")
NO_RATES = Rates({}, {})


class Admission(NamedTuple):
    """A way to the gateway for one call: bind `socket`, or use `url` unsandboxed."""

    token: str
    socket: Path
    url: str


class Gateway:
    """The runner's side; may be used from many threads.

    Args:
        folder: The run's, for `gateway.jsonl` and `recordings/`.
        provider: Where models answer.
        models: Those registered; no other is asked.
        record: Whether bodies are kept.
        varies: For a replay: what requests may differ in from those recorded. Then
            recordings answer, and nothing is connected to.
        rates: Prices, for caps in dollars.
        accounting: How requests are priced, as for `usage.price`.
        at_once: Requests that are under way at most; None is any number.
        retry_wait_ms: How long all wait for a provider that is busy, at first.
    """

    def __init__(
        self,
        folder: Path,
        provider: Provider,
        models: tuple[str, ...],
        *,
        record: bool = False,
        varies: tuple[Rule, ...] | None = None,
        rates: Rates = NO_RATES,
        accounting: str = LIST,
        at_once: int | None = None,
        retry_wait_ms: int = 0,
    ) -> None:
        provider.check()
        self._start = Start(
            provider=provider,
            models=models,
            rates=rates,
            accounting=accounting,
            folder=str(folder.absolute()),
            socket="",
            record=record,
            varies=varies,
            at_once=at_once,
            retry_wait_ms=retry_wait_ms,
        )
        self._lock = threading.Lock()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as open_until_exit:
            place = open_until_exit.enter_context(files.private_folder())
            self._socket = place / "gateway"
            self._said = open_until_exit.enter_context(tempfile.TemporaryFile())
            ours, theirs = socket.socketpair()
            open_until_exit.callback(ours.close)
            with theirs:
                number = theirs.fileno()
                self._running = process.start(
                    [sys.executable, *OPTIONS, "-m", "evalkit.gateway", str(number)],
                    env=process.MINIMAL_ENV,
                    stderr=self._said,
                    pass_fds=[number],
                )
            open_until_exit.callback(self._running.end)
            self._wire = Wire(ours)
            path = str(self._socket)
            told = self._ask(msgspec.structs.replace(self._start, socket=path))
            self._url = f"http://127.0.0.1:{told.port}"
            self._open = open_until_exit.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._open:
            self._wire.close()
            self._running.wait(LEAVE_S)

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._running.pid

    def open(self, trial: Trial, taped: Taped | None = None) -> Admission:
        """Let one call of an agent make requests, in a replay those recorded.

        Raises:
            InputError: Its name is no safe path, or a cap in dollars is set and a
                registered model has no price.
            InfrastructureError: The process ended, or its disk is full.
        """
        files.safe_relative(trial.name)
        self._check_prices(trial.caps)
        token = f"evalkit-{secrets.token_urlsafe(32)}"
        self._ask(Open(token, trial, taped))
        return Admission(token, self._socket, self._url)

    def close(self, token: str) -> tuple[Exchange, ...]:
        """Let it make no more, end what is under way, and tell all its requests.

        Raises:
            InfrastructureError: The process ended, or its disk is full.
        """
        n_rows = self._ask(Close(token)).n_rows or 0
        rows: list[Exchange] = []
        while True:
            rows += self._ask(Tell(token, len(rows))).rows
            if len(rows) >= n_rows:
                return tuple(rows)

    def _check_prices(self, caps: Caps) -> None:
        if caps.max_usd is None:
            return
        for model in self._start.models:
            one = Request(0, model, 1, 0, 0, 0, 1, "gateway")
            rates, accounting = self._start.rates, self._start.accounting
            if price(one, rates, accounting=accounting) is None:
                raise InputError(
                    "max_usd",
                    expected="a model whose price is known",
                    found=model,
                    cure="cap requests or tokens, or add its rates to prices.toml",
                )

    def _ask(self, order: Orders) -> Told:
        try:
            with self._lock:
                self._wire.send(msgspec.to_builtins(order))
                told = msgspec.convert(self._wire.receive(ANSWER_S), Told)
        except GoneError as error:
            raise InfrastructureError(
                f"gateway: expected an answer of its process, found: {error}; "
                f"{self._last_words()}; start the run again: it resumes"
            ) from error
        if told.fault:
            raise InfrastructureError(
                f"gateway: expected that it does as asked, found: {told.fault}; "
                "mend that, then start the run again: it resumes"
            )
        return told

    def _last_words(self) -> str:
        size = self._said.seek(0, 2)
        self._said.seek(max(0, size - 2000))
        return self._said.read().decode(errors="replace").strip() or "it said nothing"
