"""What every agent adapter offers, and the records that pass through it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from evalkit.process import Finished
from evalkit.records import AgentSeal, Call, Network, Record, Request, Step, TrialKey
from evalkit.sandbox import Mount, Place


class Task(Record, frozen=True):
    """What an agent is asked to do. `seed` is the run's."""

    key: TrialKey
    step: Step
    prompt: str
    model: str
    place: Place
    seed: int


class Command(Record, frozen=True):
    """How an agent is started: paths as it sees them, its whole environment.

    `binds` are read-only mounts the adapter needs beside its staging folder.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    binds: tuple[Mount, ...] = ()
    network: Network = Network.NONE


class Reading(Record, frozen=True):
    """What a call's evidence says: how it ended, usage, and skills put to use."""

    call: Call
    requests: tuple[Request, ...]
    disagreement: str | None
    invoked: tuple[str, ...]
    read: tuple[str, ...]


class Reader(Protocol):
    """Says what the evidence of a call means; needs nothing of the program itself."""

    def read(self, stdout: Path, session: Path | None, finished: Finished) -> Reading:
        """What one call's evidence says; repeatable, from the evidence alone.

        Args:
            stdout: What the agent wrote to its standard output.
            session: Copy of its own session files, where it left any.
            finished: How its process ended.
        """
        ...


class Agent(Reader, Protocol):
    """An adapter: how a program under test is started, and what it left means."""

    @property
    def config_home(self) -> str:
        """Folder of the agent's configuration, relative to its home."""
        ...

    @property
    def simulated(self) -> bool:
        """True where what it delivers is planted by us."""
        ...

    def seal(self) -> AgentSeal:
        """What is registered of the agent."""
        ...

    def command(self, task: Task) -> Command:
        """How to start it; writes what it needs into the task's place."""
        ...
