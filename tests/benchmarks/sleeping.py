"""How near many workers come to the ideal: trials whose agent only sleeps.

    python tests/benchmarks/sleeping.py [--workers 64] [--trials 256] [--sleep-s 20]

A real agent waits for its model nearly all the time, so a run's wall clock ought to
be that of its waiting: trials / workers x the sleep. What is longer than that is the
start of the run, work of trials that no other one's sleep covers (a machine with few
cores needs longer sleeps to hide it), and workers that had nothing to do.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import sides
import trivial

from evalkit.records import Output, Program

MOST_OF_IDEAL = 1.15


def main() -> None:
    parser = sides.arguments(__doc__, rounds=1)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--sleep-s", type=float, default=20.0)
    parser.add_argument("--arms", type=int, default=3, help="Trials of a block.")
    given = parser.parse_args()
    sides.print_conditions(seed=trivial.SEED)
    arms = ("full", "canonical", "baseline")[: given.arms]
    n_trials = given.trials - given.trials % len(arms)
    ideal_s = math.ceil(n_trials / given.workers) * given.sleep_s
    found = [
        _run(n_trials, arms, given.workers, given.sleep_s) for _ in range(given.rounds)
    ]
    for taken in found:
        print(
            f"{n_trials} trials of {given.sleep_s:g} s by {given.workers} workers: "
            f"wall {taken.wall_s:.1f} s, ideal {ideal_s:.1f} s; "
            f"CPU {1000 * taken.cpu_s / n_trials:.0f} ms a trial, "
            f"peak {taken.peak_mb:.0f} MB"
        )
    ratio = sides.median(found).wall_s / ideal_s
    sides.print_aim("wall of ideal", ratio, MOST_OF_IDEAL)


def _run(
    n_trials: int, arms: tuple[str, ...], n_workers: int, sleep_s: float
) -> sides.Taken:
    program = Program(("/usr/bin/sleep", str(sleep_s)), output=Output.NONE)
    with tempfile.TemporaryDirectory() as folder:
        root = trivial.make_root(Path(folder))
        run = trivial.seal(root, n_trials, arms=arms, agent="command", program=program)
        return sides.whole(trivial.run_argv(run, root, n_workers))


if __name__ == "__main__":
    main()
