"""The runner's side of grader processes, which stay warm between gradings."""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from evalkit import process
from evalkit.errors import InfrastructureError, StoppedEarlyError
from evalkit.grading.work import MAX_MESSAGE_BYTES, Told, Work
from evalkit.sandbox import PYTHON_OPTIONS
from evalkit.wire import GoneError, SilentError, Wire

HASH_SEED = "0"
"""Graders always run under this one; replays run under another."""
LEAVE_S = 1.0
ANSWER_S = 60.0
"""What makes graders answers at once, but that it may have to be loaded first."""
MAX_TRIES = 5
"""Graders that a grading may be told to, where they end before they hear of it."""


class _Nursery:
    """The process that graders are forked from, which has loaded what they need.

    It is of the process that made it: a fork of that leaves it and its graders alone.
    """

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(ANSWER_S)
        number = theirs.fileno()
        with theirs:
            self._running = process.start(
                [sys.executable, *PYTHON_OPTIONS, "-m", "evalkit.grading", str(number)],
                env={**process.MINIMAL_ENV, "PYTHONHASHSEED": HASH_SEED},
                pass_fds=[number],
            )
        self._lock = threading.Lock()
        self._owner = os.getpid()

    @property
    def is_ours(self) -> bool:
        """False in a fork of the process that made it."""
        return self._owner == os.getpid()

    @property
    def is_alive(self) -> bool:
        """False where something ended it, and with it all of its graders."""
        return self.is_ours and not self.was_stopped and self._running.wait(0) is None

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
            CommandError: The machine has no room for it.
        """
        found, fds = self._ask(b"fork", [end.fileno()])
        if not fds:
            raise process.CommandError(f"a grader: {os.strerror(found)}")
        return found, fds[0]

    def bury(self, pid: int) -> int | None:
        """Kill a grader with all that it left in its group; its exit code if known."""
        try:
            return self._ask(str(pid).encode())[0] if self.is_ours else None
        except GoneError:
            return None

    def end(self) -> None:
        """End it with all of its graders."""
        self._control.close()
        if self.is_ours:
            self._running.end()

    def _ask(self, message: bytes, fds: Sequence[int] = ()) -> tuple[int, list[int]]:
        with self._lock:
            try:
                socket.send_fds(self._control, [message], fds)
                told, given, *_ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 1)
                return int(told), given
            except (OSError, ValueError) as error:
                self.end()
                raise GoneError("the process that makes graders is gone") from error
            except BaseException:  # a late answer would be taken for the next one
                self.end()
                raise


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

    def tell(self, work: Work) -> None:
        """Have it begin a grading; raises GoneError where it does not."""
        self._wire.send(msgspec.to_builtins(work))

    def told(self, timeout_s: float) -> Told:
        """What came of the grading; raises GoneError where nothing did."""
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
        waiting = select.poll()  # which, unlike `select`, takes any descriptor
        waiting.register(self._pidfd, select.POLLIN)
        return bool(waiting.poll(1000 * within_s))


def _end(nursery: _Nursery, pid: int, pidfd: int) -> int | None:
    os.close(pidfd)
    return nursery.bury(pid)


_own = threading.local()
_lock = threading.Lock()
_nursery: _Nursery | None = None


def _forget() -> None:
    global _lock, _nursery
    _lock, _nursery = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)


def warm_up() -> None:
    """Have what graders need loaded while this process does something else.

    Where that cannot be begun the first grading tells so.
    """
    with suppress(process.CommandError):
        _living_nursery()


def run_grader(work: Work, timeout_s: float) -> Told:
    """Have this thread's grader process carry out one grading.

    Raises:
        StoppedEarlyError: `process.end_all` was called meanwhile.
        InfrastructureError: No grader could be made.
    """
    grader = _told_grader(work)
    done = False
    try:
        told = grader.told(timeout_s)
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


def _told_grader(work: Work) -> _Grader:
    """This thread's grader process, which was told its work.

    One that ended, or spoke, before it heard of this work is replaced.
    """
    for _ in range(MAX_TRIES):
        nursery = _living_nursery()
        grader = None
        try:
            grader = _this_threads_grader(nursery)
            grader.tell(work)
        except GoneError:
            if nursery.was_stopped:
                raise StoppedEarlyError("a grading was ended on request") from None
        else:
            return grader
        if grader is not None:
            _own.grader = None
            grader.kill()
    raise InfrastructureError(
        f"expected a process that carries out a grading, found {MAX_TRIES} that ended "
        f"before they were told of it; see what ends them, then go on"
    )


def _this_threads_grader(nursery: _Nursery) -> _Grader:
    grader: _Grader | None = getattr(_own, "grader", None)
    if grader is None or not grader.is_alive:
        if grader is not None:
            grader.kill()
        grader = _own.grader = _Grader(nursery)
    return grader


def _living_nursery() -> _Nursery:
    global _nursery  # noqa: PLW0603 - one of this process, made when it is needed
    with _lock:
        if _nursery is None or not _nursery.is_alive:
            if _nursery is not None:
                _nursery.end()
            _nursery = _Nursery()
        return _nursery
