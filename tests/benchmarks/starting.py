"""How fast commands start: each against a Python that only starts, in turn.

    python tests/benchmarks/starting.py [--rounds N]

`--help` and a look at a run that is sealed and not begun, with the start of the
interpreter in them, beside the start of Python alone and with Typer imported. Prints
which modules take longest to import for `--help`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import sides
import trivial

MOST_HELP_S = 0.3
N_IMPORTS = 8
_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|\s+(\S+)")


def main() -> None:
    parser = sides.arguments(__doc__, rounds=9)
    given = parser.parse_args()
    sides.print_conditions("typer", "msgspec", seed=trivial.SEED)
    evalkit = [sys.executable, "-m", "evalkit.cli"]
    with tempfile.TemporaryDirectory() as folder:
        root = trivial.make_root(Path(folder))
        run = trivial.seal(root, 1)
        argvs = {
            "evalkit --help": [*evalkit, "--help"],
            "evalkit status": [*evalkit, "status", run.name, "--root", str(root)],
            "import typer": [sys.executable, "-c", "import typer"],
            "python": [sys.executable, "-c", "pass"],
        }
        taken = sides.in_turn(
            {name: partial(sides.whole, argv) for name, argv in argvs.items()},
            given.rounds,
        )
    sides.print_table("a start", taken, "python")
    helped = sides.median(taken["evalkit --help"]).wall_s
    sides.print_aim("wall s of evalkit --help", helped, MOST_HELP_S)
    _print_imports()


def _print_imports() -> None:
    argv = [sys.executable, "-X", "importtime", "-c", "import evalkit.cli"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    rows = [(int(own), name) for own, _, name in _IMPORT.findall(done.stderr)]
    total_ms = sum(own for own, _ in rows) / 1000
    print(f"\n{len(rows)} modules, {total_ms:.0f} ms; the longest by themselves:")
    for own, name in sorted(rows, reverse=True)[:N_IMPORTS]:
        print(f"  {own / 1000:6.1f} ms  {name}")


if __name__ == "__main__":
    main()
