"""How fast a session of 50,000 lines is looked through.

    python tests/benchmarks/exploring.py [--file FILE]

A real one, repeated, is indexed, paged through, shown as the explorer does (with
secrets, and without), searched, summed up as a timeline, and aligned with itself.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import sides
from repeated import MOST_REQUESTS, repeat

if TYPE_CHECKING:
    from evalkit.explore.index import Transcript

N_LINES = 50_000
N_ITEMS = 50


def main() -> None:
    parser = sides.arguments(__doc__, rounds=None)
    parser.add_argument("--file", type=Path, default=MOST_REQUESTS)
    given = parser.parse_args()
    sides.print_conditions("msgspec")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        n_bytes = repeat(given.file, path, lambda _, n_lines: n_lines < N_LINES)
        print(f"{N_LINES:,} lines, {n_bytes / 1e6:,.0f} MB")
        _pages(path)


def _pages(path: Path) -> None:
    from evalkit.explore.index import Transcript
    from evalkit.explore.search import search

    started = time.perf_counter()
    transcript = Transcript(path)
    print(f"index of {len(transcript):,} items: {time.perf_counter() - started:.2f} s")
    walls: list[float] = []
    for start in range(0, len(transcript), 500):
        started = time.perf_counter()
        transcript.items(start, N_ITEMS)
        walls.append((time.perf_counter() - started) * 1000)
    median, worst = statistics.median(walls), max(walls)
    print(f"page of {N_ITEMS} items: median {median:.1f} ms, worst {worst:.1f} ms")
    _shown(path)
    for query, regex in (("error", False), (r"(err|fail)\w+:", True)):
        started = time.perf_counter()
        n_hits = sum(1 for _ in search(transcript, query, regex=regex))
        wall = time.perf_counter() - started
        print(f"search for {query!r}: {n_hits:,} hits, {wall:.2f} s")
    _strip(transcript)
    _beside(transcript)


def _strip(transcript: Transcript) -> None:
    from evalkit.explore.timeline import timeline

    walls: list[float] = []
    for _ in range(5):
        started = time.perf_counter()
        n = len(timeline(transcript))
        walls.append((time.perf_counter() - started) * 1000)
    print(f"timeline of {n:,} buckets: median {statistics.median(walls):.1f} ms")


def _beside(transcript: Transcript) -> None:
    """A transcript beside itself with every tenth turn left out."""
    from evalkit.explore.matching import match
    from evalkit.explore.turns import read_turns

    started = time.perf_counter()
    turns = read_turns(transcript).turns
    read = time.perf_counter() - started
    fewer = [turn for n, turn in enumerate(turns) if n % 10]
    started = time.perf_counter()
    n_rows = len(match(turns, fewer))
    wall = time.perf_counter() - started
    print(f"{len(turns):,} turns read in {read:.2f} s, {n_rows:,} rows in {wall:.2f} s")


def _shown(path: Path) -> None:
    """Pages as HTML: in turn, so that both sides meet the same machine."""
    from evalkit.explore.redaction import Redactor
    from evalkit.explore.viewing import N_ITEMS, View

    views = {
        "all shown": View(path, Redactor(on=False)),
        "secrets hidden": View(path, Redactor()),
    }
    walls: dict[str, list[float]] = {name: [] for name in views}
    n_pages = len(views["all shown"].numbers) // N_ITEMS
    for page in range(0, n_pages, 10):
        for name, view in views.items():
            started = time.perf_counter()
            view.page(page)
            walls[name].append((time.perf_counter() - started) * 1000)
    for name, taken in walls.items():
        median, worst = statistics.median(taken), max(taken)
        print(f"page as HTML, {name}: median {median:.1f} ms, worst {worst:.1f} ms")


if __name__ == "__main__":
    main()
