"""A process: started with nothing that was not named, ended with its group."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, NamedTuple

from evalkit.errors import InfrastructureError
from evalkit.process.caps import Caps, end_family, first_excess

GIVEN = tuple(f"@GIVEN-{n}@" for n in range(6))
"""Words that stand for the numbers of files given to a process; as many as any gets."""

_live: set[Running] = set()
_live_lock = threading.Lock()


class CommandError(InfrastructureError):
    """A command could not be started, failed, or took too long."""


class Exit(NamedTuple):
    """Exit code (negative: signal) and CPU seconds (None: unknown) of a process."""

    code: int
    cpu_s: float | None


class Running:
    """A started process, the leader of its own session and group."""

    def __init__(self, popen: subprocess.Popen[bytes], caps: Caps | None) -> None:
        self._popen = popen
        self._lock = threading.Lock()
        self._exit: Exit | None = None
        self.pid = popen.pid
        self.pidfd = os.pidfd_open(popen.pid)
        self._ended = threading.Event()
        self.stopped = False
        self.excess: str | None = None
        with _live_lock:
            _live.add(self)
        if caps:
            threading.Thread(target=self._watch, args=(caps,), daemon=True).start()

    def signal(self, number: int) -> None:
        """Send a signal to the whole group; nothing happens once it was reaped."""
        with self._lock:
            if self._exit is None:
                with suppress(ProcessLookupError):
                    os.killpg(self.pid, number)

    def wait(self, timeout_s: float | None = None) -> Exit | None:
        """Wait for the end and reap; None where it still runs after `timeout_s`."""
        with self._lock:
            if self._exit is not None:
                return self._exit
            watched = os.dup(self.pidfd)  # another thread that reaps closes its own
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(watched, selectors.EVENT_READ)
                if not selector.select(timeout_s):
                    return None
        finally:
            os.close(watched)
        return self._reap()

    def end(self) -> Exit:
        """Kill the group at once, and reap."""
        self.signal(signal.SIGKILL)
        return self._reap()

    def _watch(self, caps: Caps) -> None:
        self.excess = first_excess(self.pid, caps, self._ended)
        if self.excess:
            end_family(self.pid)

    def _reap(self) -> Exit:
        with self._lock:
            if self._exit is None:
                # While it is not reaped its group id cannot belong to another.
                with suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGKILL)
                _, status, used = os.wait4(self.pid, 0)
                code = os.waitstatus_to_exitcode(status)
                cpu_s = used.ru_utime + used.ru_stime if code >= 0 else None
                self._popen.returncode = code
                self._exit = Exit(code, cpu_s)
                self._ended.set()
                os.close(self.pidfd)
                with _live_lock:
                    _live.discard(self)
            return self._exit


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | int | None = None,
    stderr: IO[bytes] | int | None = None,
    pass_fds: Sequence[int] = (),
    given: Sequence[bytes] = (),
    caps: Caps | None = None,
) -> Running:
    """Start a process.

    Args:
        argv: Program and arguments; never a shell line.
        env: Its whole environment.
        cwd: Its working folder.
        stdin: File it reads; None is /dev/null, as for the next two.
        stdout: File or descriptor it writes to.
        stderr: File or descriptor it writes to.
        pass_fds: Descriptors it inherits, by the same numbers.
        given: Files it finds open; the n-th's number stands for the n-th of `GIVEN`
            among the arguments.
        caps: What it and all it starts may take; over them it is killed.

    Raises:
        CommandError: It cannot be started.
    """
    try:
        with ExitStack() as opened:
            fds = [opened.enter_context(memory_file(data)).fileno() for data in given]
            slots = GIVEN[: len(fds)]
            numbers = dict(zip(slots, map(str, fds), strict=True))
            popen = subprocess.Popen(
                [numbers.get(word, word) for word in argv],
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=subprocess.DEVNULL if stdout is None else stdout,
                stderr=subprocess.DEVNULL if stderr is None else stderr,
                pass_fds=(*pass_fds, *fds),
                start_new_session=True,
            )
    except OSError as error:
        raise CommandError(
            f"{argv[0]}: expected a program that starts, found: {error}; "
            "install it, or mend the path"
        ) from error
    return Running(popen, caps)


def end_all() -> None:
    """Kill every process in flight; the `run` that waits for one raises."""
    with _live_lock:
        live = list(_live)
    for running in live:
        running.stopped = True
        running.signal(signal.SIGKILL)


def memory_file(data: bytes) -> IO[bytes]:
    """A file in memory that holds `data`, at its start."""
    made = os.fdopen(os.memfd_create("given"), "r+b")
    made.write(data)
    made.seek(0)
    return made
