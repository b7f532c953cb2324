"""A bar over a run that another process carries out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from evalkit.console.advance import bar
from evalkit.registration import load_registration
from evalkit.standing import JOURNAL

EVERY_S = 0.5
_ENDED = b'"type":"attempt-ended"'


@contextmanager
def following(run: Path) -> Generator[None]:
    """A bar on stderr that counts a run's ended attempts by its journal.

    Args:
        run: Folder of the run.

    Raises:
        InputError: It has no registration that can be read.
    """
    total = len(load_registration(run).schedule)
    over = threading.Event()
    with bar("trials") as told:
        counter = threading.Thread(
            target=_count, args=(run / JOURNAL, total, told, over)
        )
        counter.start()
        try:
            yield
        finally:
            over.set()
            counter.join()


def _count(
    journal: Path, total: int, told: Callable[[int, int], None], over: threading.Event
) -> None:
    while not over.wait(EVERY_S):
        if journal.is_file():
            told(journal.read_bytes().count(_ENDED), total)
