"""A grader process (given a descriptor), or a batch of replays (given a file)."""

from __future__ import annotations

import io
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from evalkit import process, scoring
from evalkit.grading.live import Live, RunawayError, UnavailableError, UnrecordedError
from evalkit.grading.recorded import DivergedError, carry_out_replay, replay_jobs
from evalkit.grading.work import Told, Work, carry_out
from evalkit.wire import GoneError, Wire


def serve(number: int) -> None:
    """Carry out gradings, one by one, until the socket ends."""
    process.die_with_parent()
    os.set_inheritable(number, False)  # noqa: FBT003 - its signature
    wire = Wire(socket.socket(fileno=number))
    with suppress(GoneError):
        while True:
            work = msgspec.convert(wire.receive(None), Work)
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
        serve(int(sys.argv[1]))
    else:
        replay_jobs(Path(sys.argv[1]))
