"""Tokens and prices: whom to believe about usage, and what a request costs. Pure.

Dollars are never stored. Rates have tiers, so each request is priced by itself.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from evalkit.errors import InputError
from evalkit.records import Record, Request

LIST = "list"
"""Name of the accounting that takes each model's own list prices."""

CLASSES = ("input", "write_5m", "write_1h", "read", "output")
_classes = attrgetter(*CLASSES)
TOKENS_PER_RATE = 1_000_000
_DATED = re.compile(r"-\d{8}$")


class Tier(Record, frozen=True):
    """Rates of a request whose prompt passes `above_input_tokens`.

    The prompt is fresh input, cache writes and cache reads together; all of the
    request's tokens are then priced so, not only those above.
    """

    above_input_tokens: int
    input: float
    write_5m: float
    write_1h: float
    read: float
    output: float


class Rate(Record, frozen=True):
    """Dollars per million tokens of one model, and where they were read when."""

    input: float
    write_5m: float
    write_1h: float
    read: float
    output: float
    source: str
    date: datetime.date
    tier: Tier | None = None


class Rates(Record, frozen=True):
    """List prices by model, and conventions that price every model alike."""

    models: dict[str, Rate]
    conventions: dict[str, Rate]


class Settled(NamedTuple):
    """Usage as it counts, and what other reporters said of it."""

    requests: tuple[Request, ...]
    disagreement: str | None


def settle(witnesses: Sequence[Sequence[Request]]) -> Settled:
    """Believe the first witness that says anything; note who differs from it.

    Args:
        witnesses: Accounts of one call's usage, the one to be believed first
            first: rows of the gateway where one stood, then those of
            `transcript.Session.witnesses`.

    Returns:
        The rows of the first account that has any, and per class of tokens what
        each other account says, where it differs; None where none does.
    """
    told = [tuple(rows) for rows in witnesses if rows]
    if not told:
        return Settled((), None)
    believed, *others = told
    counts = _sums(believed)
    found = [
        f"{name}: {count:,} by {believed[0].source}, {other:,} by {rows[0].source}"
        for rows in others
        for name, count, other in zip(CLASSES, counts, _sums(rows), strict=True)
        if count != other
    ]
    return Settled(believed, "; ".join(found) or None)


def parse_rates(data: bytes, where: object = "prices.toml") -> Rates:
    """Read a price file.

    Raises:
        InputError: It is not such a file.
    """
    try:
        return msgspec.convert(tomllib.loads(data.decode()), Rates)
    except (ValueError, msgspec.ValidationError) as error:
        raise InputError(
            where,
            expected="tables [models.<id>] and [conventions.<name>] with five rates",
            found=str(error),
            cure="mend the file",
        ) from error


def price(request: Request, rates: Rates, *, accounting: str = LIST) -> float | None:
    """What a request costs.

    Args:
        request: One request, or the totals of an unknown number.
        rates: From `parse_rates`.
        accounting: `list`, or the name of a convention in `rates`.

    Returns:
        Dollars. None where the model's rates are not known, or totals may hide
        requests on either side of a tier.

    Raises:
        InputError: There is no such accounting.
    """
    rate = _rate(request.model, rates, accounting)
    if rate is None:
        return None
    row: Rate | Tier = rate
    prompt = request.input + request.write_5m + request.write_1h + request.read
    if rate.tier is not None and prompt > rate.tier.above_input_tokens:
        if request.n_requests != 1:
            return None
        row = rate.tier
    spent = sum(getattr(request, name) * getattr(row, name) for name in CLASSES)
    return spent / TOKENS_PER_RATE


def dollars(
    requests: Sequence[Request] | None, rates: Rates, accounting: str
) -> float | None:
    """What requests cost together; None where one is not known or has no price."""
    if requests is None:
        return None
    prices = [price(one, rates, accounting=accounting) for one in requests]
    known = [found for found in prices if found is not None]
    return math.fsum(known) if len(known) == len(prices) else None


def total_tokens(request: Request) -> int:
    """All five classes together."""
    return sum(_classes(request))


def _rate(model: str, rates: Rates, accounting: str) -> Rate | None:
    if accounting == LIST:
        return rates.models.get(model) or rates.models.get(_DATED.sub("", model))
    if accounting not in rates.conventions:
        raise InputError(
            "accounting",
            expected=" or ".join([LIST, *rates.conventions]),
            found=repr(accounting),
            cure="choose one of these",
        )
    return rates.conventions[accounting]


def _sums(rows: Sequence[Request]) -> list[int]:
    return [sum(getattr(row, name) for row in rows) for name in CLASSES]
