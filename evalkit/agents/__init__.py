"""The programs under test: one adapter each, and the table of them.

To add an agent, write a module with an adapter that fulfils `Agent`, and add a
row to `AGENTS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evalkit.agents.protocol import Agent, Command, Reading, Task
from evalkit.agents.scripted import open_scripted
from evalkit.errors import InputError
from evalkit.records import Plan

__all__ = ["AGENTS", "Agent", "Command", "Reading", "Task", "open_agent"]

AGENTS: dict[str, Callable[[Plan, Path], Agent]] = {"scripted": open_scripted}
"""How each agent is opened for a plan and a root, by its name."""


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
