"""A process followed to its end: its output kept, its time bounded."""

from __future__ import annotations

import os
import selectors
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from evalkit.errors import StoppedEarlyError
from evalkit.process.caps import Caps
from evalkit.process.running import CommandError, Running, memory_file, start
from evalkit.records import Record

CHUNK_BYTES = 65_536
MAX_SMALL_OUTPUT_BYTES = 256 * 1024 * 1024
MINIMAL_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


class Finished(Record, frozen=True):
    """How a process ended.

    `exit_code` is negative for a signal and None where a time-out ended it;
    `cpu_s` (user and system, with awaited children) is None where a signal cut
    the account short. `truncated` says that output over the cap was dropped;
    `excess` says which cap it was killed for.
    """

    exit_code: int | None
    wall_s: float
    cpu_s: float | None
    timed_out: bool
    truncated: bool
    excess: str | None = None


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdin: bytes | None = None,
    stdout: Path,
    stderr: Path,
    timeout_s: float,
    grace_s: float,
    max_output_bytes: int,
    given: Sequence[bytes] = (),
    caps: Caps | None = None,
) -> Finished:
    """Run a process to its end.

    Args:
        argv: Program and arguments.
        env: Its whole environment.
        cwd: Its working folder.
        stdin: What it reads; None is /dev/null.
        stdout: File that receives its output.
        stderr: File that receives its errors.
        timeout_s: After this the group gets SIGTERM,
        grace_s: and after this SIGKILL.
        max_output_bytes: Kept of each stream; what comes after is dropped.
        given: Files it finds open, as for `start`.
        caps: What it and all it starts may take; over them it is killed.

    Raises:
        CommandError: It cannot be started.
        StoppedEarlyError: `end_all` was called meanwhile.
    """
    with _Pump(stdout, max_output_bytes) as out, _Pump(stderr, max_output_bytes) as err:
        started = time.monotonic()
        running = _start_pumped(
            argv,
            env=env,
            cwd=cwd,
            stdin=stdin,
            out=out,
            err=err,
            given=given,
            caps=caps,
        )
        try:
            timed_out = _follow(running, (out, err), timeout_s, grace_s)
            wall_s = time.monotonic() - started
        finally:
            found = running.end()
    if running.stopped:
        raise StoppedEarlyError(f"{argv[0]}: ended on request")
    truncated = out.truncated or err.truncated
    code, cpu_s = (None, None) if timed_out else found
    return Finished(code, wall_s, cpu_s, timed_out, truncated, running.excess)


def output(
    argv: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
    given: Sequence[bytes] = (),
) -> bytes:
    """What a small trusted command writes to stdout.

    Args:
        argv: Program and arguments.
        timeout_s: For the whole command.
        env: Its whole environment; `MINIMAL_ENV` by default.
        cwd: Its working folder.
        pass_fds: Descriptors it inherits.
        given: Files it finds open, as for `start`.

    Raises:
        CommandError: It cannot be started, fails, or takes too long; the message
            ends in the last of its stderr.
    """
    env = MINIMAL_ENV if env is None else env
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        running = start(
            argv,
            env=env,
            cwd=cwd,
            stdout=out,
            stderr=err,
            pass_fds=pass_fds,
            given=given,
        )
        try:
            ended = running.wait(timeout_s)
        finally:
            running.end()
        said = _tail(err)
        if ended is None:
            raise CommandError(f"{argv[0]}: no end within {timeout_s} s; {said}")
        if ended.code != 0:
            raise CommandError(f"{argv[0]}: exit {ended.code}; {said}")
        out.seek(0)
        return out.read(MAX_SMALL_OUTPUT_BYTES)


class _Pump:
    """A pipe whose read end is copied to a file, up to a cap."""

    def __init__(self, target: Path, room: int) -> None:
        self._file = target.open("wb")
        self._room = room
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self.truncated = False

    def __enter__(self) -> _Pump:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close_write_end()
        os.close(self.read_end)
        self._file.close()

    def close_write_end(self) -> None:
        """Leave the write end to the child alone."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def move(self) -> bool:
        """Copy one chunk; False where nothing more is there."""
        try:
            chunk = os.read(self.read_end, CHUNK_BYTES)
        except BlockingIOError:
            return False
        self.truncated |= len(chunk) > self._room
        kept = chunk[: self._room]
        self._room -= len(kept)
        self._file.write(kept)
        return bool(chunk)


def _start_pumped(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None,
    stdin: bytes | None,
    out: _Pump,
    err: _Pump,
    given: Sequence[bytes],
    caps: Caps | None,
) -> Running:
    with memory_file(stdin or b"") as source:
        running = start(
            argv,
            env=env,
            cwd=cwd,
            stdin=None if stdin is None else source,
            stdout=out.write_end,
            stderr=err.write_end,
            given=given,
            caps=caps,
        )
    out.close_write_end()
    err.close_write_end()
    return running


def _follow(
    running: Running, pumps: tuple[_Pump, ...], timeout_s: float, grace_s: float
) -> bool:
    """Copy output until the process ends; True where a time-out ended it."""
    orders = iter(((signal.SIGTERM, grace_s), (signal.SIGKILL, None)))
    deadline: float | None = time.monotonic() + timeout_s
    timed_out = False
    with selectors.DefaultSelector() as selector:
        selector.register(running.pidfd, selectors.EVENT_READ)
        for pump in pumps:
            selector.register(pump.read_end, selectors.EVENT_READ, pump)
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = [key for key, _ in selector.select(left)]
            if any(key.fd == running.pidfd for key in ready):
                break
            for key in ready:
                if not key.data.move():
                    selector.unregister(key.fd)
            if deadline is not None and time.monotonic() >= deadline:
                number, pause = next(orders)
                running.signal(number)
                timed_out = True
                deadline = None if pause is None else time.monotonic() + pause
    for pump in pumps:
        _drain(pump)
    return timed_out


def _drain(pump: _Pump) -> None:
    # A daemon that left the group may hold the pipe and write on: take what a
    # pipe can hold, then leave.
    for _ in range(16):
        if not pump.move():
            break


def _tail(stream: IO[bytes], limit: int = 2000) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - limit))
    return stream.read().decode(errors="replace").strip() or "it said nothing"
