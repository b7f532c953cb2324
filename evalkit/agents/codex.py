"""Codex CLI, run unattended: our sandbox is around it, so its own stays off."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from evalkit import files
from evalkit.agents import common, faults, installed, reach
from evalkit.agents.protocol import Command, Reading, Task
from evalkit.errors import InputError
from evalkit.process import Finished
from evalkit.records import Ended, Exchange, Plan, Request
from evalkit.sandbox import Mount
from evalkit.transcript import codex as transcript

CONFIG_HOME = ".codex"
SESSIONS = f"{CONFIG_HOME}/sessions"
EXECUTABLE_SEEN = "/opt/codex/codex"
EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
LEGACY_ARM = "ecc-legacy"
KEY = "EVALKIT_MODEL_KEY"
"""Variable in which its configuration looks for the credential."""
CONFIG = """\
model = {model}
model_provider = "evalkit"
{effort}
[analytics]
enabled = false

[features]
plugins = false
unbounded_connection_retries = false

[skills.bundled]
enabled = false

[model_providers.evalkit]
name = "evalkit"
base_url = {url}
env_key = "{key}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""
"""Plugins would be fetched from elsewhere at each start, and waited for at its end."""
_SKILL_FILE = re.compile(r"skills/([A-Za-z0-9_-]+)/SKILL\.md")


class Codex(common.InstalledAgent):
    """The adapter of the CLI installed here."""

    name = "codex"
    config_home = CONFIG_HOME
    sessions = SESSIONS
    vendor = reach.OPENAI
    selects = False

    def command(self, task: Task) -> Command:
        """How to start it for a task; writes its configuration into the home."""
        home = task.place.home
        config = files.Entry("config.toml", self._config(task).encode())
        files.write_entries((config,), home.host / CONFIG_HOME)
        key = task.endpoint.credential.value if task.endpoint else ""
        return Command(
            argv=(
                *(EXECUTABLE_SEEN, "exec", "--json", "--skip-git-repo-check"),
                *("--dangerously-bypass-approvals-and-sandbox", "--", task.prompt),
            ),
            env={
                **common.environment(home),
                "CODEX_HOME": f"{home.seen}/{CONFIG_HOME}",
                KEY: key,
            },
            binds=(Mount(self._found.path, EXECUTABLE_SEEN),),
        )

    def selection(self, task: Task, schema: str) -> Command:
        """It is never asked: it has no way to answer without tools."""
        raise NotImplementedError(f"{task.key}: Codex is not asked for {schema}")

    def read(
        self,
        stdout: Path,
        session: Path | None,
        finished: Finished,
        exchanges: tuple[Exchange, ...] = (),
    ) -> Reading:
        """What one call's evidence says; see `agents.Reader`."""
        return read(stdout, session, finished, exchanges)

    def read_answer(self, stdout: Path) -> str | None:
        """None: it is never asked."""
        return read_answer(stdout)

    def _config(self, task: Task) -> str:
        effort = self._plan.effort
        url = task.endpoint.url if task.endpoint else ""
        return CONFIG.format(
            model=json.dumps(task.model),
            effort=f"model_reasoning_effort = {json.dumps(effort)}\n" if effort else "",
            url=json.dumps(f"{url}/v1"),
            key=KEY,
        )


def open_codex(plan: Plan, root: Path) -> Codex:  # noqa: ARG001 - as every agent
    """Open the CLI that is installed here.

    Raises:
        InputError: There is none, or the plan asks for what it cannot do.
    """
    if LEGACY_ARM in plan.arms:
        raise InputError(
            f"arm {LEGACY_ARM}",
            expected="an agent that this library can be installed for",
            found="codex, for which its early state had no way to be installed",
            cure="leave the arm out, or run another agent",
        )
    common.expect_effort(plan, EFFORTS)
    return Codex(plan, find(plan.executable))


def find(given: str | None = None) -> installed.Installed:
    """Find the CLI on this machine; see `installed.find`."""
    return installed.find("codex", given, wheel="codex_cli_bin", inside="bin/codex")


def read(
    stdout: Path,
    session: Path | None,
    finished: Finished,
    exchanges: tuple[Exchange, ...] = (),
) -> Reading:
    """What stream, rollouts and the gateway's rows say of a call."""
    model = exchanges[0].model if exchanges else ""
    with stdout.open("rb") as lines:
        told = transcript.parse(lines, model=model)
    rollouts: list[Request] = []
    for path in sorted(session.rglob("*.jsonl")) if session else ():
        with path.open("rb") as lines:
            rollouts += transcript.parse(lines, model=model).requests
    opened = [name for line in told.commands for name in _SKILL_FILE.findall(line)]
    return common.reading(
        how_it_ended(told, finished, exchanges),
        finished,
        exchanges,
        model=model or None,
        witnesses=(rollouts, told.turns),
        read=tuple(dict.fromkeys(opened)),
    )


def read_answer(stdout: Path) -> str | None:  # noqa: ARG001 - as every reader
    """None: it is never asked."""
    return None


def how_it_ended(
    told: transcript.CodexSession, finished: Finished, exchanges: Sequence[Exchange]
) -> tuple[Ended, str]:
    """How a call ended, and in words why, from exit facts, gateway and stream."""
    stopped = faults.stopped_by_us(finished, exchanges)
    if stopped:
        return stopped
    if told.completed and finished.exit_code == 0:
        return Ended.FINISHED, ""
    found = faults.unfinished(finished, exchanges, told.lines.n_lines)
    if found[0] is Ended.AGENT_ERROR and told.failure:
        return Ended.AGENT_ERROR, told.failure[: common.MAX_DETAIL]
    return found
