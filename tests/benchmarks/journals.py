"""What a run's record costs as it grows: append, read, resume, and say where it stands.

    python tests/benchmarks/journals.py [--trials 1000 10000 100000] [--rounds N]

A real sealed plan of one trivial case, whose trials are given results by hand. Sides,
each in a process of its own that leaves its imports out: `append` writes the events of
every trial, each fsynced; `bare append` writes lines of the same bytes by a plain
file, each fsynced; `read` verifies the chain; `status` says where the run stands; and
`resume` is the command `evalkit run` on a run that lacks its last trial, start
and that trial included. Prints the slope from one size to the next (1: linear).
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import chained
import sides
import trivial
from synthetic import attempts, result, step

from evalkit import registration, standing
from evalkit.journal import Writer, read_journal
from evalkit.records import Bodies, Registration, RunEnded, RunStarted
from evalkit.run import utc_now
from evalkit.standing import JOURNAL

MOST_SLOPE = 1.1
PART = "part"
BARE = "bare append"


def main() -> None:
    parser = sides.arguments(__doc__)
    parser.add_argument(
        "--trials", type=int, nargs="+", default=[1000, 10_000, 100_000]
    )
    given = parser.parse_args()
    sides.print_conditions("msgspec", seed=trivial.SEED)
    by_size: dict[str, dict[int, sides.Taken]] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = trivial.make_root(Path(folder))
        for n_trials in given.trials:
            taken = _taken(root, n_trials, given.rounds)
            for side, rounds in taken.items():
                by_size.setdefault(side, {})[n_trials] = sides.median(rounds)
    print()
    for side, found in by_size.items():
        sides.print_slopes(side, found, None if side == BARE else MOST_SLOPE)


def _taken(root: Path, n_trials: int, n_rounds: int) -> sides.Rounds:
    run = trivial.seal(root, n_trials)
    whole, resumed = run / "whole.jsonl", run / JOURNAL
    sealed = registration.load_registration(run)
    chained.write(whole, [*_bodies(sealed), RunEnded("complete")])

    def resume() -> sides.Taken:
        shutil.rmtree(run / "trials", ignore_errors=True)
        lines = whole.read_bytes().splitlines(keepends=True)
        resumed.write_bytes(b"".join(lines[:-3]))
        return sides.whole(trivial.run_argv(run, root, 1))

    def apart(side: str) -> sides.Taken:
        return sides.part([sys.executable, __file__, PART, side, run])

    taken = sides.in_turn(
        {
            **{side: partial(apart, side) for side in PARTS},
            "resume": resume,
        },
        n_rounds,
    )
    title = f"the record of {n_trials:,} trials, {whole.stat().st_size / 1e6:.1f} MB"
    sides.print_table(title, taken)
    return taken


def _bodies(sealed: Registration) -> Iterator[Bodies]:
    yield RunStarted(sealed.digest, sealed.isolation, 1)
    for key in sealed.schedule:
        yield from attempts(result(key, step("core"), isolation=sealed.isolation.level))


def _append(run: Path) -> None:
    sealed = registration.load_registration(run)
    path = run / "appended.jsonl"
    path.unlink(missing_ok=True)
    with Writer(path, now=utc_now) as writer:
        for body in _bodies(sealed):
            writer.append(body)


def _append_bare(run: Path) -> None:
    path = run / "bare.jsonl"
    path.unlink(missing_ok=True)
    with (run / "whole.jsonl").open("rb") as lines, path.open("ab", 0) as opened:
        for line in lines:
            opened.write(line)
            os.fsync(opened.fileno())


def _read(run: Path) -> object:
    return read_journal(run / "whole.jsonl")


def _status(run: Path) -> object:
    sealed = registration.load_registration(run)
    return standing.standing_of(run, sealed, read_journal(run / "whole.jsonl").events)


PARTS = {
    "append": _append,
    BARE: _append_bare,
    "read": _read,
    "status": _status,
}

if __name__ == "__main__":
    if sys.argv[1:2] == [PART]:
        sides.tell(partial(PARTS[sys.argv[2]], Path(sys.argv[3])))
    else:
        main()
