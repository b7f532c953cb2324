"""What every agent adapter offers, and the records that pass through it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from evalkit.process import Finished
from evalkit.records import (
    AgentSeal,
    Call,
    Dialect,
    Exchange,
    Network,
    Record,
    Request,
    Step,
    TrialKey,
)
from evalkit.sandbox import Mount, Place


class Vendor(Record, frozen=True):
    """Whose protocol is spoken, and the variables that hold a credential for it.

    The first variable that is set is taken; each goes with its header.
    """

    dialect: Dialect
    url: str
    credentials: dict[str, str]


class Credential(Record, frozen=True):
    """A secret, and the header it goes in; its text does not show the secret."""

    value: str
    header: str

    def __repr__(self) -> str:
        return f"Credential({self.header})"


class Endpoint(Record, frozen=True):
    """Where a call finds its model, and what it shows there; see `agents.reach`."""

    url: str
    credential: Credential


class Task(Record, frozen=True):
    """What an agent is asked to do. `seed` is the run's.

    `endpoint` is None for an agent that calls no model.
    """

    key: TrialKey
    step: Step
    prompt: str
    model: str
    place: Place
    seed: int
    endpoint: Endpoint | None = None


class Command(Record, frozen=True):
    """How an agent is started: paths as it sees them, its whole environment.

    `binds` are read-only mounts the adapter needs beside its staging folder.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    binds: tuple[Mount, ...] = ()
    network: Network = Network.NONE


class Reading(Record, frozen=True):
    """What a call's evidence says: how it ended, usage, and skills put to use.

    `n_unknown_requests` used tokens that nobody told of; None where no gateway looked.
    """

    call: Call
    requests: tuple[Request, ...]
    disagreement: str | None
    invoked: tuple[str, ...]
    read: tuple[str, ...]
    n_unknown_requests: int | None = None


class Reader(Protocol):
    """Says what the evidence of a call means; needs nothing of the program itself."""

    def read(
        self,
        stdout: Path,
        session: Path | None,
        finished: Finished,
        exchanges: tuple[Exchange, ...] = (),
    ) -> Reading:
        """What one call's evidence says; repeatable, from the evidence alone.

        Args:
            stdout: What the agent wrote to its standard output.
            session: Copy of its own session files, where it left any.
            finished: How its process ended.
            exchanges: Its model requests as the gateway saw them.
        """
        ...

    def read_answer(self, stdout: Path) -> str | None:
        """The JSON that a selection call answered; None where it answered none."""
        ...


class Agent(Reader, Protocol):
    """An adapter: how a program under test is started, and what it left means."""

    @property
    def config_home(self) -> str:
        """Folder of the agent's configuration, relative to its home."""
        ...

    @property
    def sessions(self) -> str:
        """Folder of the session files it leaves, relative to its home."""
        ...

    @property
    def simulated(self) -> bool:
        """True where what it delivers is planted by a program on this machine."""
        ...

    @property
    def vendor(self) -> Vendor | None:
        """Whose models it calls; None where it calls none."""
        ...

    @property
    def selects(self) -> bool:
        """True where it can be asked which skill to take."""
        ...

    @property
    def watched(self) -> tuple[Path, ...]:
        """Files of this machine that it rests on."""
        ...

    def seal(self) -> AgentSeal:
        """What is registered of the agent."""
        ...

    def command(self, task: Task) -> Command:
        """How to start it; writes what it needs into the task's place."""
        ...

    def selection(self, task: Task, schema: str) -> Command:
        """How to ask it, without tools, for JSON of a schema."""
        ...
