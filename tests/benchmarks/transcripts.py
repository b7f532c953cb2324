"""How fast a transcript is summed up: against json.loads line by line, in turn.

    python tests/benchmarks/transcripts.py [MEGABYTES] [ROUNDS] [FILE]

The file is a real one repeated, each copy with message ids of its own, so that it
holds as many requests as a real one of that size would. Both sides run in fresh
processes on the same file; memory is the growth of the peak of what is resident.
Then a session of 50,000 lines is indexed, paged through, shown as the explorer does
(with secrets, and without), searched, summed up as a timeline, and aligned with
itself. Prints; asserts nothing.
"""

from __future__ import annotations

import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit.explore.index import Transcript

DATA = Path(__file__).parent.parent / "data/transcripts"
MOST_REQUESTS = DATA / "cc-2.0.64-tool-errors.jsonl"
"""Of the real files the one with most requests a megabyte."""
N_LINES = 50_000
N_ITEMS = 50
_ID = re.compile(rb'("id":"msg_)(\w{8})')


def main() -> None:
    if sys.argv[1:2] == ["--side"]:
        _side(sys.argv[2], Path(sys.argv[3]))
        return
    n_mb = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    n_rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    real = Path(sys.argv[3]) if len(sys.argv) > 3 else MOST_REQUESTS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        n_bytes = _repeat(real, path, lambda n_bytes, _: n_bytes < n_mb * 10**6)
        print(f"{real.name} repeated to {n_bytes / 1e6:,.0f} MB, {n_rounds} rounds")
        print(f"{'side':10} {'MB/s':>8} {'MB/CPU s':>8} {'growth MB':>10}")
        medians: dict[str, tuple[float, float]] = {}
        for side, found in _rounds(path, n_rounds).items():
            wall, cpu = (statistics.median(row[n] for row in found) for n in (0, 1))
            medians[side] = (n_bytes / wall / 1e6, n_bytes / cpu / 1e6)
            growth = max(row[2] for row in found)
            print(
                f"{side:10} {medians[side][0]:8.0f} {medians[side][1]:8.0f} {growth:10.1f}"
            )
        ratios = [
            a / b for a, b in zip(medians["evalkit"], medians["json"], strict=True)
        ]
        print(f"{'ratio':10} {ratios[0]:8.2f} {ratios[1]:8.2f}")
        n_bytes = _repeat(real, path, lambda _, n_lines: n_lines < N_LINES)
        print(f"{N_LINES:,} lines, {n_bytes / 1e6:,.0f} MB")
        _pages(path)


def _repeat(real: Path, path: Path, more: Callable[[int, int], bool]) -> int:
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


def _rounds(path: Path, n_rounds: int) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {"json": [], "evalkit": []}
    for _ in range(n_rounds):
        for side, rows in found.items():
            argv = [sys.executable, __file__, "--side", side, str(path)]
            done = subprocess.run(argv, check=True, capture_output=True, text=True)
            rows.append(json.loads(done.stdout))
    return found


def _side(side: str, path: Path) -> None:
    from evalkit.explore import account

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    if side == "evalkit":
        account(path)
    else:
        with path.open("rb") as lines:
            for line in lines:
                json.loads(line)
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([wall, cpu, (after - before) / 1024]))


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
