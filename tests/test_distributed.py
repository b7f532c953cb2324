"""machines: trials on real workers of a real Dask cluster, ended rudely too."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import realroot
import tinyroot
from messages_stub import digest

import evalkit
from evalkit import files, machines, standing
from evalkit import plan as planning
from evalkit import run as running
from evalkit.agents import reach
from evalkit.audit.record import read_lines
from evalkit.audit.trials import check_trials
from evalkit.errors import DriftError, InfrastructureError, StoppedEarlyError
from evalkit.journal import read_journal
from evalkit.records import (
    AttemptEnded,
    AttemptStarted,
    Deviation,
    Dialect,
    Program,
    RunEnded,
)
from evalkit.registration import load_registration

pytestmark = pytest.mark.xdist_group("distributed")

PATIENCE_S = 60.0
N_PLANNED = 4
THE_SAME = ("delivery.json", "workspace.tar", "left_out.json")
AGENT = """
import os, sys, time
from pathlib import Path

gate = Path(sys.argv[1])
with (gate / "begun").open("a") as told:
    told.write(f"{os.getppid()} {os.getpid()}\\n")
patience = time.monotonic() + 120
while not (gate / "open").exists() and time.monotonic() < patience:
    time.sleep(0.01)
Path("greet.py").write_text("def greet(name):\\n    return f'hello {name}'\\n")
"""


def _await(found):
    """What something gives, once it gives anything."""
    patience = time.monotonic() + PATIENCE_S
    while not (got := found()):
        assert time.monotonic() < patience
        time.sleep(0.01)
    return got


ASKS = """
import json, os, urllib.request

body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Do it."}]}
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
    {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "x-session": os.urandom(8).hex()})
urllib.request.urlopen(request).read()
"""


class Cluster:
    """A scheduler, and workers as they are asked for."""

    def __init__(self, folder):
        self._folder = folder
        self._env = {**os.environ, "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "60s"}
        told = folder / "scheduler.json"
        at = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.scheduler = self._start("scheduler", *at, "--scheduler-file", str(told))
        _await(lambda: told.exists() and told.read_text().endswith("}"))
        self.address = json.loads(told.read_text())["address"]
        self.workers = {}

    def work(self, name, **env):
        told = ("--nthreads", "1", "--resources", "agent=1", "--name", name)
        place = ("--no-nanny", "--no-dashboard", "--local-directory", self._folder)
        alone = ("--death-timeout", "60")  # where these tests were killed
        started = self._start("worker", self.address, *told, *place, *alone, **env)
        self.workers[name] = started
        return started

    def end(self):
        for one in (*self.workers.values(), self.scheduler):
            one.kill()
            one.wait()

    def _start(self, *words, **env):
        with (self._folder / f"{words[0]}.err").open("a") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *map(str, words)],
                stdout=said,
                stderr=said,
                cwd=self._folder,  # else the checkout goes before all else
                env={**self._env, **env},
            )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        for name in ("one", "two"):
            made.work(name, ANTHROPIC_API_KEY=realroot.CREDENTIAL)
        yield made
    finally:
        made.end()


@pytest.fixture
def hired(cluster):
    """The workers that are left, all there."""
    left = [name for name, one in cluster.workers.items() if one.poll() is None]
    with machines.connected(cluster.address) as seen:
        seen.wait_for(lambda: len(seen.there) == len(left) or None, PATIENCE_S)
    return machines.at(cluster.address)


@pytest.fixture
def gate(tmp_path):
    folder = tmp_path / "gate"
    folder.mkdir()
    return folder


def _seal(root, gate, source=AGENT, **changes):
    agent = gate.parent / "agent.py"
    agent.write_text(source)
    program = Program(
        (sys.executable, str(agent), str(gate)),
        binds=(str(agent),),
        dialect=Dialect.ANTHROPIC if "provider_url" in changes else None,
    )
    plan = tinyroot.plan(
        arms=("full", "baseline"),
        repeats=2,
        agent="command",
        program=program,
        isolation="none",
        allow_unsandboxed=True,
        **changes,
    )
    return planning.seal_plan(plan, root, now=running.utc_now)


def _bodies(run, kind):
    events = read_journal(run / "journal.jsonl").events
    return [event.body for event in events if isinstance(event.body, kind)]


def _verdicts(run):
    return {
        str(body.result.key): [
            (c.id, c.passed) for c in body.result.steps[0].grade.checks
        ]
        for body in _bodies(run, AttemptEnded)
    }


def _digests(run):
    return {
        path.relative_to(run): files.file_digest(path)
        for path in run.glob("trials/*/1/*/*")
        if path.name in THE_SAME
    }


def _assert_each_trial_once(run):
    planned = Counter(load_registration(run).schedule)
    assert Counter(body.result.key for body in _bodies(run, AttemptEnded)) == planned
    assert standing.status(run).n_done == N_PLANNED
    registration = load_registration(run)
    assert check_trials(registration, read_lines(run), run).verdict == "pass"


def test_trials_elsewhere_come_out_as_here(hired, own_root, gate, tmp_path):
    (gate / "open").touch()
    run = _seal(own_root, gate)
    copy = Path(shutil.copytree(own_root, tmp_path / "copy"))
    here = copy / "runs" / run.name
    running.run_plan(here, copy)
    running.run_plan(run, own_root, n_workers=0, hire=hired)
    _assert_each_trial_once(run)
    assert (_verdicts(run), _digests(run)) == (_verdicts(here), _digests(here))
    assert len(_digests(run)) == N_PLANNED * len(THE_SAME)
    assert not [*run.rglob(".*")]


def test_requests_elsewhere_are_counted_and_the_credential_is_the_workers_own(
    hired, own_root, gate, tmp_path, monkeypatch
):
    for name in reach.ANTHROPIC.credentials:
        monkeypatch.delenv(name, raising=False)
    script = realroot.always({"text": "Hi", "usage": realroot.USED})
    with realroot.provider(tmp_path / "stub", script) as stub:
        limits = {"max_requests_at_once": 2, "record": True}
        run = _seal(own_root, gate, ASKS, provider_url=stub.url, **limits)
        running.run_plan(run, own_root, n_workers=0, hire=hired)
        assert realroot.used(run) == stub.served()
        asked = stub.lines("asked")
    assert {line["credential"]["x-api-key"] for line in asked} == {
        digest(realroot.CREDENTIAL)
    }
    _assert_each_trial_once(run)
    lines = (run / "gateway.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    names = {f"trials/{key}/1" for key in load_registration(run).schedule}
    assert {line["trial"] for line in told if line["event"] == "request"} == names
    assert {str(p.parents[1].relative_to(run / "recordings")) for p in
            run.glob("recordings/trials/*/1/*/*/")} == names  # fmt: skip
    for path, data in realroot.everything(own_root):
        assert realroot.CREDENTIAL.encode() not in data, path


def _begun(gate, n):
    """Of the agents that began, once there are so many: the parent and itself."""
    told = gate / "begun"
    _await(lambda: told.exists() and told.read_text().count("\n") >= n)
    return [tuple(map(int, line.split())) for line in told.read_text().splitlines()]


def test_a_trial_whose_worker_is_killed_runs_again_elsewhere(
    cluster, hired, own_root, gate
):
    run = _seal(own_root, gate)

    def kill():
        try:
            (victim, _), *_ = _begun(gate, 2)
            (name,) = [n for n, one in cluster.workers.items() if one.pid == victim]
            os.kill(victim, signal.SIGKILL)
        finally:
            (gate / "open").touch()
        return name

    with ThreadPoolExecutor(1) as meanwhile:
        killed = meanwhile.submit(kill)
        running.run_plan(run, own_root, n_workers=0, hire=hired)
    _assert_each_trial_once(run)
    begun = [(body.key, body.attempt) for body in _bodies(run, AttemptStarted)]
    assert len(begun) == N_PLANNED + 1
    ((again, attempt),) = [one for one in begun if one[1] > 1]
    assert (attempt, (again, 1) in begun) == (2, True)
    (noted,) = _bodies(run, Deviation)
    assert f"{again}, attempt 1" in noted.found
    assert f"worker {killed.result()} at tcp://" in noted.found


def test_a_worker_that_differs_is_named_with_what_differs(
    cluster, hired, own_root, gate, tmp_path
):
    package = Path(evalkit.__file__).parent
    other = Path(shutil.copytree(package, tmp_path / "other" / "evalkit"))
    with (other / "trial.py").open("a") as opened:
        opened.write("# another\n")
    (gate / "open").touch()
    run = _seal(own_root, gate)
    started = cluster.work("other", PYTHONPATH=str(tmp_path / "other"))
    with machines.connected(cluster.address) as seen:
        assert seen.wait_for(
            lambda: "other" in {one.name for one in seen.there.values()} or None,
            PATIENCE_S,
        )
    with pytest.raises(DriftError) as caught:
        running.run_plan(run, own_root, n_workers=0, hire=hired)
    started.kill()
    started.wait()
    assert "worker other at tcp://" in str(caught.value)
    assert "run_source: registered" in str(caught.value)
    assert _bodies(run, AttemptStarted) == []


@pytest.mark.usefixtures("hired")
def test_ctrl_c_ends_what_is_under_way_elsewhere(cluster, own_root, gate):
    run = _seal(own_root, gate)
    command = _command(cluster, run)
    begun = _begun(gate, 1)
    command.send_signal(signal.SIGINT)
    _, said = command.communicate()
    assert command.returncode == StoppedEarlyError.exit_code, said
    _await(lambda: not any(psutil.pid_exists(agent) for _, agent in begun))
    assert not (gate / "open").exists()
    assert _bodies(run, RunEnded)[-1].reason == "interrupted"


def _command(cluster, run):
    """The command that has a run carried out elsewhere, started."""
    root = run.parents[1]
    argv = ["run", run.name, "--root", str(root), "--scheduler", cluster.address]
    return subprocess.Popen(
        [sys.executable, "-m", "evalkit.cli", *argv],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.usefixtures("hired")
def test_a_run_whose_scheduler_is_killed_says_so_and_goes_on_later(
    cluster, own_root, gate
):
    run = _seal(own_root, gate)
    command = _command(cluster, run)
    _begun(gate, 1)
    cluster.scheduler.kill()
    _, said = command.communicate()
    (gate / "open").touch()
    assert command.returncode == InfrastructureError.exit_code, said
    assert f"scheduler {cluster.address}: expected that it is there to the end" in said
    assert _bodies(run, RunEnded)[-1].reason == "infrastructure"
    assert running.run_plan(run, own_root, n_workers=2).n_done == N_PLANNED
    _assert_each_trial_once(run)


def test_without_a_scheduler_no_trial_begins(own_root, gate, monkeypatch):
    monkeypatch.setattr("evalkit.machines.cluster.CONNECT_S", 0.5)
    run = _seal(own_root, gate)
    with pytest.raises(InfrastructureError, match="expected a Dask scheduler"):
        running.run_plan(run, own_root, hire=machines.at("tcp://127.0.0.1:9"))
    assert _bodies(run, AttemptStarted) == []
