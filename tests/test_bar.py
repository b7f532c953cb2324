"""How far a command is: seen on a terminal that gives no size, and in a log."""

from __future__ import annotations

import io
import os
import pty
import sys
import threading
from contextlib import suppress

from evalkit.console import advance


def _all_of(master: int) -> str:
    """What a terminal was given, which the kernel passes on in pieces."""
    shown = b""
    with os.fdopen(master, "rb", buffering=0) as pieces, suppress(OSError):
        while piece := pieces.read(4096):  # an error once its other end is closed
            shown += piece
    return shown.decode()


def test_a_terminal_that_gives_no_size_shows_how_far_it_is(monkeypatch):
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal, monkeypatch.context() as changed:
        changed.setattr(sys, "stderr", terminal)
        with advance.bar("trials") as told:
            told(1, 4)
    shown = _all_of(master)
    assert "trials, 00:00 so far" in shown
    assert "1 of 4 trials" in shown


class _Log(io.StringIO):
    """Text that tells when a line was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def write(self, text: str, /) -> int:
        self.written.set()
        return super().write(text)


def test_a_log_gets_lines_now_and_then(monkeypatch):
    log = _Log()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr(advance, "LINE_S", 0.01)
    with advance.bar("trials") as told:
        told(1, 4)
        assert log.written.wait(10)
    assert log.getvalue().startswith(("trials, 00:0", "1 of 4 trials, 00:0"))
    assert log.getvalue().endswith("\n")
    assert "\r" not in log.getvalue()
