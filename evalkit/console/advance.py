"""How far a command is, on stderr while it works: a bar, or lines where none looks."""

from __future__ import annotations

import io
import shutil
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

PULSE_S = 1.0
"""A terminal's bar is drawn anew at least this often, so that its clock goes on."""
LINE_S = 10.0
"""Seconds between two lines where stderr is no terminal: a log stays short."""
_UNCOUNTED = "{unit}, {elapsed} so far"
_COUNTED = "{n_fmt} of {total_fmt} {unit}, {elapsed} so far, {remaining} left"
_DRAWN = f"{{percentage:3.0f}}%|{{bar}}| {_COUNTED}"


@contextmanager
def bar(unit: str) -> Generator[Callable[[int, int], None]]:
    """Show progress on stderr; the value given is told (done, of how many).

    Where nothing is told, or not yet, it shows the time that went by.
    """
    watched = sys.stderr.isatty()
    # tqdm shows nothing on a terminal that gives no size, as under `script`.
    size = shutil.get_terminal_size()
    shown = tqdm(
        unit=unit,
        file=sys.stderr if watched else io.StringIO(),
        leave=False,
        ncols=size.columns - 1 if watched else None,
        nrows=size.lines,
        bar_format=_UNCOUNTED,
    )

    def tell(done: int, total: int) -> None:
        shown.bar_format = _DRAWN if watched else _COUNTED
        shown.total = total
        shown.n = done
        shown.refresh()

    over = threading.Event()
    every_s, again = (PULSE_S, shown.refresh) if watched else (LINE_S, _line(shown))
    pulse = threading.Thread(target=_beat, args=(over, every_s, again), daemon=True)
    pulse.start()
    try:
        yield tell
    finally:
        over.set()
        pulse.join()
        shown.close()


def _beat(over: threading.Event, every_s: float, again: Callable[[], Any]) -> None:
    while not over.wait(every_s):
        again()


def _line(shown: tqdm[Any]) -> Callable[[], Any]:
    return lambda: sys.stderr.write(f"{shown}\n")
