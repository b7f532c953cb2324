"""Where graders are forked (given a descriptor), or a batch of replays (a file)."""

from __future__ import annotations

import gc
import io
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from evalkit import process, scoring
from evalkit.grading.live import Live, RunawayError, UnavailableError, UnrecordedError
from evalkit.grading.recorded import DivergedError, carry_out_replay, replay_jobs
from evalkit.grading.work import MAX_MESSAGE_BYTES, Told, Work, carry_out
from evalkit.wire import GoneError, Wire


def tend(number: int) -> None:
    """Fork graders, and bury them, as told over a socket, until that ends.

    A message with a socket has a grader forked, which is told its work there; the
    answer is its process id, with a pidfd, or the errno that says why there is none.
    Any other names a grader that is killed; the answer is its exit code. The kernel
    ends all of them with this process, which ends with the one that started it, even
    where a fork of that holds the socket.
    """
    control, own = socket.socket(fileno=number), os.getpid()
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    waiting.register(os.pidfd_open(os.getppid()), select.POLLIN)
    os.set_inheritable(number, False)  # noqa: FBT003 - its signature
    gc.freeze()  # else the first collection in a grader would copy all that it shares
    while [ready for ready, _ in waiting.poll()] == [control.fileno()]:
        message, fds, *_ = socket.recv_fds(control, MAX_MESSAGE_BYTES, 1)
        if fds:
            try:
                pid = os.fork()
            except OSError as error:
                control.send(str(error.errno).encode())
            else:
                if not pid:
                    control.close()
                    serve(socket.socket(fileno=fds[0]), own)
                    return
                pidfd = os.pidfd_open(pid)
                socket.send_fds(control, [str(pid).encode()], [pidfd])
                os.close(pidfd)
            os.close(fds[0])
        elif message:
            control.send(str(_bury(int(message))).encode())
        else:
            return


def _bury(pid: int) -> int:
    # While it is not waited for its group id cannot belong to another.
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):  # it may lead no group yet
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def serve(end: socket.socket, parent: int) -> None:
    """Carry out gradings, one by one, until the socket or the parent ends."""
    process.die_with_parent()
    if os.getppid() != parent:  # it ended before this one could hear of it
        return
    os.setsid()
    wire = Wire(end)
    with suppress(GoneError):
        while True:
            work = msgspec.convert(wire.receive(None), Work)
            os.chdir(work.cwd)
            told = _replay(work) if work.launch is None else _grade(work)
            wire.send(msgspec.to_builtins(told))


def _replay(work: Work) -> Told:
    try:
        return Told(line=scoring.score_line(carry_out_replay(work)))
    except DivergedError as error:
        return Told(diverged=str(error))
    except Exception as error:  # noqa: BLE001 - it is the verdict
        return Told(died=f"{type(error).__name__}: {error}")


def _grade(work: Work) -> Told:
    try:
        rows = Path(work.answers).open("ab", buffering=0)  # noqa: SIM115 - closed below
    except OSError as error:
        return Told(disk_fault=error.errno)
    with rows:
        return _judged(work, rows)


def _judged(work: Work, rows: io.FileIO) -> Told:
    assert work.launch is not None
    try:
        with Live(work.launch, rows) as channel:
            line = scoring.score_line(carry_out(work, channel))
            return Told(line=line, cpu_s=channel.cpu_s())
    except UnrecordedError as error:
        return Told(disk_fault=error.number)
    except UnavailableError as error:
        return Told(unavailable=str(error))
    except (RunawayError, Exception) as error:  # noqa: BLE001 - it is the verdict
        return Told(died=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    if sys.argv[1].isdecimal():
        tend(int(sys.argv[1]))
    else:
        replay_jobs(Path(sys.argv[1]))
