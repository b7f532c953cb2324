"""Ends runs of two trials in every rude way, and says what must be true after.

Also a program, which adopts whatever outlives a run, so that nothing can hide:

    crashes.py kill ROOT RUN FOLDER FIRST STRIDE

For the steps FIRST, FIRST + STRIDE, ... until a run comes through: copies ROOT to
FOLDER/STEP, carries the run out in a process that kills itself at that step, then
carries it out again in one that does not. Tells of each as a JSON line.

    crashes.py interrupt ROOT RUN FILE SIGNALS GAP

Starts the command, waits until FILE has a line, sends Ctrl-C SIGNALS times, GAP ms
apart, as long as the command runs. Tells of its end as a JSON line.
"""

import ctypes
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import tinyroot

from evalkit import plan as planning
from evalkit import run as running
from evalkit import standing
from evalkit.journal import read_journal
from evalkit.records import AttemptEnded, AttemptStarted, Outcome
from evalkit.registration import load_registration

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 20.0
N_PLANNED = 2
DURABLE = ("fsync", "replace", "rename")
EVERY_STEP = "EVALKIT_EVERY_STEP" in os.environ
"""Where this variable is set, a run is killed at each step; else at a sample of them."""
SYNC = os.fsync


def seal(root: Path) -> Path:
    """A run of two trials: the least in which one is finished while one is not."""
    plan = tinyroot.plan(arms=("full", "baseline"), repeats=1)
    return planning.seal_plan(plan, root, now=running.utc_now)


def copy_of(of: tuple[Path, Path], to: Path) -> tuple[Path, Path]:
    """A copy of a root, and in it the folder of a run."""
    root, run = of
    copy = Path(shutil.copytree(root, to))
    return copy, copy / "runs" / run.name


def bodies(run: Path) -> list:
    """What was journaled."""
    return [event.body for event in read_journal(run / "journal.jsonl").events]


def results(run: Path) -> list:
    """The results in the journal."""
    return [body.result for body in bodies(run) if isinstance(body, AttemptEnded)]


def n_lost(run: Path) -> int:
    """Attempts that were begun and left no whole evidence: they are paid for again."""
    begun = [body for body in bodies(run) if isinstance(body, AttemptStarted)]
    return len(begun) - len(whole(run))


def whole(run: Path) -> set[str]:
    """Attempts whose evidence is whole, as `trial/attempt`."""
    sealed = run.glob("trials/*/*/evidence.json")
    return {str(path.parent.relative_to(run / "trials")) for path in sealed}


def assert_exactly_the_plan(run: Path, *, n_lost: int, kept: set[str]) -> None:
    """Every planned trial has one result, and what was whole was not paid twice."""
    planned = Counter(str(key) for key in load_registration(run).schedule)
    assert Counter(str(result.key) for result in results(run)) == planned
    assert all(result.outcome is Outcome.SCORED for result in results(run))
    assert kept <= {f"{result.key}/{result.attempt}" for result in results(run)}
    found = standing.status(run)
    assert (found.state, found.n_done) == ("complete", N_PLANNED)
    assert found.n_calls == N_PLANNED + n_lost
    assert not read_journal(run / "journal.jsonl").torn
    assert list(run.rglob(".*")) == []


def tell(*words: object) -> list[dict]:
    """Start this program; what it tells."""
    with tempfile.TemporaryDirectory() as left_by_the_killed:
        done = subprocess.run(
            [sys.executable, __file__, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "TMPDIR": left_by_the_killed},
        )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def command(root: Path, run: str) -> subprocess.Popen:
    """The command that carries out a run, started."""
    return subprocess.Popen(
        [sys.executable, "-m", "evalkit.cli", "run", run, "--root", str(root)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_line(path: Path, process: subprocess.Popen) -> None:
    """Wait until a file has a line, or the process is done."""
    while process.poll() is None and not _text(path).count("\n"):
        time.sleep(0.002)


def children(pid: int) -> list[int]:
    """Children of all threads of a process."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in lists for child in _text(path).split()]


def kill(root: Path, run: str, folder: Path, first: int, stride: int) -> None:
    """Kill at one step after the other, each in a copy of its own."""
    for step in itertools.count(first, stride):
        copy, inside = copy_of((root, Path(run)), folder / str(step))
        died = _in_child(lambda copy=copy, step=step: _run_and_die(copy, run, step))
        told = {
            "step": step,
            "died": os.WIFSIGNALED(died),
            "orphans": _orphans(),
            "journal": _text(inside / "journal.jsonl"),
            "n_lost": n_lost(inside),
            "whole": sorted(whole(inside)),
        }
        again = _in_child(lambda copy=copy: _carry_out(copy, run))
        print(json.dumps({**told, "again": again}), flush=True)
        if not told["died"]:
            return


def interrupt(root: Path, run: str, seen: Path, n_signals: int, gap_ms: int) -> None:
    """Send Ctrl-C to a run, again and again."""
    started = command(root, run)
    wait_for_line(seen, started)
    for _ in range(n_signals):
        started.send_signal(signal.SIGINT)
        time.sleep(gap_ms / 1000)
    _, said = started.communicate()
    told = {"code": started.returncode, "said": said, "orphans": _orphans()}
    print(json.dumps(told))


def kill_at(step: int) -> None:
    """Have this process kill itself before or after a durable step of its own."""
    number = itertools.count(1)

    def pass_by() -> None:
        if next(number) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def wrapped(real: Callable[..., None]) -> Callable[..., None]:
        def durable(*args: object, **named: object) -> None:
            pass_by()
            real(*args, **named)
            if real is not SYNC or _is_journal(args[0]):  # else nothing came between
                pass_by()

        return durable

    for name in DURABLE:
        setattr(os, name, wrapped(getattr(os, name)))


def _is_journal(number: int) -> bool:
    return Path(f"/proc/self/fd/{number}").readlink().name == "journal.jsonl"


def _run_and_die(root: Path, run: str, step: int) -> None:
    kill_at(step)
    _carry_out(root, run)


def _carry_out(root: Path, run: str) -> None:
    running.run_plan(root / "runs" / run, root)


def _in_child(work: Callable[[], None]) -> int:
    """Do something in a forked child; its wait status."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def _orphans() -> list[str]:
    """Programs that still run after a while; none is the good answer."""
    deadline = time.monotonic() + PATIENCE_S
    while left := children(os.getpid()):
        if time.monotonic() > deadline:
            return [_text(Path(f"/proc/{pid}/cmdline")) for pid in left]
        for pid in left:
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.002)
    return []


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    how, root, run, third, *numbers = sys.argv[1:]
    {"kill": kill, "interrupt": interrupt}[how](
        Path(root), run, Path(third), *map(int, numbers)
    )
