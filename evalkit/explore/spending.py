"""What requests of a transcript cost, one by one and together: accounting only."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Any

import msgspec

from evalkit import prices, usage, wording
from evalkit.explore.index import Transcript
from evalkit.explore.items import Item
from evalkit.records import Request
from evalkit.transcript import Tokens
from evalkit.transcript.kinds import Kind

SAID = (
    "Dollars are accounting: tokens as the transcript tells them, by list prices kept "
    "with evalkit. They are not what was billed."
)


class Spending:
    """Dollars of a transcript's requests, one by one and together.

    Args:
        transcript: Whose requests they are.
    """

    def __init__(self, transcript: Transcript) -> None:
        models = list(getattr(transcript.session, "models", ()))
        only = models[0] if len(models) == 1 else ""
        n_requests = None if transcript.kind is Kind.CODEX_STREAM else 1
        rates = prices.rates()
        self._transcript = transcript
        self._starts = array("I")
        self._usd: list[float | None] = []
        for n, model, tokens in transcript.requests():
            counts = msgspec.structs.asdict(tokens)
            told: dict[str, Any] = {"source": "transcript", "n_requests": n_requests}
            request = Request(0, model or only, **counts, **told)
            self._starts.append(n)
            self._usd.append(usage.price(request, rates))
        self._sums = list(accumulate((usd or 0.0 for usd in self._usd), initial=0.0))
        unknown = (n for n, usd in enumerate(self._usd) if usd is None)
        self._n_known = next(unknown, len(self._usd))

    def line(self, item: Item) -> str:
        """What an item's request used, and all up to it; empty where it begins none."""
        if item.usage is None:
            return ""
        usd = self._usd[bisect_left(self._starts, item.n)]
        output = "" if item.final else " (output: only its start is told)"
        return (
            f"request: {tokens_line(item.usage)}{output}, {wording.usd(usd)} · "
            f"so far: {self.so_far(item.n)}"
        )

    def so_far(self, n: int) -> str:
        """Tokens and dollars of all requests up to an item, in words."""
        end = bisect_right(self._starts, n)
        is_bound, usd = end > self._n_known, self._sums[end]
        total = wording.at_least(wording.usd(usd), bound=is_bound)
        told = total if usd or not is_bound else wording.NOT_REPORTED
        return f"{wording.count(_sum(self._transcript.cumulative(n)))} tokens, {told}"


def tokens_line(tokens: Tokens) -> str:
    """The five classes, those that are not 0 apart from input and output."""
    written = (
        ("cache write 5 min", tokens.write_5m),
        ("cache write 1 h", tokens.write_1h),
    )
    middle = [*written, ("cache read", tokens.read)]
    told = [
        ("input", tokens.input),
        *((name, n) for name, n in middle if n),
        ("output", tokens.output),
    ]
    return ", ".join(f"{name} {n:,}" for name, n in told)


def _sum(tokens: Tokens) -> int:
    return sum(msgspec.structs.astuple(tokens))
