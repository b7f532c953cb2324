"""How far a command is, on stderr while it works: a bar, or lines where none looks."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

PULSE_S = 1.0
"""A terminal's bar is drawn anew at least this often, so that its clock goes on."""
LINE_S = 10.0
"""Seconds between two lines where stderr is no terminal: a log stays short."""
_UNCOUNTED = "{unit}, {elapsed} so far"
_COUNTED = "{n_fmt} of {total_fmt} {unit}, {elapsed} so far, {remaining} left"
_DRAWN = f"{{percentage:3.0f}}%|{{bar}}| {_COUNTED}"
Tell = Callable[[int, int], None]


@contextmanager
def bar(unit: str) -> Generator[Tell]:
    """Show progress on stderr; the value given is told (done, of how many).

    Where nothing is told, or not yet, it shows the time that went by.
    """
    with _drawn(unit) if sys.stderr.isatty() else _written(unit) as tell:
        yield tell


@contextmanager
def _drawn(unit: str) -> Generator[Tell]:
    from tqdm import tqdm

    # tqdm shows nothing on a terminal that gives no size, as under `script`.
    size = shutil.get_terminal_size()
    shown = tqdm(
        unit=unit,
        file=sys.stderr,
        leave=False,
        ncols=size.columns - 1,
        nrows=size.lines,
        bar_format=_UNCOUNTED,
    )

    def tell(done: int, total: int) -> None:
        shown.bar_format = _DRAWN
        shown.total = total
        shown.n = done
        shown.refresh()

    try:
        with _beat(PULSE_S, shown.refresh):
            yield tell
    finally:
        shown.close()


@contextmanager
def _written(unit: str) -> Generator[Tell]:
    started = time.monotonic()
    told = (0, 0)

    def tell(done: int, total: int) -> None:
        nonlocal told
        told = (done, total)

    def write() -> None:
        from tqdm import tqdm

        done, total = told
        line = tqdm.format_meter(
            done,
            total,
            time.monotonic() - started,
            unit=unit,
            bar_format=_COUNTED if total else _UNCOUNTED,
        )
        sys.stderr.write(f"{line}\n")

    with _beat(LINE_S, write):
        yield tell


@contextmanager
def _beat(every_s: float, again: Callable[[], object]) -> Generator[None]:
    over = threading.Event()

    def beat() -> None:
        while not over.wait(every_s):
            again()

    pulse = threading.Thread(target=beat, daemon=True)
    pulse.start()
    try:
        yield
    finally:
        over.set()
        pulse.join()
