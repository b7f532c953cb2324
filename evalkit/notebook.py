"""What the notebooks call: a plan drafted and sealed, a run carried out and shown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from IPython.display import DisplayHandle

from evalkit import outlines, progress
from evalkit.errors import InputError
from evalkit.markup import PROGRESS
from evalkit.parameters import PlanParameters, RunParameters, find_root, find_run
from evalkit.plan import Draft, draft, load_plan, seal_plan
from evalkit.registration import load_registration, write_registration
from evalkit.run import run_plan, utc_now
from evalkit.standing import Status


def open_draft(parameters: PlanParameters) -> Draft:
    """The draft of a plan, in the root around the working folder."""
    return draft(parameters.plan, find_root(Path()), now=utc_now)


def seal(parameters: PlanParameters, drafted: Draft) -> str:
    """Seal a draft if the parameters say so; says what was done."""
    if not parameters.seal:
        return "A draft: nothing was written. Set the parameter `seal` to seal it."
    folder = write_registration(find_root(Path()), drafted.registration)
    return f'Sealed as {folder.name}. Next: the notebook run, run = "{folder.name}".'


def open_sealed(parameters: RunParameters) -> Path:
    """The folder of the run to carry out; a plan file is sealed first.

    Raises:
        InputError: There is no such run or file, or a real agent would be started
            without consent.
    """
    if parameters.run.endswith(".toml"):
        folder = seal_plan(
            load_plan(Path(parameters.run)), find_root(Path()), now=utc_now
        )
    else:
        folder = find_run(parameters.run, Path())
    registration = load_registration(folder)
    if not (registration.agent.simulated or parameters.consent):
        raise InputError(
            f"run {folder.name}",
            expected="the parameter consent = True, since a real agent costs money",
            found=f"consent = False, agent {registration.agent.name}, at most "
            f"{registration.plan.budget.max_calls} calls",
            cure="read what was sealed, then set it",
        )
    return folder


def carry_out(folder: Path, parameters: RunParameters) -> Status:
    """Carry out a sealed run, or what is left of it; shows how far it is.

    Raises:
        EvalkitError: As `run.run_plan` does.
    """
    root = find_root(folder)
    return run_plan(folder, root, n_workers=parameters.workers, progress=Progress())


class Progress:
    """One display that is written over with each trial that ended.

    Args:
        now: Gives the time as ISO text, with its zone.
    """

    def __init__(self, now: Callable[[], str] = utc_now) -> None:
        self._handle = DisplayHandle()
        self._now = now
        self._first: tuple[int, datetime] | None = None

    def __call__(self, status: Status) -> None:
        """Show where the run stands."""
        now = datetime.fromisoformat(self._now())
        lines = progress.lines(status, now, self._pace_s(status, now))
        told = {"n_done": status.n_done, "n_planned": status.n_planned}
        bundle: dict[str, Any] = {PROGRESS: told, "text/plain": "\n".join(lines)}
        if self._first is None:
            self._first = status.n_done, now
            self._handle.display(bundle, raw=True)
        else:
            self._handle.update(bundle, raw=True)

    def _pace_s(self, status: Status, now: datetime) -> float | None:
        """Seconds between two trials that ended, since the first that was told of."""
        if self._first is None or status.n_done <= self._first[0]:
            return None
        n_first, at = self._first
        return (now - at).total_seconds() / (status.n_done - n_first)


__all__ = [
    "Progress",
    "carry_out",
    "open_draft",
    "open_sealed",
    "outlines",
    "seal",
]
