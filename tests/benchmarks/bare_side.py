"""The bare script's side of `overhead.py`: trials of the same shape, and no more.

    python bare_side.py FOLDER TRIALS WORKERS LEVEL

FOLDER holds `root/` with the case. A trial copies the fixture, starts an agent in the
sandbox that edits one file, starts a grader process that questions a driver in a
sandbox, and appends one fsynced line. There is no evidence, no conclusion, no resume.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evalkit import process, sandbox

AGENT = """
import json, sys, time
json.loads(sys.stdin.read() or "{}")
time.sleep(0.005)
open("greet.py", "w").write("def greet(name):\\n    return f'hello {name}'\\n")
print(json.dumps({"type": "result"}))
"""
DRIVER = """
import json, socket, sys
delivered = sys.argv[3]
sys.path.insert(0, delivered)
channel = socket.socket(fileno=int(sys.argv[1])).makefile("rw")
for line in channel:
    asked = json.loads(line)
    import greet
    answer = greet.greet(asked["name"]) if "name" in asked else open(f"{delivered}/README.md").read()
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


def main(base: Path, n_trials: int, n_workers: int, level: str) -> None:
    root = base / "root"
    box = sandbox.open_box(level, allow_unsandboxed=level == "none")
    driver = base / "driver"
    driver.mkdir(exist_ok=True)
    (driver / "__main__.py").write_text(DRIVER)
    with (
        (base / "journal").open("ab") as journal,
        ThreadPoolExecutor(n_workers) as pool,
    ):
        trials = [
            pool.submit(_bare_trial, root, box, driver, journal)
            for _ in range(n_trials)
        ]
        for trial in trials:
            trial.result()


def _bare_trial(root: Path, box, driver: Path, journal) -> None:
    with tempfile.TemporaryDirectory() as private:
        graded = _graded(Path(private), root, box, driver)
    journal.write(graded)
    journal.flush()
    os.fsync(journal.fileno())


def _graded(folder: Path, root: Path, box, driver: Path) -> bytes:
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
    return graded.stdout


def _null(path: Path) -> bytes:
    return os.fsencode(path) + b"\0"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
