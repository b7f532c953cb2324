"""Any program: started by a command line of the user's, read as far as it speaks."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import cast

from evalkit import files, process, sandbox
from evalkit.agents import claude, codex, common, faults, reach
from evalkit.agents.protocol import Command, Reader, Reading, Task
from evalkit.errors import InputError
from evalkit.process import Finished
from evalkit.records import (
    AgentSeal,
    Dialect,
    Ended,
    Exchange,
    Output,
    Plan,
    Program,
)
from evalkit.sandbox import Mount
from evalkit.wording import NOT_REPORTED

READERS: dict[Output, ModuleType] = {Output.CLAUDE: claude, Output.CODEX: codex}
SESSIONS = {
    Output.CLAUDE: "projects",
    Output.CODEX: "sessions",
    Output.NONE: "sessions",
}
"""Where programs leave session files, in the folder of their configuration."""
VARIABLES = {
    Dialect.ANTHROPIC: ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", ""),
    Dialect.OPENAI: ("OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1"),
}
"""Where programs look for address and credential, and what follows the address."""
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
"""What stands in every sandbox, so that nothing is bound over it."""


class SilentReader:
    """Reads a program that says nothing of itself: exit code and gateway only."""

    def read(
        self,
        stdout: Path,
        session: Path | None,  # noqa: ARG002 - as every reader
        finished: Finished,
        exchanges: tuple[Exchange, ...] = (),
    ) -> Reading:
        """What one call's evidence says; see `agents.Reader`."""
        ended, detail = Ended.FINISHED, ""
        stopped = faults.stopped_by_us(finished, exchanges)
        if stopped:
            ended, detail = stopped
        elif finished.exit_code != 0:
            n_lines = stdout.read_bytes().count(b"\n")
            ended, detail = faults.unfinished(finished, exchanges, n_lines)
        model = exchanges[0].model if exchanges else None
        return common.reading((ended, detail), finished, exchanges, model=model)

    def read_answer(self, stdout: Path) -> str | None:  # noqa: ARG002 - as every reader
        """None: it is never asked."""
        return None


class CommandAgent:
    """The adapter of a command line.

    Args:
        plan: Names the program, and how it reaches a model.
        program: The command line.
        path: Its executable.
    """

    selects = False

    def __init__(self, plan: Plan, program: Program, path: Path) -> None:
        self._plan = plan
        self._program = program
        self._path = path
        self._reader = reader_of(program)
        self.config_home = program.config_home
        self.sessions = f"{program.config_home}/{SESSIONS[program.output]}"
        self.vendor = reach.VENDORS[program.dialect] if program.dialect else None
        self.watched = (path, *map(Path, program.binds))
        self.simulated = self.vendor is not None and reach.stands_in(plan, self.vendor)

    def seal(self) -> AgentSeal:
        """What is registered of it; its bound folders are part of its digest."""
        parts = [files.file_digest(self._path), *map(_digest, self._program.binds)]
        vendor = self.vendor
        return AgentSeal(
            name="command",
            version=NOT_REPORTED,
            sha256=parts[0] if len(parts) == 1 else files.sha256(repr(parts).encode()),
            executable=self._path.name,
            simulated=self.simulated,
            provider=reach.provider_url(self._plan, vendor) if vendor else None,
            access=self._plan.access if vendor else None,
        )

    def command(self, task: Task) -> Command:
        """How to start it for a task."""
        home = task.place.home
        values = {
            "prompt": task.prompt,
            "model": task.model,
            "workspace": task.place.workspace.seen,
            "home": home.seen,
            "url": task.endpoint.url if task.endpoint else "",
        }
        words = process.fill(self._program.argv[1:], values)
        binds = {str(self._path), *self._program.binds}
        path = f"{Path(sandbox.python()).parent}:{common.SYSTEM_PATH}"
        shown = *SYSTEM, *(mount.seen for mount in sandbox.prefixes())
        return Command(
            argv=(str(self._path), *words),
            env={
                **common.environment(home, path=path),
                **self._access(task),
            },
            binds=tuple(
                Mount(Path(path), path)
                for path in sorted(binds)
                if not any(Path(path).is_relative_to(one) for one in shown)
            ),
        )

    def selection(self, task: Task, schema: str) -> Command:
        """It is never asked: nobody knows how to ask it."""
        raise NotImplementedError(f"{task.key}: a command is not asked for {schema}")

    def read(
        self,
        stdout: Path,
        session: Path | None,
        finished: Finished,
        exchanges: tuple[Exchange, ...] = (),
    ) -> Reading:
        """What one call's evidence says; see `agents.Reader`."""
        return self._reader.read(stdout, session, finished, exchanges)

    def read_answer(self, stdout: Path) -> str | None:
        """None: it is never asked."""
        return self._reader.read_answer(stdout)

    def _access(self, task: Task) -> dict[str, str]:
        if task.endpoint is None or self._program.dialect is None:
            return {}
        url, key, suffix = VARIABLES[self._program.dialect]
        return {
            url: task.endpoint.url + suffix,
            key: task.endpoint.credential.value,
        }


def open_command(plan: Plan, root: Path) -> CommandAgent:  # noqa: ARG001 - as every agent
    """Open the program that a plan gives as a command line.

    Raises:
        InputError: There is no command line, or its program or a bind is missing.
    """
    program = plan.program
    if program is None or not program.argv:
        raise InputError(
            "program",
            expected="a command line, [program] argv in the plan's file",
            found="none",
            cure="give the program and its arguments",
        )
    common.expect_effort(plan, ())
    found = process.find_program(program.argv[0])
    missing = [path for path in program.binds if not Path(path).exists()]
    if found is None or missing:
        raise InputError(
            "program",
            expected="a program that can be started, and binds that exist",
            found=f"no {missing[0] if missing else program.argv[0]}",
            cure="give absolute paths, or install it",
        )
    return CommandAgent(plan, program, Path(found))


def reader_of(program: Program | None) -> Reader:
    """What reads a program's evidence, by what it writes."""
    output = program.output if program else Output.NONE
    reader = READERS.get(output)
    return cast(Reader, reader) if reader else SilentReader()


def _digest(bind: str) -> str:
    path = Path(bind)
    return files.tree_digest(path) if path.is_dir() else files.file_digest(path)
