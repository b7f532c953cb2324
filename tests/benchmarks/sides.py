"""What the benchmarks share: sides that take turns, and what each of them took.

A side is a command. `whole` takes the wall clock and the memory of it and all
processes that it starts, and the machine's CPU meanwhile; `part` takes what it says
itself of a piece of its work, by `tell`, so that imports are left out. Sides run in
turn, a round after the other and each round in another order, and a ratio is the
median of the ratios of the rounds: what slows the machine for a while slows all sides
of a round.
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
TINY = 1e-6
"""Of seconds or megabytes: what was less is taken for so much, to have a logarithm."""
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


def arguments(doc: str | None, rounds: int | None = 3) -> argparse.ArgumentParser:
    """A parser that shows a benchmark's docstring, and takes its rounds, if it has any."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if rounds is not None:
        parser.add_argument("--rounds", type=int, default=rounds)
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
    """What a command and all that it starts take, their starts included.

    CPU is that of the whole machine meanwhile, so nothing else may run.
    """
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
    title: str,
    taken: Rounds,
    against: str | None = None,
    aims: Sequence[Aim] = (),
    n: int = 1,
) -> None:
    """Print medians with least and most, then ratios to one side.

    Args:
        title: What was done.
        taken: Of each side, a row for each round.
        against: The side that the others are held against; None: none is.
        aims: For the first side; each is printed with whether it is met.
        n: How many trials a round did, to give times for one of them.
    """
    scale, unit = (1000 / n, "ms") if n > 1 else (1, "s")
    heads = (f"CPU {unit}", f"wall {unit}", "peak MB")
    first, n_rounds = next(iter(taken)), len(next(iter(taken.values())))
    print(f"\n{title}: median of {n_rounds} (least to most)")
    _print_row("", heads)
    for side, rounds in taken.items():
        columns = zip(*rounds, strict=True)
        factors = (scale, scale, 1)
        scaled = [
            [value * factor for value in column]
            for column, factor in zip(columns, factors, strict=True)
        ]
        _print_row(side, [_spread(column) for column in scaled])
    for side in taken:
        if against not in {None, side}:
            print_ratios(taken, side, against, aims if side == first else ())
    sys.stdout.flush()


def print_ratios(
    taken: Rounds, side: str, against: str, aims: Sequence[Aim] = ()
) -> None:
    """Print a side's ratios to another one, and whether its aims are met."""
    ratios = {name: _ratios(taken, side, against, name) for name in COLUMNS}
    _print_row(f"{side} / {against}", [_spread(found) for found in ratios.values()])
    for aim in aims:
        print_aim(aim.quantity, statistics.median(ratios[aim.quantity]), aim.most)


def print_aim(what: str, found: float, most: float) -> None:
    """Say whether an aim is met."""
    verdict = "met" if found <= most else "NOT met"
    print(f"  aim: {what} <= {most:g}; found {found:.3g}: {verdict}")


def print_slopes(
    side: str, by_size: Mapping[int, Taken], most: float | None = None
) -> None:
    """Print how each quantity of a side grows from size to size; 1 is linear.

    Args:
        side: Its name.
        by_size: What it took, by size.
        most: Aim for the slopes of CPU and memory; None where there is none.
    """
    for small, large in pairwise(by_size):
        factor = math.log(large / small)
        slopes = {
            name: math.log(
                max(getattr(by_size[large], field), TINY)
                / max(getattr(by_size[small], field), TINY)
            )
            / factor
            for name, field in COLUMNS.items()
        }
        told = ", ".join(f"{name} {slope:.2f}" for name, slope in slopes.items())
        print(f"slope of {side}, {small:,} to {large:,}: {told}")
        if most is not None:
            print_aim(
                "slopes of CPU and peak", max(slopes["CPU"], slopes["peak"]), most
            )
    sys.stdout.flush()


def _ratios(taken: Rounds, side: str, against: str, quantity: str) -> list[float]:
    field = COLUMNS[quantity]
    pairs = zip(taken[side], taken[against], strict=True)
    return [getattr(a, field) / (getattr(b, field) or math.nan) for a, b in pairs]


def _print_row(name: str, cells: Sequence[str]) -> None:
    print(f"{name:32}" + "".join(f"{cell:>28}" for cell in cells))


def _spread(values: Sequence[float]) -> str:
    middle = statistics.median(values)
    return f"{_short(middle)} ({_short(min(values))} to {_short(max(values))})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.{3 if value >= 0.01 else 1}g}"


def _own_peak_mb() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(line for line in status if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def _machine_cpu_s() -> float:
    """Seconds that all CPUs worked since the machine's start.

    A process that ends with its pid namespace is reaped by the kernel, and its time
    enters nobody's account: that of children would leave out most of a sandbox.
    """
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _reap(argv: list[str]) -> None:
    """Run a command to its end and that of its orphans; print what they took."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    cpu_s, started = _machine_cpu_s(), time.perf_counter()
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, check=False)
    wall_s = time.perf_counter() - started
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    cpu_s = _machine_cpu_s() - cpu_s
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps(Taken(cpu_s, wall_s, peak_mb)))
    sys.exit(done.returncode)


if __name__ == "__main__":
    _reap(sys.argv[1:])
