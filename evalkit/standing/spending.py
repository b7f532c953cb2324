"""Tokens and dollars of a run, of attempts that left no result too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from evalkit import usage
from evalkit.records import Exchange, Request

Cost = Callable[[Sequence[Request]], float | None]
"""What requests cost together, in dollars; None where one has no known price."""


class Spending:
    """Sums over requests; `usd` is None where a price is unknown."""

    def __init__(self, cost: Cost) -> None:
        self._cost = cost
        self.n_tokens = 0
        self.usd: float | None = 0.0

    def add(self, requests: Sequence[Request]) -> None:
        """Add some requests."""
        self.n_tokens += sum(map(usage.total_tokens, requests))
        self.usd = _sum(self.usd, self._cost(requests))

    def with_others(self, others: Iterable[Spending]) -> tuple[int, float | None]:
        """Tokens and dollars, with those of others."""
        n_tokens, dollars = self.n_tokens, self.usd
        for other in others:
            n_tokens, dollars = n_tokens + other.n_tokens, _sum(dollars, other.usd)
        return n_tokens, dollars


class _Line(msgspec.Struct):
    """What the gateway noted; of its requests alone more is asked here."""

    event: str
    trial: str | None = None
    exchange: Exchange | None = None


_decode_line = msgspec.json.Decoder(_Line).decode


class Untold:
    """Requests of attempts without a result, as the gateway notes them.

    Args:
        path: The gateway's notes, which grow; each line is read once.
        cost: Gives dollars.
    """

    def __init__(self, path: Path, cost: Cost) -> None:
        self._path = path
        self._cost = cost
        self._n_read = 0
        self._found: dict[str, Spending] = {}
        self._told: set[str] = set()

    def forget(self, attempt: str) -> None:
        """From now on its result tells of it."""
        self._told.add(attempt)
        self._found.pop(attempt, None)

    def spending(self) -> Iterable[Spending]:
        """By attempt, with what was noted since the last time."""
        for row in self._new_rows():
            with suppress(msgspec.DecodeError):
                line = _decode_line(row)
                request = line.exchange and line.exchange.request(0)
                if request and line.trial not in self._told:
                    found = self._found.setdefault(
                        line.trial or "", Spending(self._cost)
                    )
                    found.add([request])
        return self._found.values()

    def _new_rows(self) -> list[bytes]:
        if not self._path.is_file():
            return []
        with self._path.open("rb") as opened:
            opened.seek(self._n_read)
            data = opened.read()
        # What a killed gateway left half is cut by the next one.
        whole = data[: data.rfind(b"\n") + 1]
        self._n_read += len(whole)
        return whole.split(b"\n")


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
