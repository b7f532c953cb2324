"""What a plan may cost before it starts: planned calls x tokens a call took before.

Where no call of this agent and model was seen in the root's earlier runs, tokens
are assumed, and said to be. Most of an agent's tokens are its context read again
from the cache with every request, so they grow with the square of its turns: the
assumed range is that wide on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalkit import prices, usage
from evalkit.errors import EvalkitError
from evalkit.journal import read_journal
from evalkit.records import Record, Registration, Request, StepResult
from evalkit.registration import FILE, load_registration
from evalkit.standing import JOURNAL, results_of

ASSUMED_LEAST = {"input": 2_000, "write_5m": 30_000, "read": 150_000, "output": 3_000}
ASSUMED_MOST = {
    "input": 20_000,
    "write_5m": 150_000,
    "read": 3_000_000,
    "output": 40_000,
}
MIN_OBSERVED = 5
"""Calls below which what was seen says too little."""
LEAST, MOST = 0.1, 0.9
"""Quantiles of what was seen."""


class Estimate(Record, frozen=True):
    """Tokens and dollars of all planned calls, and what that rests on.

    Dollars are by the plan's accounting, None where the model has no price there.
    """

    basis: str
    n_tokens_least: int
    n_tokens_most: int
    usd_least: float | None
    usd_most: float | None


def estimate(registration: Registration, root: Path) -> Estimate | None:
    """What a plan may cost; None for an agent that calls no model."""
    if registration.agent.provider is None:
        return None
    seen = sorted(_observed(registration, root), key=_n_tokens)
    if len(seen) >= MIN_OBSERVED:
        basis = f"observed in {len(seen)} calls of this agent and model"
        least, most = (seen[int(q * (len(seen) - 1))] for q in (LEAST, MOST))
    else:
        basis = "assumed, not measured: no such calls were seen in this root"
        least, most = (
            [_request(registration.plan.model, counts)]
            for counts in (ASSUMED_LEAST, ASSUMED_MOST)
        )
    n_calls = registration.n_planned_calls
    return Estimate(
        basis=basis,
        n_tokens_least=_n_tokens(least) * n_calls,
        n_tokens_most=_n_tokens(most) * n_calls,
        usd_least=_usd(least, registration, n_calls),
        usd_most=_usd(most, registration, n_calls),
    )


def _observed(registration: Registration, root: Path) -> Iterator[list[Request]]:
    """Requests of every call of the same agent and model in earlier runs."""
    for path in sorted((root / "runs").glob(f"*/{FILE}")):
        try:
            other = load_registration(path.parent)
            events = read_journal(path.parent / JOURNAL).events
        except (EvalkitError, OSError):  # another's damage is none of this plan's
            continue
        if other.replay is not None:  # it was counted when it was recorded
            continue
        same = (other.agent.name, other.plan.model, other.agent.simulated)
        if same != (
            registration.agent.name,
            registration.plan.model,
            registration.agent.simulated,
        ):
            continue
        for result in results_of(events):
            for step in result.steps:
                yield from _by_call(step)


def _by_call(step: StepResult) -> Iterator[list[Request]]:
    for n in range(len(step.calls)):
        own = [request for request in step.requests if request.call == n]
        if own:
            yield own


def _request(model: str, counts: dict[str, int]) -> Request:
    known = {**dict.fromkeys(usage.CLASSES, 0), **counts}
    tokens = (known[name] for name in usage.CLASSES)
    return Request(0, model, *tokens, source="assumed", n_requests=None)


def _n_tokens(requests: list[Request]) -> int:
    return sum(map(usage.total_tokens, requests))


def _usd(
    requests: list[Request], registration: Registration, n_calls: int
) -> float | None:
    rates = prices.rates()
    each = usage.dollars(requests, rates, registration.plan.accounting)
    return None if each is None else each * n_calls
