"""Whole trials of real agents: a provider on this machine, roots, and what was said.

The provider is `messages_stub.py` as a process of its own. Nothing here knows how
an agent is started or read: runs are planned, sealed and carried out as users do. Also a program:

    realroot.py direct ROOT
    realroot.py reached FOLDER

In a network of its own. The first carries out a run without a gateway, and tells of
it as JSON; the second starts Codex as configured for a trial, and tells, as JSON,
where it connected to.
"""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import tinyroot
from messages_stub import overlay_turns

from evalkit import plan as planning
from evalkit import proof, sandbox
from evalkit import run as running
from evalkit.agents import codex
from evalkit.journal import read_journal
from evalkit.records import (
    Access,
    AttemptEnded,
    Limits,
    Plan,
    StepResult,
    TrialResult,
)
from evalkit.usage import CLASSES

REPOSITORY = Path(__file__).parent.parent
STUB = Path(__file__).with_name("messages_stub.py")
PATIENCE_S = 60.0
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
USED = {"input": 35, "write_5m": 100, "write_1h": 207, "read": 28_173, "output": 308}
"""Tokens of a turn, each class another number."""
CREDENTIAL = "sk-canary-0f1e2d3c4b5a"
"""A dummy, which nothing but the provider may ever see."""
CHOOSES = "You choose at most one skill for a task"
"""Stands in every selection call and in no other."""

RUNS = """
import sys
from pathlib import Path
from evalkit.run import run_plan
run_plan(Path(sys.argv[1]), Path(sys.argv[2]))
"""
"""A program that carries out a run."""


class StubProcess:
    """The stub as a real server, and what it logged."""

    def __init__(self, folder: Path, conversations: list) -> None:
        folder.mkdir()
        self._log = folder / "log.jsonl"
        policy = folder / "policy.json"
        policy.write_text(json.dumps({"conversations": conversations}))
        argv = ["--policy", str(policy), "--log", str(self._log)]
        self.popen = subprocess.Popen(
            [sys.executable, str(STUB), *argv], stdout=subprocess.PIPE
        )
        assert self.popen.stdout is not None
        self.url = f"http://127.0.0.1:{int(self.popen.stdout.readline())}"

    def lines(self, event: str) -> list[dict]:
        """What it logged of one kind."""
        found = map(json.loads, self._log.read_text().rpartition("\n")[0].splitlines())
        return [line for line in found if line["event"] == event]

    def await_lines(self, event: str, n: int) -> list[dict]:
        """Its first n lines of a kind, once they are there."""
        patience = time.monotonic() + PATIENCE_S
        while len(found := self.lines(event)) < n:
            assert self.popen.poll() is None
            assert time.monotonic() < patience, self.lines("asked")
            time.sleep(0.005)
        return found

    def served(self) -> dict[str, int]:
        """Tokens of all answers it completed, by class."""
        whole = [line for line in self.lines("answered") if line["status"] == 200]
        assert {line["ended"] for line in whole} <= {"complete"}
        return {name: sum(line["usage"][name] for line in whole) for name in CLASSES}

    def log(self) -> str:
        """All it logged: what it was asked, without keys."""
        return self._log.read_text()

    def end(self) -> None:
        """End it."""
        self.popen.kill()
        self.popen.wait()
        assert self.popen.stdout is not None
        self.popen.stdout.close()


@contextmanager
def provider(folder: Path, *conversations: dict) -> Iterator[StubProcess]:
    """A provider that follows a script."""
    stub = StubProcess(folder, list(conversations))
    try:
        yield stub
    finally:
        stub.end()


def priced(turns: list[dict]) -> list[dict]:
    """Turns, each with its own usage: no two have the same."""
    return [
        turn | {"usage": {name: n + i for name, n in USED.items()}}
        for i, turn in enumerate(turns)
    ]


def always(*turns: dict) -> dict:
    """A conversation for every call."""
    return {"match": [], "turns": list(turns)}


def in_turn(*variants: list[dict], match: tuple[str, ...] = ()) -> dict:
    """A conversation that goes another way in each call."""
    return {"match": list(match), "variants": list(variants)}


def greets(root: Path, overlay: str = "correct", *, dialect="anthropic") -> list[dict]:
    """Turns that lay an overlay of the tiny case over the workspace."""
    folder = root / "reference" / "greet" / overlay
    return priced(overlay_turns(folder, dialect=dialect))


def real_root(folder: Path, case: str, arms: tuple[str, ...]) -> Path:
    """A root with one real case, its proof, and git's history of this repository."""
    for name in ("cases", "graders", "reference"):
        shutil.copytree(REPOSITORY / name, folder / name)
    (folder / "runs").mkdir()
    found = subprocess.run(
        ["git", "-C", REPOSITORY, "rev-parse", "--absolute-git-dir"],
        check=True,
        capture_output=True,
        text=True,
    )
    (folder / ".git").write_text(f"gitdir: {found.stdout}")
    with (folder / "cases" / "corpora.toml").open("a") as corpora:
        corpora.write(
            f"\n[one]\ncases = {json.dumps([case])}\n"
            f"arms = {json.dumps(arms)}\nrepeats = 1\n"
        )
    box = sandbox.open_box("bwrap", allow_unsandboxed=False)
    (verdict,) = proof.verify(folder, [case], box=box, n_workers=2, seed=1)
    assert verdict.holds, verdict
    return folder


def plan(url: str, corpus: str = "tiny", **changes: object) -> Plan:
    """A plan with a real agent: one trial of the arm `full`, of the tiny corpus."""
    chosen = {
        "agent": "claude",
        "provider_url": url,
        "arms": ("full",),
        "repeats": 1,
        "limits": limits(),
        **changes,
    }
    return msgspec.structs.replace(tinyroot.plan(**chosen), corpus=corpus)


def limits(**changes: int | float) -> Limits:
    """Limits with a short pause before a trial is tried again."""
    return Limits(**{"call_timeout_ms": 120_000, "retry_wait_ms": 10, **changes})


def seal(root: Path, chosen: Plan) -> Path:
    """Seal a plan; the run's folder."""
    return planning.seal_plan(chosen, root, now=running.utc_now)


def carry_out(root: Path, chosen: Plan, *, n_workers: int = 1) -> Path:
    """Seal and carry out a plan; the run's folder."""
    run = seal(root, chosen)
    running.run_plan(run, root, n_workers=n_workers)
    return run


def bodies(run: Path) -> list:
    """What was journaled."""
    return [event.body for event in read_journal(run / "journal.jsonl").events]


def results(run: Path) -> list[TrialResult]:
    """The results in the journal."""
    return [body.result for body in bodies(run) if isinstance(body, AttemptEnded)]


def steps(run: Path) -> list[StepResult]:
    """The steps of all results."""
    return [step for result in results(run) for step in result.steps]


def used(run: Path) -> dict[str, int]:
    """Tokens in the journal, of all attempts, by class."""
    found: Counter = Counter()
    for step in steps(run):
        for request in step.requests:
            found.update({name: getattr(request, name) for name in CLASSES})
    return {name: found[name] for name in CLASSES}


def everything(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Each file below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path, path.read_bytes()


def _raise_loopback() -> None:
    """Bring up the loopback of a network that has just been made."""
    flags = struct.pack("16sh14x", b"lo", IFF_UP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, flags)


def direct(root: Path) -> None:
    """Carry out a run without a gateway, in a network that holds nothing but us."""
    _raise_loopback()
    with provider(root / "stub", always(*greets(root))) as stub:
        chosen = plan(stub.url, access=Access.DIRECT, allow_credentialed_tools=True)
        run = carry_out(root, chosen)
        print(json.dumps({"run": str(run), "served": stub.served()}))


def reached(folder: Path) -> None:
    """Start Codex with its configuration, and let its own log tell where it went."""
    _raise_loopback()
    with provider(folder / "stub", always({"text": "Done."})) as stub:
        config = codex.CONFIG.format(
            model='"any"', effort="", url=json.dumps(f"{stub.url}/v1"), key=codex.KEY
        )
        (folder / "config.toml").write_text(config)
        given = ("exec", "--json", "--skip-git-repo-check", "--", "Do nothing.")
        told = subprocess.run(
            [codex.find().path, *given],
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(folder),
                "CODEX_HOME": str(folder),
                "RUST_LOG": "debug",
                codex.KEY: CREDENTIAL,
            },
        )
        found = re.findall(r"starting new connection: (\S+)", told.stderr)
        print(json.dumps({"reached": sorted(set(found)), "url": f"{stub.url}/"}))


if __name__ == "__main__":
    {"direct": direct, "reached": reached}[sys.argv[1]](Path(sys.argv[2]))
