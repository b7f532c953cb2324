"""How fast a transcript is summed up: beside json.loads and msgspec, line by line.

    python tests/benchmarks/transcripts.py [--mb 256] [--rounds N] [FILE ...]

A file is a real one repeated, each copy with message ids of its own, so that it
holds as many requests as a real one of that size would. All sides run in fresh
processes on the same file and leave their imports out; `json` and `msgspec` make
plain objects of each line, keep none, and pass over what is no JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import sides
from repeated import MOST_REQUESTS, repeat

LEAST_TIMES = 2.5
"""As fast as json.loads, at least so many times."""
PART = "part"


def main() -> None:
    parser = sides.arguments(__doc__)
    parser.add_argument("--mb", type=int, default=256)
    parser.add_argument("files", type=Path, nargs="*", default=[MOST_REQUESTS])
    given = parser.parse_args()
    sides.print_conditions("msgspec")
    for file in given.files:
        _compare(file, given.mb * 10**6, given.rounds)


def _compare(file: Path, n_most: int, n_rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        n_bytes = repeat(file, path, lambda n_bytes, _: n_bytes < n_most)
        taken = sides.in_turn(
            {side: partial(_apart, side, path) for side in PARTS}, n_rounds
        )
    title = f"{file.name} repeated to {n_bytes / 1e6:,.0f} MB"
    aims = [sides.Aim(what, 1 / LEAST_TIMES) for what in ("CPU", "wall")]
    sides.print_table(title, taken, "json", aims)
    for side, rounds in taken.items():
        found = sides.median(rounds)
        mb_s, mb_cpu_s = (n_bytes / 1e6 / s for s in (found.wall_s, found.cpu_s))
        print(f"{side}: {mb_s:,.0f} MB/s, {mb_cpu_s:,.0f} MB per second of CPU")


def _apart(side: str, path: Path) -> sides.Taken:
    return sides.part([sys.executable, __file__, PART, side, path])


def _account(path: Path) -> Callable[[], object]:
    from evalkit.explore import account

    return partial(account, path)


def _each_line(decode: Callable[[bytes], object], path: Path) -> None:
    with path.open("rb") as lines:
        for line in lines:
            try:
                decode(line)
            except (ValueError, msgspec.DecodeError):
                continue


PARTS = {
    "evalkit": _account,
    "json": lambda path: partial(_each_line, json.loads, path),
    "msgspec": lambda path: partial(_each_line, msgspec.json.decode, path),
}

if __name__ == "__main__":
    if sys.argv[1:2] == [PART]:
        sides.tell(PARTS[sys.argv[2]](Path(sys.argv[3])))
    else:
        main()
