"""The runner's side of grader processes, which stay warm between gradings."""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
import weakref
from contextlib import suppress

import msgspec

from evalkit import process
from evalkit.errors import StoppedEarlyError
from evalkit.grading.work import MAX_MESSAGE_BYTES, Told, Work
from evalkit.sandbox import PYTHON_OPTIONS
from evalkit.wire import GoneError, SilentError, Wire

HASH_SEED = "0"
"""Graders always run under this one; replays run under another."""
LEAVE_S = 1.0


class _Nursery:
    """The process that graders are forked from, which has loaded what they need."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        number = theirs.fileno()
        with theirs:
            self._running = process.start(
                [sys.executable, *PYTHON_OPTIONS, "-m", "evalkit.grading", str(number)],
                env={**process.MINIMAL_ENV, "PYTHONHASHSEED": HASH_SEED},
                pass_fds=[number],
            )
        self._lock = threading.Lock()

    @property
    def is_alive(self) -> bool:
        """False where something ended it, and with it all of its graders."""
        return not self.was_stopped and self._running.wait(0) is None

    @property
    def was_stopped(self) -> bool:
        """True where `process.end_all` ended it."""
        return self._running.stopped

    def fork(self, end: socket.socket) -> tuple[int, int]:
        """Have a grader forked that gets its work from a socket.

        Returns:
            Its process id, and a pidfd.

        Raises:
            GoneError: There is nobody to fork it.
        """
        try:
            with self._lock:
                socket.send_fds(self._control, [b"fork"], [end.fileno()])
                told, fds, *_ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 1)
            return int(told), fds[0]
        except (OSError, ValueError, IndexError) as error:
            raise GoneError("the process that makes graders is gone") from error

    def bury(self, pid: int) -> int | None:
        """Kill a grader with all that it left in its group; its exit code if known."""
        with self._lock, suppress(OSError, ValueError):
            self._control.send(str(pid).encode())
            return int(self._control.recv(MAX_MESSAGE_BYTES))
        return None

    def end(self) -> None:
        """Bury it, where it has ended."""
        self._control.close()
        self._running.end()


class _Grader:
    """A grader process; it ends with the thread that it works for."""

    def __init__(self, nursery: _Nursery) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            pid, self._pidfd = nursery.fork(theirs)
        self._nursery = nursery
        self._wire = Wire(ours)
        self._end = weakref.finalize(self, _end, nursery, pid, self._pidfd)

    @property
    def is_alive(self) -> bool:
        """False where something ended it while it had nothing to do."""
        return self._nursery.is_alive and not self._ended(0)

    @property
    def was_stopped(self) -> bool:
        """True where `process.end_all` ended it."""
        return self._nursery.was_stopped

    def carry_out(self, work: Work, timeout_s: float) -> Told:
        """Have it carry out one grading; raises GoneError where it cannot."""
        self._wire.send(msgspec.to_builtins(work))
        return msgspec.convert(self._wire.receive(timeout_s), Told)

    def leave(self) -> int | None:
        """Its exit code, where it is about to end by itself."""
        self._wire.close()
        self._ended(LEAVE_S)
        return self._end()

    def kill(self) -> None:
        """End it at once."""
        self._wire.close()
        self._end()

    def _ended(self, within_s: float) -> bool:
        return bool(select.select([self._pidfd], [], [], within_s)[0])


def _end(nursery: _Nursery, pid: int, pidfd: int) -> int | None:
    os.close(pidfd)
    return nursery.bury(pid)


_own = threading.local()
_lock = threading.Lock()
_nursery: _Nursery | None = None


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
        code = grader.leave()
        how = "what made it is gone too" if code is None else f"exit {code}"
        told = Told(died=f"the grader process: {error} ({how})")
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
        grader = _own.grader = _Grader(_living_nursery())
    return grader


def _living_nursery() -> _Nursery:
    global _nursery  # noqa: PLW0603 - one of this process, made when it is needed
    with _lock:
        if _nursery is None or not _nursery.is_alive:
            if _nursery is not None:
                _nursery.end()
            _nursery = _Nursery()
        return _nursery
