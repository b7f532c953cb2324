"""A transcript as long as one wants: a real one, repeated."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

DATA = Path(__file__).parent.parent / "data/transcripts"
MOST_REQUESTS = DATA / "cc-2.0.64-tool-errors.jsonl"
"""Of the real files the one with most requests a megabyte."""
_ID = re.compile(rb'("id":"msg_)(\w{8})')


def repeat(real: Path, path: Path, more: Callable[[int, int], bool]) -> int:
    """Write a file of copies, each with message ids of its own.

    So it holds as many requests as a real one of that size would.

    Args:
        real: What is repeated.
        path: Where to.
        more: Asked (bytes, lines) so far, whether another copy follows.

    Returns:
        The bytes written.
    """
    data = real.read_bytes()
    data += b"" if data.endswith(b"\n") else b"\n"
    n_bytes = n_lines = n_copies = 0
    with path.open("wb") as opened:
        while more(n_bytes, n_lines):
            n_copies += 1
            mark = b"%08x" % n_copies
            n_bytes += opened.write(_ID.sub(rb"\g<1>" + mark, data))
            n_lines += data.count(b"\n")
    return n_bytes
