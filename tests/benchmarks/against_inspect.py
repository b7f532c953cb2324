"""evalkit beside Inspect AI: the same fixture, tool call and checks, side by side.

    python tests/benchmarks/against_inspect.py [--workers 1 8 64] [--trials 100 1000]
        [--samples 500] [--tool write] [--python INSPECT_PYTHON]

Inspect runs a mock model and its local sandbox, which isolates nothing; evalkit its
scripted agent, a process, and two sandboxes a trial. Both are started as commands, and
keep the records that they keep by default. The bare script of `overhead.py` stands
beside them: it shows what those processes and sandboxes take by themselves. With
`--samples`, the record of so many trials is then made a data frame by both, in fresh
processes, imports counted.

Inspect is installed once, from PyPI, into a venv of its own in the cache folder, with
the pandas of evalkit's; or name a Python that has it. `--tool bash` has the mock model write its file by Inspect's
`bash` tool, which starts a shell; `write`, the default, starts nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from functools import partial
from importlib import metadata
from pathlib import Path

import sides
import trivial

INSPECT = "0.3.285"
SIDE = Path(__file__).with_name("inspect_side.py")
FRAME = """
import sys
import evalkit
print(len(evalkit.load(sys.argv[1]).trials))
"""
LEAST = 0.25
MOST_GROWTH = 1.25
"""Of the peak of memory, from the fewest trials to the most; a flat one does not grow."""


def main() -> None:
    parser = sides.arguments(__doc__)
    parser.add_argument("--trials", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 8, 64])
    parser.add_argument("--samples", type=int, default=500, help="0: no frames.")
    parser.add_argument("--tool", choices=("write", "bash"), default="write")
    parser.add_argument("--python", type=Path, default=None)
    given = parser.parse_args()
    inspect = given.python or _installed()
    sides.print_conditions(seed=trivial.SEED)
    print(_versions(inspect))
    for n_workers in given.workers:
        by_trials = {
            n: _trials(inspect, n, n_workers, given.tool, given.rounds)
            for n in given.trials
        }
        _print_growth(by_trials)
    if given.samples:
        _frames(inspect, given.samples, given.tool, given.rounds)


def _trials(
    inspect: Path, n_trials: int, n_workers: int, tool: str, n_rounds: int
) -> sides.Rounds:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        root = trivial.make_root(base)

        def ours() -> sides.Taken:
            run = trivial.seal(root, n_trials)
            return sides.whole(trivial.run_argv(run, root, n_workers))

        def theirs() -> sides.Taken:
            with tempfile.TemporaryDirectory(dir=base) as logs:
                return _evaluate(inspect, root, n_trials, n_workers, tool, Path(logs))

        def bare() -> sides.Taken:
            return sides.whole(trivial.bare_argv(base, n_trials, n_workers))

        taken = sides.in_turn(
            {"evalkit": ours, "Inspect": theirs, "bare script": bare}, n_rounds
        )
    sides.print_table(
        f"a trial, of {n_trials:,} with {n_workers} workers",
        taken,
        "Inspect",
        [sides.Aim("CPU", LEAST)],
        n_trials,
    )
    return taken


def _evaluate(
    inspect: Path, root: Path, n_trials: int, n_workers: int, tool: str, logs: Path
) -> sides.Taken:
    fixture = root / "cases/greet/fixture"
    asked = [fixture, str(n_trials), str(n_workers), logs, tool]
    return sides.whole([inspect, SIDE, "eval", *asked])


def _print_growth(by_trials: dict[int, sides.Rounds]) -> None:
    fewest, most = min(by_trials), max(by_trials)
    if fewest == most:
        return
    for side in by_trials[fewest]:
        peaks = [sides.median(by_trials[n][side]).peak_mb for n in (fewest, most)]
        what = f"peak of {side} at {most:,} trials, of that at {fewest:,}"
        sides.print_aim(what, peaks[1] / peaks[0], MOST_GROWTH)


def _frames(inspect: Path, n_samples: int, tool: str, n_rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        root = trivial.make_root(base)
        run = trivial.seal(root, n_samples)
        logs = base / "logs"
        sides.whole(trivial.run_argv(run, root, 8))
        _evaluate(inspect, root, n_samples, 8, tool, logs)

        def fresh() -> sides.Taken:
            trivial.forget_frames(run)
            return cached()

        cached = partial(sides.whole, [sys.executable, "-c", FRAME, run])
        theirs = partial(sides.whole, [inspect, SIDE, "frame", logs])
        taken = sides.in_turn(
            {"evalkit": fresh, "evalkit, kept": cached, "Inspect": theirs}, n_rounds
        )
    sides.print_table(
        f"{n_samples} trials as a data frame, imports counted",
        taken,
        "Inspect",
        [sides.Aim("CPU", LEAST), sides.Aim("wall", LEAST)],
    )


def _installed() -> Path:
    """The Python of a venv with Inspect, made where there is none."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "evalkit-benchmarks" / f"inspect-ai-{INSPECT}"
    ready, python = folder / "ready", folder / "bin" / "python"
    if not ready.exists():
        print(f"installing Inspect into {folder.name}", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        same = [f"{name}=={metadata.version(name)}" for name in ("pandas", "pyarrow")]
        wanted = [f"inspect-ai=={INSPECT}", *same]
        subprocess.run([*pip, "--disable-pip-version-check", *wanted], check=True)
        ready.touch()
    return python


def _versions(inspect: Path) -> str:
    names = ("inspect-ai", "pandas", "pydantic")
    told = f"from importlib.metadata import version; print(*map(version, {names}))"
    found = subprocess.run(
        [inspect, "-c", told], check=True, capture_output=True, text=True
    )
    versions = zip(names, found.stdout.split(), strict=True)
    return "beside: " + ", ".join(f"{name} {version}" for name, version in versions)


if __name__ == "__main__":
    main()
