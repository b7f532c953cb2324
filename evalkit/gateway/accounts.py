"""Who may ask, and what they took so far. Pure."""

from __future__ import annotations

import math
from asyncio import Task
from collections.abc import Callable
from typing import NamedTuple

from evalkit.gateway.meter import Meter
from evalkit.gateway.sources import Source
from evalkit.gateway.terms import Caps, Trial
from evalkit.records import Exchange, Passage, Request
from evalkit.transcript.rows import Tokens
from evalkit.usage import Rates, price

MAX_REFUSALS = 100
"""Rows kept of one call's refused requests; an agent can make any number."""


MIN_TOKENS = 1_000
"""Held for a request at least, as long as none of its trial has told its usage."""
BYTES_PER_TOKEN = 4
NOT_CHARGED = frozenset(
    {Passage.FAILED, Passage.HELD, Passage.UNREACHABLE, Passage.DEPARTED}
)


class Amount(NamedTuple):
    """Tokens of all classes, and dollars."""

    tokens: float = 0
    usd: float = 0.0

    def plus(self, other: Amount) -> Amount:
        """Both together."""
        return Amount(self.tokens + other.tokens, self.usd + other.usd)

    def larger(self, other: Amount) -> Amount:
        """The larger of each."""
        return Amount(max(self.tokens, other.tokens), max(self.usd, other.usd))


class Taking:
    """One request under way; `n_bytes` is None where no provider charges for it."""

    def __init__(self, model: str, meter: Meter, n_bytes: int | None) -> None:
        self.model = model
        self.meter = meter
        self.n_bytes = n_bytes


class Account:
    """What the calls of one attempt took together; `Caps` says how it counts."""

    def __init__(self, caps: Caps, cost: Callable[[str, Tokens], float]) -> None:
        self._caps = caps
        self._cost = cost
        self._n_begun = 0
        self._under_way: list[Taking] = []
        self._spent = Amount()
        self._known = Amount()
        self._n_known = 0

    def reached(self) -> tuple[str, str] | None:
        """The first cap that is reached: its name, and what it allows."""
        caps = self._caps
        if caps.max_requests is not None and self._n_begun >= caps.max_requests:
            return "max_requests", f"{caps.max_requests:,}"
        taken = self._spent
        for taking in self._under_way:
            taken = taken.plus(self._held(taking))
        if caps.max_tokens is not None and taken.tokens >= caps.max_tokens:
            return "max_tokens", f"{caps.max_tokens:,}"
        if caps.max_usd is not None and taken.usd >= caps.max_usd:
            return "max_usd", f"{caps.max_usd:,.2f}"
        return None

    def begin(self, taking: Taking) -> None:
        """Count a request from its start."""
        self._n_begun += 1
        self._under_way.append(taking)

    def end(self, taking: Taking, passage: Passage) -> None:
        """Count what it took; where that stays unknown, what was held for it."""
        self._under_way.remove(taking)
        told, meter = self._told(taking), taking.meter
        if passage in NOT_CHARGED:
            self._spent = self._spent.plus(told)
        elif meter.tokens and meter.is_whole:
            self._spent = self._spent.plus(told)
            self._known = self._known.plus(told)
            self._n_known += 1
        else:
            self._spent = self._spent.plus(self._held(taking))

    def _told(self, taking: Taking) -> Amount:
        tokens = taking.meter.tokens
        if tokens is None:
            return Amount()
        return Amount(tokens.total, self._cost(taking.model, tokens))

    def _held(self, taking: Taking) -> Amount:
        if taking.n_bytes is None:
            return self._told(taking)
        estimate = math.ceil(taking.n_bytes / BYTES_PER_TOKEN)
        if not self._n_known:
            estimate = max(estimate, MIN_TOKENS)
        fresh = Tokens(estimate, 0, 0, 0, 0)
        held = Amount(estimate, self._cost(taking.model, fresh))
        return held.larger(self._mean()).larger(self._told(taking))

    def _mean(self) -> Amount:
        n = max(self._n_known, 1)
        return Amount(self._known.tokens / n, self._known.usd / n)


class Opened:
    """One call of an agent: its account, requests under way, and rows."""

    def __init__(
        self, trial: Trial, account: Account, source: Source, folder: str | None
    ) -> None:
        self.trial = trial
        self.account = account
        self.source = source
        self.recordings = folder
        self.is_open = True
        self.under_way: set[Task[object]] = set()
        self.rows: list[Exchange] = []
        self.n_refused = 0
        self._n = 0

    def next_number(self) -> int:
        """The number of the request that begins now, from 1."""
        self._n += 1
        return self._n


def cost_by(rates: Rates, accounting: str) -> Callable[[str, Tokens], float]:
    """What tokens of one request for a model cost: dollars, 0 without a price."""

    def cost(model: str, used: Tokens) -> float:
        request = Request(
            call=0,
            model=model,
            input=used.input,
            write_5m=used.write_5m,
            write_1h=used.write_1h,
            read=used.read,
            output=used.output,
            source="gateway",
        )
        return price(request, rates, accounting=accounting) or 0.0

    return cost
