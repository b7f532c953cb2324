"""What an event costs in a short journal and in a long one, with where the run stands.

    python tests/benchmarks/standing.py [--rounds N]

A run of many trials asks after each of them where it stands. The two sides take turns;
the ratio ought to be 1. Prints a table; asserts nothing.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

import sides
import trivial

from evalkit import run as running
from evalkit.journal import read_journal
from evalkit.registration import load_registration
from evalkit.standing import Standing

N_MEASURED = 1_000
LONG, SHORT = 100_000, 1_000


def main() -> None:
    given = sides.arguments(__doc__).parse_args()
    sides.print_conditions(seed=trivial.SEED)
    took: dict[int, list[float]] = {SHORT: [], LONG: []}
    with tempfile.TemporaryDirectory() as folder:
        root = trivial.make_root(Path(folder))
        run = trivial.seal(root, 4)
        running.run_plan(run, root)
        for _ in range(given.rounds):
            for n_events, found in took.items():
                found.append(_event_us(run, n_events))
    medians = {n: statistics.median(found) for n, found in took.items()}
    for n_events, us in medians.items():
        print(f"an event after {n_events:>7,} others: {us:.1f} us")
    print(f"ratio {medians[LONG] / medians[SHORT]:.2f}")


def _event_us(run: Path, n_before: int) -> float:
    """Microseconds to take an event and say where the run stands."""
    standing = Standing(run, load_registration(run))
    events = cycle(read_journal(run / "journal.jsonl").events)
    for event in islice(events, n_before):
        standing.take(event)
    started = time.perf_counter()
    for event in islice(events, N_MEASURED):
        standing.take(event)
        standing.status()
    return (time.perf_counter() - started) * 1e6 / N_MEASURED


if __name__ == "__main__":
    main()
