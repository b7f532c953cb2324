"""The programs under test: one adapter each, and the table of them.

To add an agent, write a module with an adapter that fulfils `Agent`, and add a
row to `AGENTS` and one to `READERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evalkit.agents import claude
from evalkit.agents.protocol import Agent, Command, Reader, Reading, Task
from evalkit.agents.scripted import open_scripted
from evalkit.errors import InputError
from evalkit.records import Plan

__all__ = [
    "AGENTS",
    "READERS",
    "Agent",
    "Command",
    "Reader",
    "Reading",
    "Task",
    "open_agent",
    "open_reader",
]

AGENTS: dict[str, Callable[[Plan, Path], Agent]] = {"scripted": open_scripted}
"""How each agent is opened for a plan and a root, by its name."""
READERS: dict[str, Reader] = {"scripted": claude}
"""What reads each agent's evidence, also where the agent itself is not at hand."""


def open_agent(plan: Plan, root: Path) -> Agent:
    """Open the agent a plan names.

    Raises:
        InputError: There is no such agent here, or what it needs is wrong.
    """
    if plan.agent not in AGENTS:
        raise InputError(
            "agent",
            expected=f"one of those this version can run: {', '.join(sorted(AGENTS))}",
            found=repr(plan.agent),
            cure="name one of these; agents that call a real model come later",
        )
    return AGENTS[plan.agent](plan, root)


def open_reader(name: str) -> Reader:
    """What reads the evidence of an agent.

    Raises:
        InputError: This version knows no such agent.
    """
    if name not in READERS:
        raise InputError(
            "agent",
            expected=f"one whose evidence this version reads: {', '.join(READERS)}",
            found=repr(name),
            cure="use the version of evalkit that carried out the run",
        )
    return READERS[name]
