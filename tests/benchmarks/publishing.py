"""What a report costs: beside an empty notebook, and beside the two command lines.

    python tests/benchmarks/publishing.py [RUN] [--rounds N]

`one process` executes the report notebook of a run and exports it, as `evalkit report`
does; `two commands` does so by papermill and nbconvert, with the same template; `empty`
has these two execute and export a notebook without cells, which is the floor. Without
a RUN (its folder) a small one is made. Kernels are counted, and all starts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import nbformat
import sides
import trivial

from evalkit.executing import source_of

BIN = Path(sys.executable).parent
ARMS = ("full", "canonical", "baseline")
N_TRIALS = 12
AIMS = [sides.Aim("CPU", 0.6)]
ONE_PROCESS = """
import sys
from pathlib import Path
from evalkit.export import export
from evalkit.parameters import ReportParameters
from evalkit.executing import execute
run, folder = Path(sys.argv[1]), Path(sys.argv[2])
notebook = execute(ReportParameters(run.name), folder=folder, cwd=run.parent)
export(notebook, folder / "report.html", title="report")
"""
TWO_COMMANDS = """
import subprocess, sys
bin, source, made, *options = sys.argv[1:]
executed = f"{made}/executed.ipynb"
papermill = [f"{bin}/papermill", source, executed, "--no-progress-bar"]
run, template = (options[:3], options[3:]) if options else ([], [])
subprocess.run([*papermill, *run], check=True, stderr=subprocess.DEVNULL)
nbconvert = [f"{bin}/jupyter", "nbconvert", "--to", "html", *template, executed]
subprocess.run(nbconvert, check=True, stderr=subprocess.DEVNULL)
"""


def main() -> None:
    parser = sides.arguments(__doc__)
    parser.add_argument("run", type=Path, nargs="?")
    given = parser.parse_args()
    sides.print_conditions("papermill", "nbconvert", "ipykernel", seed=trivial.SEED)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        run = given.run.resolve() if given.run else _small_run(base)
        empty = base / "empty.ipynb"
        nbformat.write(nbformat.v4.new_notebook(metadata=_metadata()), empty)
        commands = [sys.executable, "-c", TWO_COMMANDS, BIN]
        template = ["--template", "evalkit"]
        named = ["-p", "run", run.name, *template]
        argvs = {
            "one process": [sys.executable, "-c", ONE_PROCESS, run, "MADE"],
            "two commands": [*commands, source_of("report"), "MADE", *named],
            "empty": [*commands, empty, "MADE"],
        }
        taken = sides.in_turn(
            {name: partial(_made, argv, run.parent) for name, argv in argvs.items()},
            given.rounds,
        )
    sides.print_table(f"the report of {run.name}", taken, "empty")
    sides.print_ratios(taken, "one process", "two commands", AIMS)


def _made(argv: list[str | Path], cwd: Path) -> sides.Taken:
    """What a side takes; what it makes lies in a folder of its own."""
    with tempfile.TemporaryDirectory() as made:
        words = [made if word == "MADE" else word for word in argv]
        return sides.whole(words, cwd=cwd)


def _small_run(base: Path) -> Path:
    root = trivial.make_root(base)
    run = trivial.seal(root, N_TRIALS, arms=ARMS)
    argv = trivial.run_argv(run, root, 2)
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return run


def _metadata() -> dict[str, object]:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"kernelspec": kernel}


if __name__ == "__main__":
    main()
