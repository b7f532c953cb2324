"""What frames of a journal cost, against `pandas.read_json` on the same journal.

    python tests/benchmarks/frames.py [ROUNDS] [TRIALS ...]

Four sides in turn, each in a process of its own: `pandas.read_json(lines=True)`, which
gives lines and no frames; all five frames from the journal, chain verified; the same
through `evalkit.load` with a cache to write; and through `evalkit.load` from the cache.
Prints medians of CPU and wall seconds and of the peak of memory above that after the
imports, their ratios to pandas, and the slope from one size to the next (1: linear).
Asserts nothing.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from synthetic import WEIGHTS, attempts, register, result, step

from evalkit import facts, files, frames, registration
from evalkit.journal import GENESIS, read_journal
from evalkit.loading import load
from evalkit.records import Event, RunEnded, RunStarted
from evalkit.standing import JOURNAL

SIZES = (1_000, 10_000, 100_000)
CASES = tuple(f"case-{n}" for n in range(10))
ARMS = ("full", "auto", "baseline", "injected", "placebo")
ENCODER = msgspec.json.Encoder(order="deterministic")


def main(n_rounds: int = 3, *sizes: int) -> None:
    """Make a run of each size, time the sides in turn, print a table."""
    head = ("trials", "side", "CPU s", "wall s", "peak MB", "CPU", "wall", "peak")
    print("{:>8} {:8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7}  slopes".format(*head))
    before: dict[str, tuple[int, list[float]]] = {}
    for n_trials in sizes or SIZES:
        with tempfile.TemporaryDirectory() as root:
            folder = _run(Path(root), n_trials)
            told = {side: [] for side in SIDES}
            for _ in range(n_rounds):
                for side in SIDES:
                    told[side].append(_measured(side, folder))
        found = {
            side: [statistics.median(column) for column in zip(*rows, strict=True)]
            for side, rows in told.items()
        }
        for side, values in found.items():
            ratios = [a / b for a, b in zip(values, found["pandas"], strict=True)]
            slopes = _slopes(n_trials, values, before.get(side))
            before[side] = n_trials, values
            cpu_s, wall_s, peak_mb = values
            shares = " ".join(f"{ratio:7.3f}" for ratio in ratios)
            print(
                f"{n_trials:8,} {side:8} {cpu_s:8.3f} {wall_s:8.3f} {peak_mb:8.1f} "
                f"{shares}  {slopes}",
                flush=True,
            )


def _run(root: Path, n_trials: int) -> Path:
    """The folder of a made run; its journal is chained, and not fsynced."""
    n_repeats = n_trials // len(CASES) // len(ARMS)
    sealed = register(cases=CASES, arms=ARMS, repeats=n_repeats)
    folder = registration.write_registration(root, sealed)
    head = GENESIS
    bodies = [RunStarted(sealed.digest, sealed.isolation, 1)]
    for key in sealed.schedule:
        n = key.repeat * len(key.arm)
        passing = list(WEIGHTS)[: n % (len(WEIGHTS) + 1)]
        graded = step(*passing, tokens=1000 + n % 977, wall_s=10.0 + n % 13)
        bodies += attempts(result(key, graded))
    with (folder / JOURNAL).open("wb") as opened:
        for n, body in enumerate([*bodies, RunEnded("complete")], 1):
            line = ENCODER.encode(Event(n, "2026-11-30T06:00:00Z", head, body))
            opened.write(line + b"\n")
            head = files.sha256(line)
    return folder


def _measured(side: str, folder: Path) -> list[float]:
    if side == "load":
        files.remove_tree(folder / "cache")
    done = subprocess.run(
        [sys.executable, __file__, side, str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]


def _slopes(
    n_trials: int, values: list[float], before: tuple[int, list[float]] | None
) -> str:
    if before is None:
        return ""
    factor = math.log(n_trials / before[0])
    steeps = [math.log(a / b) / factor for a, b in zip(values, before[1], strict=True)]
    return " ".join(f"{steep:.2f}" for steep in steeps)


def _side(side: str, folder: Path) -> None:
    """Do one side's work; print CPU seconds, wall seconds, megabytes at the peak."""
    before_mb = _peak_mb()
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    kept = SIDES[side](folder)
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    assert kept is not None
    print(cpu_s, wall_s, _peak_mb() - before_mb)


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(line for line in status if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def _pandas(folder: Path) -> object:
    return pd.read_json(folder / JOURNAL, lines=True)


def _journal(folder: Path) -> object:
    sealed = registration.load_registration(folder)
    events = read_journal(folder / JOURNAL).events
    return frames.tidy(facts.gather(sealed, events))


def _load(folder: Path) -> object:
    run = load(folder)
    return [getattr(run, name) for name in frames.COLUMNS]


SIDES = {"pandas": _pandas, "journal": _journal, "load": _load, "cached": _load}

if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in SIDES:
        _side(sys.argv[1], Path(sys.argv[2]))
    else:
        main(*map(int, sys.argv[1:]))
