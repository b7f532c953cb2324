"""What executing and exporting in one process saves, on the same notebook.

    python tests/benchmarks/publishing.py RUN [ROUNDS]

One side executes the report notebook of a run and exports it in one process, as
`evalkit report` does; the other does so by the command lines of papermill and
nbconvert, with the same template. Rounds alternate between the sides; CPU counts all
children. Prints a table; asserts nothing.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from evalkit.publish import source_of

BIN = Path(sys.executable).parent
ONE_PROCESS = """
import sys
from pathlib import Path
from evalkit.export import export
from evalkit.parameters import ReportParameters
from evalkit.publish import execute
run, folder = Path(sys.argv[1]), Path(sys.argv[2])
notebook = execute(ReportParameters(run.name), folder=folder, cwd=run.parent)
export(notebook, folder / "report.html", title="report")
"""


def main(run: str, rounds: str = "3") -> None:
    """Time both sides in turn, and print their ratios."""
    folder = Path(run).resolve()
    taken: dict[str, list[tuple[float, float]]] = {
        "one process": [],
        "two commands": [],
    }
    for _ in range(int(rounds)):
        for side, seconds in taken.items():
            with tempfile.TemporaryDirectory() as made:
                seconds.append(timed(commands(side, folder, Path(made)), folder.parent))
    print(f"{'':14}{'CPU s':>8}{'wall s':>8}   ({rounds} rounds, medians)")
    medians = {
        side: [statistics.median(column) for column in zip(*seconds, strict=True)]
        for side, seconds in taken.items()
    }
    for side, (cpu_s, wall_s) in medians.items():
        print(f"{side:14}{cpu_s:8.2f}{wall_s:8.2f}")
    ours, theirs = medians.values()
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    print(f"{'ratio':14}{ratios[0]:8.2f}{ratios[1]:8.2f}")


def commands(side: str, run: Path, made: Path) -> list[list[str]]:
    """The command lines of a side."""
    if side == "one process":
        return [[sys.executable, "-c", ONE_PROCESS, str(run), str(made)]]
    executed = str(made / "report.ipynb")
    papermill = [str(BIN / "papermill"), str(source_of("report")), executed]
    nbconvert = [str(BIN / "jupyter"), "nbconvert", "--to", "html"]
    return [
        [*papermill, "-p", "run", run.name, "--no-progress-bar"],
        [*nbconvert, "--template", "evalkit", executed],
    ]


def timed(commands: Sequence[Sequence[str]], cwd: Path) -> tuple[float, float]:
    """CPU of all children, and wall clock, of some commands one after the other."""
    before, started = spent(), time.perf_counter()
    for command in commands:
        subprocess.run(
            command, check=True, cwd=cwd, capture_output=True, env=os.environ
        )
    return spent() - before, time.perf_counter() - started


def spent() -> float:
    """Seconds of CPU of all children that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(*sys.argv[1:3])
