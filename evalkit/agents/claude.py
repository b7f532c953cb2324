"""Claude Code, and any program that takes its arguments and speaks its stream-json.

The command is for an unattended run in a sandbox: nothing asks, no settings of
the workspace are obeyed, no bundled skills, no retries behind our back.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from evalkit import transcript
from evalkit.agents import common, faults, installed, reach
from evalkit.agents.protocol import Command, Endpoint, Reading, Task
from evalkit.process import Finished
from evalkit.records import Ended, Exchange, Plan
from evalkit.sandbox import Mount
from evalkit.transcript import End, Session

CONFIG_HOME = ".claude"
SESSIONS = f"{CONFIG_HOME}/projects"
TOOLS = ("Bash", "Edit", "Glob", "Grep", "Read", "Skill", "Write")
BUNDLED_SKILLS = ("doctor", "plugin-authoring")
"""Those that stay when bundled skills are switched off; switched off by name."""

QUIET = {
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
EFFORTS = ("low", "medium", "high", "xhigh", "max")
EXECUTABLE_SEEN = "/opt/claude/claude"
SELECTOR = "You choose at most one skill for a task. Answer with JSON alone."
NAMED_FAULTS = {
    "authentication_failed": Ended.LOGIN_FAILED,
    "rate_limit": Ended.PROVIDER_FAULT,
    "server_error": Ended.PROVIDER_FAULT,
    "model_not_found": Ended.MODEL_MISSING,
    "max_output_tokens": Ended.AGENT_LIMIT,
}
"""What the CLI's own name for an API failure says about how the call ended."""

TERMINAL_REASONS = {
    "max_turns": Ended.AGENT_LIMIT,
    "budget_exhausted": Ended.AGENT_LIMIT,
    "prompt_too_long": Ended.AGENT_ERROR,
}


class Claude(common.InstalledAgent):
    """The adapter of the CLI installed here."""

    name = "claude"
    config_home = CONFIG_HOME
    sessions = SESSIONS
    vendor = reach.ANTHROPIC
    selects = True

    def command(self, task: Task) -> Command:
        """How to start it for a task."""
        given = arguments(task.prompt, task.model, effort=self._plan.effort)
        return self._command(task, given)

    def selection(self, task: Task, schema: str) -> Command:
        """How to ask it which skill to take."""
        return self._command(task, selection_arguments(task.prompt, task.model, schema))

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
        """What a selection call answered; see `agents.Reader`."""
        return read_answer(stdout)

    def _command(self, task: Task, given: tuple[str, ...]) -> Command:
        return Command(
            argv=(EXECUTABLE_SEEN, *given),
            env=environment(task),
            binds=(Mount(self._found.path, EXECUTABLE_SEEN),),
        )


def open_claude(plan: Plan, root: Path) -> Claude:  # noqa: ARG001 - as every agent
    """Open the CLI that is installed here.

    Raises:
        InputError: There is none, or it does not take what the plan asks for.
    """
    common.expect_effort(plan, EFFORTS)
    return Claude(plan, find(plan.executable))


def find(given: str | None = None) -> installed.Installed:
    """Find the CLI on this machine; see `installed.find`."""
    return installed.find(
        "claude", given, wheel="claude_agent_sdk", inside="_bundled/claude"
    )


def arguments(prompt: str, model: str, *, effort: str | None = None) -> tuple[str, ...]:
    """The CLI's arguments for a task, without the program."""
    off = {"skillOverrides": dict.fromkeys(BUNDLED_SKILLS, "off")}
    return (
        *("-p", prompt),
        *("--model", model),
        *("--output-format", "stream-json"),
        "--verbose",
        *("--permission-mode", "dontAsk"),
        *("--allowedTools", ",".join(TOOLS)),
        *("--setting-sources", "user"),
        *("--settings", json.dumps(off, separators=(",", ":"))),
        *(("--effort", effort) if effort else ()),
    )


def selection_arguments(prompt: str, model: str, schema: str) -> tuple[str, ...]:
    """The CLI's arguments for a question that only chooses, without the program."""
    return (
        *("-p", prompt),
        *("--model", model),
        *("--output-format", "stream-json"),
        "--verbose",
        *("--tools", ""),
        *("--system-prompt", SELECTOR),
        *("--setting-sources", ""),
        "--strict-mcp-config",
        "--no-session-persistence",
        *("--json-schema", schema),
    )


def environment(task: Task) -> dict[str, str]:
    """The agent's whole environment; nothing of the caller's own gets in."""
    return {
        **common.environment(task.place.home),
        "CLAUDE_CONFIG_DIR": f"{task.place.home.seen}/{CONFIG_HOME}",
        **QUIET,
        **_access(task.endpoint),
    }


def read(
    stdout: Path,
    session: Path | None,
    finished: Finished,
    exchanges: tuple[Exchange, ...] = (),
) -> Reading:
    """What the stream, the session files and the gateway's rows say of a call."""
    with stdout.open("rb") as lines:
        told = transcript.parse(lines)
    found = told
    for path in sorted(session.rglob("*.jsonl")) if session else ():
        with path.open("rb") as lines:
            found = transcript.combine(found, transcript.parse(lines))
    return common.reading(
        how_it_ended(told, finished, exchanges),
        finished,
        exchanges,
        model=found.model,
        witnesses=found.witnesses(),
        agent_reported_usd=found.end.total_cost_usd if found.end else None,
        invoked=found.invoked,
        read=found.read,
    )


def read_answer(stdout: Path) -> str | None:
    """The JSON a selection call answered, or None where it ended without."""
    with stdout.open("rb") as lines:
        end = transcript.parse(lines).end
    if end is None or end.is_error:
        return None
    if end.structured_output is not None:
        return msgspec.json.encode(end.structured_output).decode()
    return end.text


def how_it_ended(
    told: Session, finished: Finished, exchanges: tuple[Exchange, ...] = ()
) -> tuple[Ended, str]:
    """How a call ended, and in words why, from exit facts, gateway and stream.

    `subtype` is never asked: it says success also where every request failed.
    """
    stopped = faults.stopped_by_us(finished, exchanges)
    if stopped:
        return stopped
    end = told.end
    if end is None:
        return faults.unfinished(finished, exchanges, told.lines.n_lines)
    if not end.is_error:
        if finished.exit_code == 0:
            return Ended.FINISHED, ""
        return Ended.AGENT_ERROR, f"exit {finished.exit_code} after its result"
    return _failed(told, end, exchanges), end.text.partition("\n")[0][
        : common.MAX_DETAIL
    ]


def _failed(told: Session, end: End, exchanges: tuple[Exchange, ...]) -> Ended:
    if end.stop_reason == "refusal":
        return Ended.REFUSED
    by_reason = TERMINAL_REASONS.get(end.terminal_reason or "")
    fault = faults.last_fault(exchanges)
    named = NAMED_FAULTS.get(told.error or "", Ended.AGENT_ERROR)
    return by_reason or (fault[0] if fault else named)


def _access(endpoint: Endpoint | None) -> dict[str, str]:
    if endpoint is None:
        return {}
    name = "ANTHROPIC_API_KEY"
    if endpoint.credential.header == "authorization":
        name = "ANTHROPIC_AUTH_TOKEN"
    return {"ANTHROPIC_BASE_URL": endpoint.url, name: endpoint.credential.value}
