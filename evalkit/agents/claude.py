"""Any program that takes Claude Code's arguments and speaks its stream-json.

The command is for an unattended run in a sandbox: nothing asks, no settings of
the workspace are obeyed, no bundled skills, no retries behind our back.
"""

from __future__ import annotations

import json
from pathlib import Path

from evalkit import transcript, usage
from evalkit.agents.protocol import Command, Reading, Task
from evalkit.process import Finished
from evalkit.records import Call, Ended
from evalkit.transcript import Session

CONFIG_HOME = ".claude"
TEMPORARY = "tmp"
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
KILLED = frozenset({-15, -9, -2, 130, 137, 143})
"""Exit codes of a process ended by SIGTERM, SIGKILL or SIGINT, or its sandbox's."""

NAMED_FAULTS = {
    "authentication_failed": Ended.LOGIN_FAILED,
    "rate_limit": Ended.PROVIDER_FAULT,
    "server_error": Ended.PROVIDER_FAULT,
    "model_not_found": Ended.PROVIDER_FAULT,
    "max_output_tokens": Ended.AGENT_LIMIT,
}
"""What the CLI's own name for an API failure says about how the call ended."""

TERMINAL_REASONS = {
    "max_turns": Ended.AGENT_LIMIT,
    "budget_exhausted": Ended.AGENT_LIMIT,
    "prompt_too_long": Ended.AGENT_ERROR,
}


class Claude:
    """Adapter for an executable, given as the first words of its command."""

    config_home = CONFIG_HOME

    def __init__(self, executable: tuple[str, ...]) -> None:
        self._executable = executable

    def command(self, task: Task) -> Command:
        """How to start it for a task."""
        return Command(
            argv=(*self._executable, *arguments(task.prompt, task.model)),
            env=environment(task),
        )

    def read(self, stdout: Path, session: Path | None, finished: Finished) -> Reading:
        """What one call's evidence says; see `agents.Agent.read`."""
        return read(stdout, session, finished)


def arguments(prompt: str, model: str) -> tuple[str, ...]:
    """The CLI's arguments, without the program."""
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
    )


def environment(task: Task) -> dict[str, str]:
    """The agent's whole environment; nothing of the caller's own gets in."""
    (task.place.home.host / TEMPORARY).mkdir(exist_ok=True)
    home = task.place.home.seen
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": home,
        "CLAUDE_CONFIG_DIR": f"{home}/{CONFIG_HOME}",
        "TMPDIR": f"{home}/{TEMPORARY}",
        "LANG": "C.UTF-8",
        **QUIET,
    }


def read(stdout: Path, session: Path | None, finished: Finished) -> Reading:
    """What the stream, and the session files where there are any, say of a call."""
    with stdout.open("rb") as lines:
        told = transcript.parse(lines)
    found = told
    for path in sorted(session.rglob("*.jsonl")) if session else ():
        with path.open("rb") as lines:
            found = transcript.combine(found, transcript.parse(lines))
    settled = usage.settle(found.witnesses())
    ended, detail = how_it_ended(told, finished)
    return Reading(
        call=Call(
            purpose="task",
            ended=ended,
            exit_code=finished.exit_code,
            wall_s=finished.wall_s,
            cpu_s=finished.cpu_s,
            detail=detail,
            model=found.model,
            agent_reported_usd=found.end.total_cost_usd if found.end else None,
        ),
        requests=settled.requests,
        disagreement=settled.disagreement,
        invoked=found.invoked,
        read=found.read,
    )


def how_it_ended(told: Session, finished: Finished) -> tuple[Ended, str]:
    """How a call ended, and in words why, from exit facts and the stream.

    `subtype` is never asked: it says success also where every request failed.
    """
    end = told.end
    if finished.timed_out or finished.excess or end is None:
        return _cut_short(told, finished)
    if not end.is_error:
        if finished.exit_code == 0:
            return Ended.FINISHED, ""
        return Ended.AGENT_ERROR, f"exit {finished.exit_code} after its result"
    detail = end.text.partition("\n")[0][:200]
    if end.stop_reason == "refusal":
        return Ended.REFUSED, detail
    by_reason = TERMINAL_REASONS.get(end.terminal_reason or "")
    return by_reason or NAMED_FAULTS.get(told.error or "", Ended.AGENT_ERROR), detail


def _cut_short(told: Session, finished: Finished) -> tuple[Ended, str]:
    code = finished.exit_code
    if finished.timed_out:
        return Ended.TIMED_OUT, "the call's time was up"
    if finished.excess:
        return Ended.AGENT_LIMIT, finished.excess
    if code in KILLED:
        return Ended.INTERRUPTED, f"exit {code} before its result"
    if finished.truncated:
        return Ended.AGENT_LIMIT, "its output passed the cap"
    if told.n_lines == 0 and code != 0:
        return Ended.SANDBOX_FAULT, f"it did not start: exit {code}; see agent.stderr"
    return Ended.AGENT_ERROR, f"exit {code} without a result"
