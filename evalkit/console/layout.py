"""What all lines share: columns, one-line texts."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit import wording
from evalkit.conclusions import Proportion

MAX_LINE = 300
"""Characters of a reason on a line."""


def one_line(text: str) -> str:
    """A text on one line, cut where it is long."""
    return wording.begin(" ".join(text.split()), MAX_LINE)


def share(found: Proportion) -> str:
    """A proportion as counts, with its interval."""
    return f"{wording.k_of_n(found)} ({wording.interval(found)})"


def align(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as lines whose columns stand below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
