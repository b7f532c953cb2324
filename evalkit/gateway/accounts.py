"""Who may ask, and what they took so far. Pure."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Callable

from evalkit.gateway.meter import Meter
from evalkit.gateway.terms import Caps, Trial
from evalkit.records import Exchange, Request
from evalkit.usage import Rates, price

MAX_REFUSALS = 100
"""Rows kept of one call's refused requests; an agent can make any number."""


class Account:
    """What the calls of one attempt took together."""

    def __init__(self, caps: Caps, cost: Callable[[str, Meter], float]) -> None:
        self._caps = caps
        self._cost = cost
        self._passed: list[tuple[str, Meter]] = []

    def reached(self) -> tuple[str, str] | None:
        """The first cap that is reached: its name, and what it allows."""
        caps = self._caps
        if caps.max_requests is not None and len(self._passed) >= caps.max_requests:
            return "max_requests", f"{caps.max_requests:,}"
        if caps.max_tokens is not None and self._tokens() >= caps.max_tokens:
            return "max_tokens", f"{caps.max_tokens:,}"
        if caps.max_usd is not None and self._usd() >= caps.max_usd:
            return "max_usd", f"{caps.max_usd:,.2f}"
        return None

    def add(self, model: str, meter: Meter) -> None:
        """Count a request from its start, with what its meter will say."""
        self._passed.append((model, meter))

    def _tokens(self) -> int:
        return sum(meter.tokens.total for _, meter in self._passed if meter.tokens)

    def _usd(self) -> float:
        return sum(self._cost(model, meter) for model, meter in self._passed)


class Opened:
    """One call of an agent: its account, requests under way, and rows."""

    def __init__(self, trial: Trial, account: Account, folder: str | None) -> None:
        self.trial = trial
        self.account = account
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


def cost_by(rates: Rates, accounting: str) -> Callable[[str, Meter], float]:
    """What a request for a model cost so far: dollars, those that are known."""

    def cost(model: str, meter: Meter) -> float:
        if meter.tokens is None:
            return 0.0
        used = meter.tokens
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
