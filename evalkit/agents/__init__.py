"""The programs under test: one adapter each, and the table of them.

To add an agent, write a module with an adapter that fulfils `Agent`, and add a
row to `AGENTS` and one to `READERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evalkit.agents import claude, codex, reach
from evalkit.agents.claude import open_claude
from evalkit.agents.codex import open_codex
from evalkit.agents.command import open_command, reader_of
from evalkit.agents.protocol import (
    Agent,
    Command,
    Credential,
    Endpoint,
    Reader,
    Reading,
    Task,
    Vendor,
)
from evalkit.agents.scripted import open_scripted
from evalkit.errors import InputError
from evalkit.records import Plan

__all__ = [
    "AGENTS",
    "READERS",
    "Agent",
    "Command",
    "Credential",
    "Endpoint",
    "Reader",
    "Reading",
    "Task",
    "Vendor",
    "open_agent",
    "open_reader",
    "reach",
]

AGENTS: dict[str, Callable[[Plan, Path], Agent]] = {
    "claude": open_claude,
    "codex": open_codex,
    "command": open_command,
    "scripted": open_scripted,
}
"""How each agent is opened for a plan and a root, by its name."""
READERS: dict[str, Callable[[Plan], Reader]] = {
    "claude": lambda _: claude,
    "codex": lambda _: codex,
    "command": lambda plan: reader_of(plan.program),
    "scripted": lambda _: claude,
}
"""What reads each agent's evidence, also where the agent itself is not at hand."""


def open_agent(plan: Plan, root: Path) -> Agent:
    """Open the agent a plan names.

    Raises:
        InputError: There is no such agent here, or what it needs is wrong.
    """
    if plan.agent not in AGENTS:
        raise InputError(
            "agent",
            expected=f"one of those this version can run: {', '.join(AGENTS)}",
            found=repr(plan.agent),
            cure="name one of these; `command` runs any program",
        )
    if not plan.model.strip() or not plan.model.isprintable():
        raise InputError(
            "model",
            expected="the name of a model",
            found=repr(plan.model),
            cure="name the one the agent is to use",
        )
    if plan.provider_url is not None:
        reach.check_url(plan.provider_url)
    agent = AGENTS[plan.agent](plan, root)
    if agent.vendor is None:
        reach.check_caps(plan, held=False)
    else:
        reach.check_consent(plan, agent.vendor)
    return agent


def open_reader(plan: Plan) -> Reader:
    """What reads the evidence of a plan's agent.

    Raises:
        InputError: This version knows no such agent.
    """
    if plan.agent not in READERS:
        raise InputError(
            "agent",
            expected=f"one whose evidence this version reads: {', '.join(READERS)}",
            found=repr(plan.agent),
            cure="use the version of evalkit that carried out the run",
        )
    return READERS[plan.agent](plan)
