"""What the notebooks call: a run loaded and judged, a plan sealed, progress shown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from IPython.display import DisplayHandle

from evalkit import files, frames, gates, outlines, progress, usage
from evalkit.analysis import analyse
from evalkit.conclusions import Analysis
from evalkit.errors import InputError
from evalkit.frames.folder import write_folder
from evalkit.frames.formats import format_named
from evalkit.frames.kept import Kept
from evalkit.journal import Journal
from evalkit.markup import PROGRESS
from evalkit.paged import with_pages
from evalkit.parameters import PlanParameters, RunParameters, find_root, find_run
from evalkit.plan import Draft, draft, load_plan, seal_plan
from evalkit.probed import with_probes
from evalkit.records import Registration
from evalkit.registration import load_registration, write_registration
from evalkit.run import run_plan, utc_now
from evalkit.standing import Status

EXPORT = "export"


class Run:
    """A run as it stands: seal, record, frames, and every number drawn from them.

    All but the seal is made when it is first asked for. The frames have the columns
    that `columns` tells of; changing one changes neither the run nor its cache.
    """

    def __init__(self, folder: Path, registration: Registration) -> None:
        self.folder = folder
        self.registration = registration
        self._kept = Kept(folder, registration)

    @property
    def journal(self) -> Journal:
        """The record, its chain verified."""
        return self._kept.journal

    @cached_property
    def analysis(self) -> Analysis:
        """Every reported number, judged."""
        rates = usage.parse_rates(files.package_data("prices.toml"))
        found = analyse(self.registration, self.journal, rates)
        runs = self.folder.absolute().parent
        found = with_probes(found, self.registration, runs)
        return gates.judge(with_pages(found, self.folder))

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row for each planned trial."""
        return frames.frame_of(self._kept.table("trials"))

    @cached_property
    def steps(self) -> pd.DataFrame:
        """One row for each step of the trials that count."""
        return frames.frame_of(self._kept.table("steps"))

    @cached_property
    def checks(self) -> pd.DataFrame:
        """One row for each check of the trials that count."""
        return frames.frame_of(self._kept.table("checks"))

    @cached_property
    def requests(self) -> pd.DataFrame:
        """One row for each request of every attempt."""
        return frames.frame_of(self._kept.table("requests"))

    @cached_property
    def calls(self) -> pd.DataFrame:
        """One row for each call of every attempt."""
        return frames.frame_of(self._kept.table("calls"))

    @cached_property
    def arms(self) -> pd.DataFrame:
        """One row for each arm, as analysed; the fields of `ArmSummary`."""
        return frames.of_records(self.analysis.arms)

    @cached_property
    def contrasts(self) -> pd.DataFrame:
        """One row for each contrast, as analysed; the fields of `Contrast`."""
        return frames.of_records(self.analysis.contrasts)

    @property
    def columns(self) -> pd.DataFrame:
        """The data dictionary of the frames: dtype, unit and meaning of each column."""
        return frames.columns()

    def export(self, to: str, out: Path | None = None) -> tuple[Path, ...]:
        """Write every frame as a file, with a data dictionary and a stamp.

        Args:
            to: `csv`, `parquet` or `json`.
            out: Folder, made if missing; `export` in the run's folder if not given.

        Returns:
            The files.

        Raises:
            InputError: The format is unknown, or a file is in the way that is none
                of this run's exports.
        """
        kind = format_named(to)
        tables = {name: self._kept.table(name) for name in frames.COLUMNS}
        return write_folder(
            out or self.folder / EXPORT, tables, self._kept.origin, kind
        )


def load(run: str | Path) -> Run:
    """Read a run; nothing is written but its cache of frames.

    Args:
        run: Its folder, or its id in the root around the working folder.

    Raises:
        InputError: There is no such run, or its record is not whole.
        DriftError: Its registration was edited.
    """
    folder = find_run(str(run), Path())
    return Run(folder, load_registration(folder))


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
    "Run",
    "carry_out",
    "load",
    "open_draft",
    "open_sealed",
    "outlines",
    "seal",
]
