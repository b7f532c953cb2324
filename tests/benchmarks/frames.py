"""What frames of a journal cost, against `pandas.read_json` on the same journal.

    python tests/benchmarks/frames.py [--trials 1000 10000 100000] [--rounds N]

Four sides, each in a process of its own that leaves its imports out: all five frames
from the journal, chain verified; the same through `evalkit.load` with a cache to
write; through `evalkit.load` from the cache; and `pandas.read_json(lines=True)`, which
gives lines and no frames. Prints the slope from one size to the next (1: linear).
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

import chained
import pandas as pd
import sides
from synthetic import WEIGHTS, attempts, register, result, step

from evalkit import facts, files, frames, registration
from evalkit.frames.kept import CACHE
from evalkit.journal import read_journal
from evalkit.loading import load
from evalkit.records import RunEnded, RunStarted
from evalkit.standing import JOURNAL

CASES = tuple(f"case-{n}" for n in range(10))
ARMS = ("full", "auto", "baseline", "injected", "placebo")
MOST_SLOPE = 1.1
PART = "part"
PANDAS = "pandas"


def main() -> None:
    parser = sides.arguments(__doc__)
    parser.add_argument(
        "--trials", type=int, nargs="+", default=[1000, 10_000, 100_000]
    )
    given = parser.parse_args()
    sides.print_conditions("pandas", "pyarrow", "msgspec")
    by_size: dict[str, dict[int, sides.Taken]] = {}
    for n_trials in given.trials:
        with tempfile.TemporaryDirectory() as root:
            folder = _run(Path(root), n_trials)
            taken = sides.in_turn(
                {side: partial(_apart, side, folder) for side in PARTS}, given.rounds
            )
        sides.print_table(f"frames of {n_trials:,} trials", taken, PANDAS)
        for side, rounds in taken.items():
            by_size.setdefault(side, {})[n_trials] = sides.median(rounds)
    print()
    for side, found in by_size.items():
        sides.print_slopes(side, found, None if side == PANDAS else MOST_SLOPE)


def _run(root: Path, n_trials: int) -> Path:
    """The folder of a made run."""
    n_repeats = n_trials // len(CASES) // len(ARMS)
    sealed = register(cases=CASES, arms=ARMS, repeats=n_repeats)
    folder = registration.write_registration(root, sealed)
    bodies = [RunStarted(sealed.digest, sealed.isolation, 1)]
    for key in sealed.schedule:
        n = key.repeat * len(key.arm)
        passing = list(WEIGHTS)[: n % (len(WEIGHTS) + 1)]
        graded = step(*passing, tokens=1000 + n % 977, wall_s=10.0 + n % 13)
        bodies += attempts(result(key, graded))
    chained.write(folder / JOURNAL, [*bodies, RunEnded("complete")])
    return folder


def _apart(side: str, folder: Path) -> sides.Taken:
    if side == "load":
        files.remove_tree(folder / CACHE)
    if side == "load, kept":
        # Which side is first moves on: the one that keeps may not have been yet.
        _load(folder)
    return sides.part([sys.executable, __file__, PART, side, folder])


def _pandas(folder: Path) -> object:
    return pd.read_json(folder / JOURNAL, lines=True)


def _journal(folder: Path) -> object:
    sealed = registration.load_registration(folder)
    events = read_journal(folder / JOURNAL).events
    return frames.tidy(facts.gather(sealed, events))


def _load(folder: Path) -> object:
    run = load(folder)
    return [getattr(run, name) for name in frames.COLUMNS]


PARTS = {"journal": _journal, "load": _load, "load, kept": _load, PANDAS: _pandas}

if __name__ == "__main__":
    if sys.argv[1:2] == [PART]:
        sides.tell(partial(PARTS[sys.argv[2]], Path(sys.argv[3])))
    else:
        main()
