"""Carries out a run with a hostile agent, inside an outer namespace.

    python hostility.py '{...}'

Each trial's agent does another deed (see `attacks/agent/program.py`). Says what the
agents told, what became of the run, and what is left on the machine.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import outerbox
import referee
import tinyroot

from evalkit import agents, files, run, standing
from evalkit import plan as planning
from evalkit.agents import claude
from evalkit.agents.protocol import Command, Reading, Task
from evalkit.errors import EvalkitError
from evalkit.journal import read_journal
from evalkit.process import Finished
from evalkit.records import AgentSeal, AttemptEnded, Exchange

DEEDS = {
    ("baseline", 1): "look",
    ("baseline", 2): "litter",
    ("baseline", 3): "linger",
    ("full", 1): "bomb",
    ("full", 2): "fill",
    ("full", 3): "shout",
}
PROGRAMS = outerbox.REPOSITORY / "tests" / "attacks" / "agent"


class Hostile:
    """An adapter like any other; its program is not."""

    config_home = claude.CONFIG_HOME
    sessions = claude.SESSIONS
    simulated = True
    vendor = None
    selects = False
    watched = ()

    def seal(self) -> AgentSeal:
        return AgentSeal(
            name="hostile",
            version="1",
            sha256=files.file_digest(PROGRAMS / "program.py"),
            executable="tests/attacks/agent/program.py",
            simulated=True,
            policy=None,
        )

    def command(self, task: Task) -> Command:
        for path in PROGRAMS.glob("*.py"):
            entry = files.Entry(path.name, path.read_bytes())
            files.write_entries((entry,), task.place.staging.host)
        deed = DEEDS[task.key.arm, task.key.repeat]
        program = f"{task.place.staging.seen}/program.py"
        words = (program, deed, str(referee.PORT), str(referee.SOCKET))
        return Command(
            argv=(sys.executable, "-S", "-B", *words), env=claude.environment(task)
        )

    def read(
        self,
        stdout: Path,
        session: Path | None,
        finished: Finished,
        exchanges: tuple[Exchange, ...] = (),
    ) -> Reading:
        return claude.read(stdout, session, finished, exchanges)


def main() -> dict[str, Any]:
    agents.AGENTS["hostile"] = lambda _plan, _root: Hostile()
    os.environ["OPERATOR_SECRET"] = referee.CANARY
    referee.strew_canaries()
    root = tinyroot.make(Path(f"/tmp/{referee.CANARY}/root"))
    tinyroot.prove(root)
    plan = tinyroot.plan(
        agent="hostile", arms=("full", "baseline"), repeats=3, comparators=()
    )
    with referee.listeners() as callers:
        folder = planning.seal_plan(plan, root, now=run.utc_now)
        places = Path("/tmp"), Path("/dev/shm")
        before = referee.files_seen(*places)
        try:
            status = run.run_plan(folder, root)
        except EvalkitError as error:
            said = [p.read_text() for p in folder.rglob("agent.stderr")]
            sys.exit(f"{error}; agents said: {said}")
        after = referee.files_seen(*places)
        return {
            "status": {"state": status.state, "done": status.n_done},
            "n_planned": status.n_planned,
            "n_attempts": status.n_attempts,
            "trials": dict(map(described, results(folder))),
            "told": {deed: told(folder, key) for key, deed in DEEDS.items()},
            "observed": observed(folder),
            "kept_secrets": secrets(folder),
            "callers": callers,
            "left_processes": referee.left_processes(ours="evalkit.grading"),
            "changed_files": [
                path
                for path in referee.changed(before, after)
                if not path.startswith(str(folder))
            ],
        }


def results(folder: Path) -> list[Any]:
    events = read_journal(folder / standing.JOURNAL).events
    return [e.body.result for e in events if isinstance(e.body, AttemptEnded)]


def described(result: Any) -> tuple[str, dict[str, Any]]:
    (step,) = result.steps
    return DEEDS[result.key.arm, result.key.repeat], {
        "outcome": result.outcome.value,
        "ended": step.calls[0].ended.value,
        "detail": step.calls[0].detail,
        "died": step.grade.died,
        "failing": {c.id: c.reason for c in step.grade.checks if not c.passed},
        "requests": len(step.requests),
    }


def evidence(folder: Path, key: tuple[str, int]) -> Path:
    (found,) = (folder / "trials" / f"greet.{key[0]}.r{key[1]}").glob("1/*/")
    return found


def told(folder: Path, key: tuple[str, int]) -> dict[str, Any]:
    with (evidence(folder, key) / "agent.stdout.jsonl").open(errors="replace") as rows:
        lines = [row for row in rows if row.startswith('{"type": "system"')]
    report = json.loads(lines[0])["report"] if lines else {}
    left_out = json.loads((evidence(folder, key) / "left_out.json").read_text())
    session = json.loads((evidence(folder, key) / "session_left_out.json").read_text())
    return {"report": report, "left_out": left_out, "session_left_out": session}


def observed(folder: Path) -> dict[str, Any]:
    """What the program delivered by `look` saw while it was graded."""
    answers = evidence(folder, ("baseline", 1)) / "answers.jsonl"
    for line in answers.read_text().splitlines():
        row = json.loads(line)
        if row.get("q", {}).get("op") == "call":
            return json.loads(row["a"]["answer"][0]["result"])
    return {}


def secrets(folder: Path) -> list[str]:
    """Files of the run that hold an operator's secret."""
    words = [referee.CANARY.encode(), b"root:x:0:"]
    return [
        str(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and any(word in path.read_bytes() for word in words)
        and path.name not in {"registration.json"}
    ]


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    outerbox.refuse_outside(asked)
    json.dump(main(), sys.stdout)
