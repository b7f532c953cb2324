"""A run, loaded: its seal and record, its frames, and every number drawn from them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from evalkit import frames
from evalkit.frames.folder import write_folder
from evalkit.frames.formats import format_named
from evalkit.frames.kept import Kept
from evalkit.journal import Journal
from evalkit.parameters import find_run
from evalkit.records import Registration
from evalkit.registration import load_registration

if TYPE_CHECKING:
    import pandas as pd

    from evalkit.conclusions import Analysis

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
        from evalkit import gates, prices
        from evalkit.analysis import analyse
        from evalkit.paged import with_pages
        from evalkit.probed import with_probes

        found = analyse(self.registration, self.journal, prices.rates())
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
