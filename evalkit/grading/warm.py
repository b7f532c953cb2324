"""The runner's side of a grader process, which stays warm between gradings."""

from __future__ import annotations

import socket
import sys
import threading
import weakref

import msgspec

from evalkit import process
from evalkit.errors import StoppedEarlyError
from evalkit.grading.work import Told, Work
from evalkit.sandbox import PYTHON_OPTIONS
from evalkit.wire import GoneError, SilentError, Wire

HASH_SEED = "0"
"""Graders always run under this one; replays run under another."""
LEAVE_S = 1.0


class _Grader:
    """A warm grader process; the kernel ends it with the thread that made it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        number = theirs.fileno()
        with theirs:
            self._running = process.start(
                [sys.executable, *PYTHON_OPTIONS, "-m", "evalkit.grading", str(number)],
                env={**process.MINIMAL_ENV, "PYTHONHASHSEED": HASH_SEED},
                pass_fds=[number],
            )
        self._wire = Wire(ours)
        # The kernel ends it, yet nobody but we can bury it.
        weakref.finalize(self, self._running.end)

    @property
    def is_alive(self) -> bool:
        """False where something ended it while it had nothing to do."""
        return not self._running.stopped and self._running.wait(0) is None

    @property
    def was_stopped(self) -> bool:
        """True where `process.end_all` ended it."""
        return self._running.stopped

    def carry_out(self, work: Work, timeout_s: float) -> Told:
        """Have it carry out one grading; raises GoneError where it cannot."""
        self._wire.send(msgspec.to_builtins(work))
        return msgspec.convert(self._wire.receive(timeout_s), Told)

    def leave(self) -> int:
        """Its exit code, where it is about to end by itself."""
        self._wire.close()
        return (self._running.wait(LEAVE_S) or self._running.end()).code

    def kill(self) -> None:
        """End it at once."""
        self._wire.close()
        self._running.end()


_own = threading.local()


def run_grader(work: Work, timeout_s: float) -> Told:
    """Have this thread's grader process carry out one grading.

    Raises:
        StoppedEarlyError: `process.end_all` was called meanwhile.
    """
    grader = _this_threads_grader()
    done = False
    try:
        told = grader.carry_out(work, timeout_s)
        done = True
    except SilentError:
        told = Told(died=f"no verdict within {timeout_s:g} s")
    except msgspec.ValidationError as error:
        told = Told(died=f"the grader process told what is no verdict: {error}")
    except GoneError as error:
        told = Told(died=f"the grader process: {error} (exit {grader.leave()})")
    finally:
        if not done:  # it may be in the middle of this grading still
            _own.grader = None
            grader.kill()
    if grader.was_stopped and not done:
        raise StoppedEarlyError("a grading was ended on request")
    return told


def _this_threads_grader() -> _Grader:
    grader: _Grader | None = getattr(_own, "grader", None)
    if grader is None or not grader.is_alive:
        if grader is not None:
            grader.kill()
        grader = _own.grader = _Grader()
    return grader
