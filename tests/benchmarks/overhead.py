"""What the harness costs: a trivial trial against a bare script, side by side.

    python tests/benchmarks/overhead.py [--trials N] [--workers 1 8] [--rounds N]

Both sides copy a ten-file fixture, start an agent in the sandbox that edits one file,
start a grader process that questions a sandboxed driver, and fsync one line. The bare
script keeps no evidence and concludes nothing. Each side is a process of its own, its
start included.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import sides
import trivial

from evalkit import process, sandbox

AIMS = {1: [sides.Aim("CPU", 1.3)], 8: [sides.Aim("wall", 1.25)]}
"""By workers; both at 100 trials."""


def main() -> None:
    parser = sides.arguments(__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8])
    given = parser.parse_args()
    sides.print_conditions(seed=trivial.SEED)
    for n_workers in given.workers:
        taken = sides.in_turn(
            {
                "evalkit": partial(_evalkit, given.trials, n_workers),
                "bare script": partial(_bare, given.trials, n_workers),
            },
            given.rounds,
        )
        sides.print_table(
            f"a trial, of {given.trials:,} with {n_workers} workers",
            taken,
            "bare script",
            AIMS.get(n_workers, ()),
            given.trials,
        )
    _print_children(100)


def _evalkit(n_trials: int, n_workers: int) -> sides.Taken:
    with tempfile.TemporaryDirectory() as folder:
        root = trivial.make_root(Path(folder))
        run = trivial.seal(root, n_trials)
        return sides.whole(trivial.run_argv(run, root, n_workers))


def _bare(n_trials: int, n_workers: int) -> sides.Taken:
    with tempfile.TemporaryDirectory() as folder:
        trivial.make_root(Path(folder))
        return sides.whole(trivial.bare_argv(Path(folder), n_trials, n_workers))


def _child(box, place, argv) -> float:
    """Wall milliseconds of one child, started and ended as an agent is."""
    launch = box.agent_argv(argv, {"PATH": "/usr/bin:/bin"}, place)
    started = time.perf_counter()
    process.output(
        launch.argv, env=launch.env, cwd=launch.cwd, given=launch.given, timeout_s=60
    )
    return (time.perf_counter() - started) * 1000


def _print_children(n_children: int) -> None:
    """Print what a child costs plainly and in the sandbox, in turn."""
    boxes = {
        "plain": sandbox.open_box("none", allow_unsandboxed=True),
        "sandboxed": sandbox.open_box("bwrap", allow_unsandboxed=False),
    }
    took: dict[str, list[float]] = {name: [] for name in boxes}
    with tempfile.TemporaryDirectory() as folder:
        folders = [Path(folder, name) for name in ("workspace", "home", "staging")]
        for made in folders:
            made.mkdir()
        places = {name: box.place(*folders) for name, box in boxes.items()}
        for _ in range(n_children):
            for name, box in boxes.items():
                took[name].append(_child(box, places[name], ["/usr/bin/true"]))
    plain, boxed = (statistics.median(took[name]) for name in boxes)
    print(f"a child, median of {n_children}: plain {plain:.1f} ms, sandboxed ", end="")
    print(f"{boxed:.1f} ms, so {boxed - plain:.1f} ms for the sandbox")


if __name__ == "__main__":
    main()
