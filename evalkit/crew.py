"""Who carries out attempts: threads of this process, where nobody else is hired."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from evalkit import process, sandbox
from evalkit.inputs import Inputs
from evalkit.ledger import Ledger, open_ledger
from evalkit.records import Access, Registration, TrialResult, TrialSpec
from evalkit.tapes import tapes_of
from evalkit.trial import run_trial


class Crew(Protocol):
    """Carries out attempts; may be used from many threads."""

    @property
    def n_workers(self) -> int:
        """Attempts at once, at most."""
        ...

    def room(self) -> int:
        """Attempts at once now, one at least."""
        ...

    def carry(self, spec: TrialSpec, inputs: Inputs) -> TrialResult:
        """Carry out an attempt; its evidence is whole and durable afterwards.

        Raises:
            AttemptLostError: Who carried it out is gone.
        """
        ...

    def end_all(self) -> None:
        """End all that is under way; who waits for it is told so."""
        ...


Hire = Callable[[Path, Registration, Inputs, int], AbstractContextManager[Crew]]
"""Opens a crew for a run's folder, its registration, its inputs, so many at once."""


class Here:
    """Carries out attempts in the thread that asks."""

    def __init__(self, ledger: Ledger, n_workers: int) -> None:
        self._ledger = ledger
        self.n_workers = n_workers

    def room(self) -> int:
        """Always as many."""
        return self.n_workers

    def carry(self, spec: TrialSpec, inputs: Inputs) -> TrialResult:
        """Carry out an attempt."""
        return run_trial(spec, inputs, self._ledger)

    def end_all(self) -> None:
        """End every process that was started."""
        process.end_all()


@contextmanager
def here(
    folder: Path,
    registration: Registration,
    inputs: Inputs,
    n_workers: int,
) -> Generator[Here]:
    """Threads of this process.

    Raises:
        InfrastructureError: As `open_ledger` does.
    """
    with open_ledger(
        inputs.plan,
        inputs.agent,
        folder,
        sandboxed=inputs.box.isolation.level != sandbox.NONE,
        tapes=tapes_of(registration, inputs.root, folder),
    ) as ledger:
        yield Here(ledger, _at_most(inputs, n_workers))


def _at_most(inputs: Inputs, n_workers: int) -> int:
    """Trials at once, where only their number limits requests: none passes a gateway."""
    limit = inputs.plan.max_requests_at_once
    calls = inputs.agent.vendor is not None
    if limit is None or not calls or inputs.plan.access is not Access.DIRECT:
        return n_workers
    return min(n_workers, limit)
