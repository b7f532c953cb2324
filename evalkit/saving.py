"""A notebook under execution, saved while it grows."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

from evalkit import files
from evalkit.jupyter import (
    LocalHandler,
    NBClientEngine,
    NotebookExecutionManager,
    papermill_engines,
    papermill_io,
)

ENGINE = "evalkit"
SOON_S = 0.5
"""What a kill can take of the cells that had ended."""
AUTOSAVE_S = 10
"""What a kill can take of the outputs of a cell under way."""
_SHARE = 0.1
"""Of the time that saving may take, where a notebook is so large that it counts."""


class _Whole(LocalHandler):
    """Writes a notebook so that a kill or a full disk leaves one, never half."""

    def write(self, buf: str, path: str) -> None:
        files.write_atomic(Path(path), buf.encode())


def save_whole(output: Path) -> None:
    """Have whatever papermill writes to this path from now on be whole."""
    files.clear_unwritten(output)
    papermill_io.register(str(output), _Whole())


class Saved(NotebookExecutionManager):
    """Saves soon after a cell begins or ends, and at once when the notebook does.

    papermill saves the whole notebook before and after each cell, of text too, which
    is most of what it does for a notebook of many short ones. Here what happens within
    `SOON_S` is saved together: by the clock of the loop in which messages of the kernel
    are awaited, so also while a cell that says nothing runs for hours. Where another
    loop runs in the caller's thread, that one runs in a thread of its own, and goes on.
    """

    def __init__(self, nb: Any, **given: Any) -> None:
        super().__init__(nb, autosave_cell_every=AUTOSAVE_S, **given)
        self._is_stale = False
        self._pause_s = SOON_S
        self._is_due = self._is_over = False
        self._lock = threading.Lock()

    def save(self, **_changed: Any) -> None:
        """Have the notebook saved with the next message of the kernel, or soon after."""
        self._is_stale = True

    def autosave_cell(self) -> None:
        """A message came: see to what is to be saved."""
        super().autosave_cell()
        if self._is_stale and not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_later(self._pause_s, self.write_due)

    def notebook_start(self, **changed: Any) -> None:
        """Save what is to be executed."""
        super().notebook_start(**changed)
        self._write()

    def notebook_complete(self, **changed: Any) -> None:
        """Save what came of it, however it ended."""
        super().notebook_complete(**changed)
        with self._lock:
            self._is_over = True
            self._write()

    def write_due(self) -> None:
        """Save what changed, unless the notebook has ended meanwhile."""
        with self._lock:
            if not self._is_over:
                self._write()

    def _write(self) -> None:
        begun = time.monotonic()
        self._is_due = self._is_stale = False
        super().save()
        self._pause_s = max(SOON_S, (time.monotonic() - begun) / _SHARE)


class _Engine(NBClientEngine):
    """papermill's own way to execute, but for the saving."""

    @classmethod
    def execute_notebook(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls,
        nb: Any,
        kernel_name: str,
        *,
        output_path: str,
        progress_bar: bool,
        **given: Any,
    ) -> Any:
        saved = Saved(nb, output_path=output_path, progress_bar=progress_bar)
        saved.notebook_start()
        try:
            cls.execute_managed_notebook(saved, kernel_name, **given)
        finally:
            saved.notebook_complete()
        return saved.nb


papermill_engines.register(ENGINE, _Engine)
