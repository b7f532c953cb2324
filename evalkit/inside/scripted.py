"""The scripted agent: types out a script the way Claude Code reports its work.

Runs inside the sandbox, with the standard library alone. Beside it lie
`script.json` and, in `files/`, what it is to write. It takes the real program's
arguments and refuses others, so that a run of it shows the adapter to be right.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time

gc.freeze()  # what is imported stays: at the end nothing of it is worth looking for
TYPE_CHECKING = False  # typing's own would cost its import
if TYPE_CHECKING:
    from typing import Any, TextIO

    Done = tuple[dict[str, Any], str, str | None]

VALUES = {
    "--output-format": "stream-json",
    "--permission-mode": "dontAsk",
    "--setting-sources": "user",
}
HERE = os.path.dirname(os.path.abspath(__file__))


class BrokenError(Exception):
    """The arguments, the environment or the script are not as they must be."""


def main(argv: list[str]) -> int:
    """Carry out the script; 0, or 2 where something is not as it must be."""
    try:
        script = load_script()
        options = parse_arguments(argv, script["model"])
        config = os.environ["CLAUDE_CONFIG_DIR"]
        Typist(script, options, config).carry_out()
    except (BrokenError, OSError, ValueError, KeyError, TypeError) as error:
        print(f"scripted: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


def load_script() -> dict[str, Any]:
    """The script beside this file."""
    with open(os.path.join(HERE, "script.json"), encoding="utf-8") as opened:
        return json.load(opened)


def parse_arguments(argv: list[str], model: str) -> dict[str, Any]:
    """Options by name; raises BrokenError unless they are those of the adapter."""
    known = {"-p", "--model", "--allowedTools", "--settings", *VALUES}
    options: dict[str, Any] = {}
    rest = list(argv)
    while rest:
        name = rest.pop(0)
        if name == "--verbose":
            options[name] = True
        elif name in known and rest:
            options[name] = rest.pop(0)
        else:
            raise BrokenError(f"argument {name!r} is unknown or lacks its value")
    missing = sorted((known | {"--verbose"}) - set(options))
    if missing:
        raise BrokenError(f"arguments missing: {', '.join(missing)}")
    for name, wanted in {**VALUES, "--model": model}.items():
        if options[name] != wanted:
            raise BrokenError(f"{name}: expected {wanted!r}, found {options[name]!r}")
    if not isinstance(json.loads(options["--settings"]), dict):
        raise BrokenError("--settings: expected a JSON object")
    return options


class Typist:
    """Does what the script says, and reports it on stdout and in a session file."""

    def __init__(
        self, script: dict[str, Any], options: dict[str, Any], config: str
    ) -> None:
        """Take a script, the arguments by name, and the config home's path."""
        self.script = script
        self.prompt = options["-p"]
        self.allowed = options["--allowedTools"].split(",")
        self.config = config
        self.cwd = os.getcwd()
        self.n_rows = 0
        self.session = self.open_session()

    def carry_out(self) -> None:
        """Type out all turns, then the result."""
        self.init()
        self.keep("user", message={"role": "user", "content": self.prompt})
        turns = self.script["turns"]
        for turn in turns:
            time.sleep(turn["latency_ms"] / 1000)
            reason = "end_turn" if turn is turns[-1] else "tool_use"
            self.say(turn, {"type": "text", "text": turn["text"]}, reason)
            for n, use in enumerate(turn["uses"]):
                if use["tool"] not in self.allowed:
                    raise BrokenError(f"tool {use['tool']} is not in --allowedTools")
                self.use(turn, use, f"toolu_{turn['id'][4:]}{n:03}", reason)
        self.result(turns)
        self.session.close()

    def init(self) -> None:
        """Report what was found at the start."""
        skills = os.path.join(self.config, "skills")
        found = sorted(os.listdir(skills)) if os.path.isdir(skills) else []
        self.emit(
            "system",
            subtype="init",
            cwd=self.cwd,
            tools=self.allowed,
            model=self.script["model"],
            permissionMode="dontAsk",
            claude_code_version=self.script["version"],
            skills=found,
        )

    def say(self, turn: dict[str, Any], block: dict[str, Any], reason: str) -> None:
        """Report one content block; only the session file has the final usage."""
        message = {
            "id": turn["id"],
            "type": "message",
            "role": "assistant",
            "model": self.script["model"],
            "content": [block],
        }
        begun = {**turn["usage"], "output": min(1, turn["usage"]["output"])}
        self.emit(
            "assistant",
            message={**message, "stop_reason": None, "usage": as_usage(begun)},
            parent_tool_use_id=None,
        )
        final = {"stop_reason": reason, "usage": as_usage(turn["usage"])}
        self.keep("assistant", message={**message, **final})

    def use(
        self, turn: dict[str, Any], use: dict[str, Any], use_id: str, reason: str
    ) -> None:
        """Use a tool for real, and report the use and what came of it."""
        acts = {"Write": self.write, "Skill": self.launch, "Bash": self.look}
        given, said, injected = acts[use["tool"]](use["argument"])
        block = {"type": "tool_use", "id": use_id, "name": use["tool"], "input": given}
        self.say(turn, block, reason)
        outcome = {"type": "tool_result", "tool_use_id": use_id, "content": said}
        self.hear([outcome])
        if injected is not None:
            self.hear([{"type": "text", "text": injected}])

    def write(self, path: str) -> Done:
        """Write a staged file into the workspace."""
        source = os.path.join(HERE, "files", path)
        target = os.path.join(self.cwd, path)
        with open(source, "rb") as opened:
            data = opened.read()
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as opened:
            opened.write(data)
        os.chmod(target, 0o755 if os.stat(source).st_mode & 0o100 else 0o644)
        given = {"file_path": target, "content": data.decode(errors="replace")}
        return given, f"File created successfully at: {target}", None

    def launch(self, name: str) -> Done:
        """Launch a skill: its body comes as text of the user."""
        base = os.path.join(self.config, "skills", name)
        with open(os.path.join(base, "SKILL.md"), encoding="utf-8") as opened:
            body = opened.read()
        injected = f"Base directory for this skill: {base}\n\n{body}"
        return {"skill": name}, f"Launching skill: {name}", injected

    def look(self, command: str) -> Done:
        """List the workspace, whatever the command."""
        return {"command": command}, "\n".join(sorted(os.listdir(self.cwd))), None

    def hear(self, content: list[dict[str, Any]]) -> None:
        """Report what came back to the model."""
        message = {"role": "user", "content": content}
        self.emit("user", message=message, parent_tool_use_id=None)
        self.keep("user", message=message)

    def result(self, turns: list[dict[str, Any]]) -> None:
        """Sum up as the real program does."""
        total = {
            name: sum(turn["usage"][name] for turn in turns)
            for name in turns[0]["usage"]
        }
        waited_ms = sum(turn["latency_ms"] for turn in turns)
        facts: dict[str, Any] = {
            "subtype": "success",
            "is_error": False,
            "duration_ms": waited_ms,
            "duration_api_ms": waited_ms,
            "num_turns": 1 + sum(len(turn["uses"]) for turn in turns),
            "result": turns[-1]["text"],
            "stop_reason": "end_turn",
            "terminal_reason": "completed",
            "api_error_status": None,
            "permission_denials": [],
            "usage": as_usage(total),
            "modelUsage": {
                self.script["model"]: {
                    "inputTokens": total["input"],
                    "outputTokens": total["output"],
                    "cacheReadInputTokens": total["read"],
                    "cacheCreationInputTokens": total["write_5m"] + total["write_1h"],
                    "cacheCreationEphemeral5mInputTokens": total["write_5m"],
                    "cacheCreationEphemeral1hInputTokens": total["write_1h"],
                }
            },
        }
        if self.script["cost_usd"] is not None:
            facts["total_cost_usd"] = self.script["cost_usd"]
        self.emit("result", **facts)

    def open_session(self) -> TextIO:
        """The session file, where the real program keeps its own."""
        plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.cwd)
        folder = os.path.join(self.config, "projects", plain)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{self.script['session_id']}.jsonl")
        return open(path, "w", encoding="utf-8")

    def emit(self, kind: str, **facts: Any) -> None:
        """Write one line to stdout."""
        row = {"type": kind, **facts, "session_id": self.script["session_id"]}
        print(json.dumps({**row, "uuid": self.next_uuid()}), flush=True)

    def keep(self, kind: str, **facts: Any) -> None:
        """Write one line to the session file."""
        row = {"type": kind, **facts, "sessionId": self.script["session_id"]}
        row |= {"uuid": self.next_uuid(), "cwd": self.cwd, "isSidechain": False}
        print(json.dumps(row), file=self.session, flush=True)

    def next_uuid(self) -> str:
        """An id of a row that is the same in every run of a script."""
        self.n_rows += 1
        return f"{self.script['session_id'][:24]}{self.n_rows:012x}"


def as_usage(counts: dict[str, int]) -> dict[str, Any]:
    """Usage in the API's words."""
    return {
        "input_tokens": counts["input"],
        "cache_creation_input_tokens": counts["write_5m"] + counts["write_1h"],
        "cache_read_input_tokens": counts["read"],
        "cache_creation": {
            "ephemeral_5m_input_tokens": counts["write_5m"],
            "ephemeral_1h_input_tokens": counts["write_1h"],
        },
        "output_tokens": counts["output"],
        "service_tier": "standard",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
