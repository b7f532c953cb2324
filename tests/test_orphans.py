"""Nothing that a trial started outlives it: neither its end, nor its time, nor ours."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_sandbox
CALLERS = ["user", "root"] if os.geteuid() == 0 else ["user"]
DAEMON = """
import os, signal, sys, time
if not os.fork():
    os.setsid()
    if not os.fork():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        open("up", "w").close()
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", HOLD, MARKER])
    os._exit(0)
os.wait()
while not os.path.exists("up"):
    time.sleep(0.01)
if STAYS:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pause()
"""
HOLD = "import signal; signal.signal(15, signal.SIG_IGN)\nwhile True: signal.pause()"
CARRIER = """
import json, sys
from pathlib import Path
from evalkit import process, sandbox
from evalkit.sandbox import identity
folder, code, caller, timeout_s = json.loads(sys.argv[1])
if caller == "user":
    identity.may_drop = lambda: False
box = sandbox.open_box("bwrap", allow_unsandboxed=False)
folders = [Path(folder) / name for name in ("workspace", "home", "staging")]
place = box.place(*folders)
launch = box.agent_argv((sys.executable, "-I", "-S", "-c", code), {}, place)
ended = process.run(
    launch.argv, env={}, stdout=Path(folder) / "out", stderr=Path(folder) / "err",
    timeout_s=timeout_s, grace_s=0.2, max_output_bytes=1000, given=launch.given,
)
print(json.dumps([ended.exit_code, ended.timed_out]))
"""


class Trial:
    """A harness process, whose agent leaves a daemon behind."""

    def __init__(self, folder, caller, *, stays, timeout_s):
        self.marker = uuid.uuid4().hex
        self.folder = folder
        for name in ("workspace", "home", "staging"):
            (folder / name).mkdir()
        code = f"HOLD, MARKER, STAYS = {HOLD!r}, {self.marker!r}, {stays}\n{DAEMON}"
        argument = json.dumps([str(folder), code, caller, timeout_s])
        self.harness = subprocess.Popen(
            [sys.executable, "-c", CARRIER, argument], stdout=subprocess.PIPE
        )

    def wait_until_up(self):
        _wait(lambda: (self.folder / "workspace" / "up").exists() and self.daemons())

    def daemons(self):
        """Processes that carry the marker, but for the harness and its sandbox."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if self.marker.encode() in words:
                    found.append(int(entry.name))
        return found


def _wait(true, within_s=60):
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


@pytest.fixture(params=CALLERS)
def start(request, tmp_path):
    made = []

    def start(**options):
        made.append(Trial(tmp_path, request.param, **options))
        return made[-1]

    yield start
    for trial in made:
        for pid in trial.daemons():
            os.kill(pid, signal.SIGKILL)
        trial.harness.kill()
        trial.harness.wait()


def test_a_daemon_dies_when_the_agent_ends(start):
    trial = start(stays=False, timeout_s=60)
    told, _ = trial.harness.communicate(timeout=60)
    assert json.loads(told) == [0, False]
    assert (trial.folder / "workspace" / "up").exists()
    _wait(lambda: not trial.daemons())


def test_a_daemon_dies_when_the_time_of_the_call_is_up(start):
    trial = start(stays=True, timeout_s=3)
    told, _ = trial.harness.communicate(timeout=60)
    assert json.loads(told) == [None, True]
    assert (trial.folder / "workspace" / "up").exists()
    _wait(lambda: not trial.daemons())


def test_a_daemon_dies_when_the_harness_is_killed(start):
    trial = start(stays=True, timeout_s=600)
    trial.wait_until_up()
    trial.harness.kill()
    trial.harness.wait()
    _wait(lambda: not trial.daemons())
