"""What the benchmarks share: sides that take turns, and what each of them took.

A side is a command. `whole` takes the CPU, the wall clock and the memory of it and
all processes that it starts; `part` takes what it says itself of a piece of its
work, by `tell`, so that imports are left out. Sides run in turn, a round after the
other and each round in another order, and a ratio is the median of the ratios of the
rounds: what slows the machine for a while slows all sides of a round.
"""

from __future__ import annotations

import argparse
import compileall
import ctypes
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36
Argv = Sequence[str | Path]


class Taken(NamedTuple):
    """Seconds of CPU and of wall clock; the most that one process held, in MB."""

    cpu_s: float
    wall_s: float
    peak_mb: float


class Aim(NamedTuple):
    """A side's `quantity` is to be at most so many times that of the other one."""

    quantity: str
    most: float


Rounds = dict[str, list[Taken]]
COLUMNS = {"CPU": "cpu_s", "wall": "wall_s", "peak": "peak_mb"}


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """A parser that shows a benchmark's docstring, and takes the number of rounds."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    return parser


def print_conditions(*packages: str, seed: int | None = None) -> None:
    """Say what is measured, and on what; bytecode is there for all of it."""
    import evalkit

    for folder in (evalkit.__path__[0], sysconfig.get_path("purelib")):
        compileall.compile_dir(folder, quiet=2)
    versions = [f"{name} {metadata.version(name)}" for name in ("evalkit", *packages)]
    drawn = "none" if seed is None else str(seed)
    load = os.getloadavg()[0]
    print(f"$ python {' '.join(sys.argv)}")
    print(f"Python {platform.python_version()}, {', '.join(versions)}")
    print(
        f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, "
        f"load {load:.1f} at the start, seed {drawn}",
        flush=True,
    )


def whole(argv: Argv, *, cwd: Path | None = None) -> Taken:
    """What a command and all that it starts take, their starts included."""
    reaper = [sys.executable, "-I", "-S", __file__, *map(str, argv)]
    done = subprocess.run(reaper, stdout=subprocess.PIPE, check=True, cwd=cwd)
    return Taken(*json.loads(done.stdout))


def part(argv: Argv) -> Taken:
    """What a command says that its work took."""
    done = subprocess.run([*map(str, argv)], stdout=subprocess.PIPE, check=True)
    return Taken(*json.loads(done.stdout.splitlines()[-1]))


def tell(work: Callable[[], object]) -> None:
    """Do some work, and print what it took; memory is what the peak grew by."""
    before_mb = _own_peak_mb()
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    kept = work()
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    print(json.dumps(Taken(cpu_s, wall_s, _own_peak_mb() - before_mb)), flush=True)
    del kept


def in_turn(sides: Mapping[str, Callable[[], Taken]], n_rounds: int) -> Rounds:
    """Take each side once a round; which of them is first moves on by one."""
    names = list(sides)
    taken: Rounds = {name: [] for name in names}
    for n in range(n_rounds):
        first = n % len(names)
        for name in names[first:] + names[:first]:
            taken[name].append(sides[name]())
    return taken


def median(rounds: Sequence[Taken]) -> Taken:
    """The median of each quantity."""
    return Taken(*map(statistics.median, zip(*rounds, strict=True)))


def print_table(
    title: str, taken: Rounds, against: str, aims: Sequence[Aim] = (), n: int = 1
) -> None:
    """Print medians with least and most, then ratios to one side.

    Args:
        title: What was done.
        taken: Of each side, a row for each round.
        against: The side that the others are held against.
        aims: For the first side; each is printed with whether it is met.
        n: How many trials a round did, to give times for one of them.
    """
    scale, unit = (1000 / n, "ms") if n > 1 else (1, "s")
    heads = (f"CPU {unit}", f"wall {unit}", "peak MB")
    print(f"\n{title}: {len(taken[against])} rounds, median (least to most)")
    print(f"{'':30}" + "".join(f"{head:>26}" for head in heads))
    for side, rounds in taken.items():
        cells = [
            _spread([getattr(row, name) * factor for row in rounds])
            for name, factor in zip(COLUMNS.values(), (scale, scale, 1), strict=True)
        ]
        print(f"{side:30}" + "".join(f"{cell:>26}" for cell in cells))
    ours = next(iter(taken))
    for side in taken:
        if side == against:
            continue
        ratios = {name: _ratios(taken, side, against, name) for name in COLUMNS}
        cells = [_spread(found) for found in ratios.values()]
        print(f"{f'{side} / {against}':30}", end="")
        print("".join(f"{cell:>26}" for cell in cells))
        for aim in aims if side == ours else ():
            print_aim(aim.quantity, statistics.median(ratios[aim.quantity]), aim.most)
    sys.stdout.flush()


def print_aim(what: str, found: float, most: float) -> None:
    """Say whether an aim is met."""
    verdict = "met" if found <= most else "NOT met"
    print(f"  aim: {what} <= {most:g}; found {found:.3g}: {verdict}")


def print_slopes(title: str, by_size: Mapping[int, Taken]) -> None:
    """Print how each quantity grows from one size to the next; 1 is linear."""
    sizes = list(by_size)
    for small, large in pairwise(sizes):
        factor = math.log(large / small)
        steeps = [
            math.log(max(b, 1e-9) / max(a, 1e-9)) / factor
            for a, b in zip(by_size[small], by_size[large], strict=True)
        ]
        told = ", ".join(
            f"{name} {steep:.2f}" for name, steep in zip(COLUMNS, steeps, strict=True)
        )
        print(f"slope of {title} from {small:,} to {large:,}: {told}")
    sys.stdout.flush()


def _ratios(taken: Rounds, side: str, against: str, quantity: str) -> list[float]:
    field = COLUMNS[quantity]
    pairs = zip(taken[side], taken[against], strict=True)
    return [getattr(a, field) / (getattr(b, field) or math.nan) for a, b in pairs]


def _spread(values: Sequence[float]) -> str:
    middle = statistics.median(values)
    return f"{_short(middle)} ({_short(min(values))} to {_short(max(values))})"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _own_peak_mb() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(line for line in status if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def _reap(argv: list[str]) -> None:
    """Run a command to its end and that of its orphans; print what they took."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started = time.perf_counter()
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, check=False)
    wall_s = time.perf_counter() - started
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = used.ru_utime + used.ru_stime
    print(json.dumps(Taken(cpu_s, wall_s, used.ru_maxrss / 1024)))
    sys.exit(done.returncode)


if __name__ == "__main__":
    _reap(sys.argv[1:])
