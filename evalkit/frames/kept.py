"""The frames of a run, kept beside it as Parquet for the next time.

What is kept is read only where the run's journal has the very bytes it was made of,
which were verified then, and only by the source that made it. It may be removed at any
time.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from evalkit import facts, files
from evalkit.errors import EvalkitError, InputError
from evalkit.frames import tables
from evalkit.frames.columns import Table
from evalkit.frames.folder import (
    Origin,
    Stamp,
    read_stamp,
    read_table,
    warning_of,
    write_folder,
)
from evalkit.frames.formats import Format
from evalkit.journal import Journal, read_journal
from evalkit.records import Registration, stamp_of
from evalkit.registration import source_digests
from evalkit.standing import JOURNAL

CACHE = "cache"


class Kept:
    """Journal and frames of a run as they stood when this was made.

    Args:
        folder: Of the run.
        registration: Its seal.

    Raises:
        InputError: The journal is not whole.
    """

    def __init__(self, folder: Path, registration: Registration) -> None:
        self._folder = folder
        self._registration = registration
        self._found = _digest(folder / JOURNAL)
        self._stamp = self._standing()
        if self._stamp is None:
            _ = self.journal

    @cached_property
    def journal(self) -> Journal:
        """The journal, its chain verified; without what was added since."""
        until = self._stamp.origin.journal_head if self._stamp else None
        return read_journal(self._folder / JOURNAL, until=until)

    @property
    def origin(self) -> Origin:
        """What the frames were made of."""
        return self._stamp.origin if self._stamp else self._made[1]

    def table(self, name: str) -> Table:
        """A stored frame; from the cache, if that is whole.

        Raises:
            InputError: The journal holds a trial that was not planned.
        """
        if self._stamp is None:
            return self._made[0][name]
        try:
            return read_table(self._cache, name, self._stamp, Format.PARQUET)
        except InputError as error:
            warnings.warn(f"{error}; made anew from the journal", stacklevel=3)
            _ = self.journal
            self._stamp = None
            return self.table(name)

    @cached_property
    def _made(self) -> tuple[dict[str, Table], Origin]:
        found = facts.gather(self._registration, self.journal.events)
        simulated = facts.is_simulated(self._registration, found)
        same = self._found == _digest(self._folder / JOURNAL)
        run_source, analysis_source = source_digests()
        origin = Origin(
            run=self._registration.run_id,
            registration=self._registration.digest,
            journal_head=self.journal.head,
            journal=self._found if same else None,
            n_events=len(self.journal.events),
            simulated=simulated,
            run_source=run_source,
            analysis_source=analysis_source,
            warning=warning_of(
                stamp_of(self._registration.replay, simulated=simulated)
            ),
        )
        made = tables(found)
        if same and not self.journal.torn:
            # A run that may only be read is read without a cache.
            with suppress(OSError, EvalkitError):
                files.remove_tree(self._cache)
                # What a crash of the machine leaves half its stamp tells of.
                write_folder(self._cache, made, origin, Format.PARQUET, durable=False)
        return made, origin

    @property
    def _cache(self) -> Path:
        return self._folder / CACHE

    def _standing(self) -> Stamp | None:
        """The stamp of the cache, if it was made of all that is here now."""
        with suppress(InputError):
            stamp = read_stamp(self._cache, Format.PARQUET)
            origin = stamp.origin
            found = (origin.journal, origin.registration)
            sources = (origin.run_source, origin.analysis_source)
            wanted = (self._found, self._registration.digest)
            if found == wanted and sources == source_digests():
                return stamp
        return None


def _digest(path: Path) -> str:
    return files.file_digest(path) if path.exists() else files.sha256(b"")
