"""What requests of a transcript cost, one by one and together: accounting only."""

from __future__ import annotations

import msgspec

from evalkit import files, usage, wording
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
    """Adds up the dollars of items as they come, in order.

    Args:
        transcript: Whose items they are.
    """

    def __init__(self, transcript: Transcript) -> None:
        models = list(getattr(transcript.session, "models", ()))
        self._only_model = models[0] if len(models) == 1 else None
        self._n_requests = None if transcript.kind is Kind.CODEX_STREAM else 1
        self._rates = usage.parse_rates(files.package_data("prices.toml"))
        self._usd = 0.0
        self._is_bound = False

    def line(self, item: Item) -> str:
        """What an item's request used, and all up to it; empty where it begins none."""
        if item.usage is None:
            return ""
        usd = self._price(item)
        if usd is None:
            self._is_bound = True
        else:
            self._usd += usd
        total = wording.at_least(wording.usd(self._usd), bound=self._is_bound)
        output = "" if item.final else " (output: only its start is told)"
        return (
            f"request: {tokens_line(item.usage)}{output}, {wording.usd(usd)} · so far: "
            f"{wording.count(_sum(item.cumulative))} tokens, "
            f"{total if self._usd or not self._is_bound else wording.NOT_REPORTED}"
        )

    def _price(self, item: Item) -> float | None:
        model = item.model or self._only_model
        if item.usage is None or model is None:
            return None
        counts = msgspec.structs.asdict(item.usage)
        source, n = "transcript", self._n_requests
        request = Request(0, model, **counts, source=source, n_requests=n)
        return usage.price(request, self._rates)


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
