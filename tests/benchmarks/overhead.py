"""What the harness costs: a trivial trial against a bare script, side by side.

    python tests/benchmarks/overhead.py [TRIALS] [ROUNDS]

Both sides copy a ten-file fixture, start an agent that edits one file, start a
grader process that questions a sandboxed driver, and fsync one line. Rounds
alternate between the sides; CPU counts all children. Prints a table; asserts
nothing.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
import tinyroot

from evalkit import plan as planning
from evalkit import process, sandbox
from evalkit import run as running

PR_SET_CHILD_SUBREAPER = 36
AGENT = """
import json, sys, time
json.loads(sys.stdin.read() or "{}")
time.sleep(0.005)
open("greet.py", "w").write("def greet(name):\\n    return f'hello {name}'\\n")
print(json.dumps({"type": "result"}))
"""
DRIVER = """
import json, os, re, socket, subprocess, sys, threading, http.server, unittest
sys.path.insert(0, "/workspace")
channel = socket.socket(fileno=int(sys.argv[1])).makefile("rw")
for line in channel:
    asked = json.loads(line)
    import greet
    answer = greet.greet(asked["name"]) if "name" in asked else open("/workspace/README.md").read()
    channel.write(json.dumps({"answer": answer}) + "\\n"); channel.flush()
"""
GRADER = """
import base64, json, os, socket, subprocess, sys
words, given = json.loads(sys.argv[1])
ours, theirs = socket.socketpair()
numbers = {"9999": theirs.fileno()}
for word, data in given.items():
    numbers[word] = os.memfd_create("given")
    os.write(numbers[word], base64.b64decode(data))
    os.lseek(numbers[word], 0, 0)
argv = [str(numbers.get(word, word)) for word in words]
child = subprocess.Popen(argv, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=list(numbers.values()))
theirs.close()
channel = ours.makefile("rw")
won = 0
for asked, wanted in (({"name": "x"}, "hello x"), ({"name": "y"}, "hello y"), ({}, None)):
    channel.write(json.dumps(asked) + "\\n"); channel.flush()
    answer = json.loads(channel.readline())["answer"]
    won += wanted is None or answer == wanted
channel.close(); ours.close(); child.wait()
print(json.dumps({"score": won / 3}))
"""


def main() -> None:
    n_trials = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    n_rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    # Orphans come to us, so that their CPU is counted when they are reaped.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    rows = {"evalkit": [], "bare": []}
    for _ in range(n_rounds):
        rows["evalkit"].append(_evalkit(n_trials))
        rows["bare"].append(_bare(n_trials))
    print(f"{n_trials} trials a round, {n_rounds} rounds, medians, per trial")
    print(f"{'side':10} {'CPU ms':>8} {'wall ms':>8}")
    medians = {}
    for side, found in rows.items():
        cpu = statistics.median(cpu for cpu, _ in found) * 1000 / n_trials
        wall = statistics.median(wall for _, wall in found) * 1000 / n_trials
        medians[side] = (cpu, wall)
        print(f"{side:10} {cpu:8.1f} {wall:8.1f}")
    cpu, wall = (
        a / b for a, b in zip(medians["evalkit"], medians["bare"], strict=True)
    )
    print(f"{'ratio':10} {cpu:8.2f} {wall:8.2f}")
    _children(100)
    print(f"peak memory of the harness: {_peak_mb():.0f} MB")


def _measure(work) -> tuple[float, float]:
    """CPU and wall seconds of some work, all its descendants included."""
    before = [resource.getrusage(who) for who in (0, resource.RUSAGE_CHILDREN)]
    started = time.perf_counter()
    work()
    wall = time.perf_counter() - started
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    after = [resource.getrusage(who) for who in (0, resource.RUSAGE_CHILDREN)]
    cpu = sum(
        a.ru_utime + a.ru_stime - b.ru_utime - b.ru_stime
        for a, b in zip(after, before, strict=True)
    )
    return cpu, wall


def _widen(root: Path) -> None:
    for n in range(8):
        (root / f"cases/greet/fixture/note{n}.txt").write_text(f"note {n}\n" * 50)


def _evalkit(n_trials: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        root = tinyroot.make(Path(folder) / "root")
        _widen(root)
        tinyroot.prove(root)
        plan = tinyroot.plan(arms=("baseline",), repeats=n_trials)
        run = planning.seal_plan(plan, root, now=running.utc_now)
        argv = [
            sys.executable,
            "-m",
            "evalkit.cli",
            "run",
            run.name,
            "--root",
            str(root),
        ]
        return _measure(
            lambda: subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        )


def _bare(n_trials: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        root = tinyroot.make(base / "root")
        _widen(root)
        box = sandbox.open_box(tinyroot.isolation(), allow_unsandboxed=True)
        driver = base / "driver"
        driver.mkdir()
        (driver / "__main__.py").write_text(DRIVER)

        def work() -> None:
            with (base / "journal").open("ab") as journal:
                for n in range(n_trials):
                    _bare_trial(base / str(n), root, box, driver, journal)

        return _measure(work)


def _bare_trial(folder: Path, root: Path, box, driver: Path, journal) -> None:
    workspace = folder / "workspace"
    shutil.copytree(root / "cases/greet/fixture", workspace)
    home, staging = folder / "home", folder / "staging"
    home.mkdir()
    staging.mkdir()
    (staging / "agent.py").write_text(AGENT)
    place = box.place(workspace, home, staging)
    agent = [sys.executable, "-I", "-S", "-B", f"{place.staging.seen}/agent.py"]
    launch = box.agent_argv(agent, {"PATH": "/usr/bin:/bin"}, place)
    process.output(
        launch.argv, env=launch.env, cwd=launch.cwd, given=launch.given, timeout_s=60
    )
    launch = box.subject_argv(workspace, 9999)
    given = [
        data.replace(_null(sandbox.DRIVER), _null(driver)) for data in launch.given
    ]
    encoded = [base64.b64encode(data).decode() for data in given]
    words = [word.replace(str(sandbox.DRIVER), str(driver)) for word in launch.argv]
    asked = json.dumps([words, dict(zip(process.GIVEN, encoded, strict=False))])
    graded = subprocess.run(
        [sys.executable, "-I", "-B", "-c", GRADER, asked],
        capture_output=True,
        check=True,
    )
    journal.write(graded.stdout)
    journal.flush()
    os.fsync(journal.fileno())


def _null(path: Path) -> bytes:
    return os.fsencode(path) + b"\0"


def _child(box, place, argv) -> float:
    """Wall milliseconds of one child, started and ended as an agent is."""
    launch = box.agent_argv(argv, {"PATH": "/usr/bin:/bin"}, place)
    started = time.perf_counter()
    process.output(
        launch.argv, env=launch.env, cwd=launch.cwd, given=launch.given, timeout_s=60
    )
    return (time.perf_counter() - started) * 1000


def _children(n_children: int) -> None:
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


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


if __name__ == "__main__":
    main()
