"""Carries questions to a subject in the sandbox, and records every answer."""

from __future__ import annotations

import errno
import io
import json
import os
import socket
import tempfile
from typing import IO

from evalkit import process
from evalkit.files import disk
from evalkit.questions import Answer, Question
from evalkit.sandbox import Launch
from evalkit.wire import GoneError, Wire

DRIVER_FD = 200
"""Number under which the driver finds its end of the socket pair."""
START_TIMEOUT_S = 30.0
END_TIMEOUT_S = 5.0
MARGIN_S = 10.0
"""Given to a question beyond the time it asks for itself."""
MAX_STDERR_BYTES = 2000
MAX_QUESTIONS = 100_000
MAX_ANSWERS_BYTES = 512 * 1024 * 1024
"""Of all rows of one grading."""


class UnavailableError(BaseException):
    """No subject could be started; passes through checks, which fail on less."""


class RunawayError(BaseException):
    """A grader asks without end; passes through checks, which fail on less."""


class UnrecordedError(BaseException):
    """The disk did not take an answer; passes through checks, which fail on less.

    Args:
        number: The errno that says why.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(os.strerror(number))


class Live:
    """A channel to a subject that is started when it is first needed.

    Args:
        launch: Starts the driver, whose end of the socket is `DRIVER_FD`.
        rows: Unbuffered; receives a row `{"check", "n", "q", "a"}` per question.
    """

    def __init__(self, launch: Launch, rows: io.FileIO) -> None:
        self._launch = launch
        self._rows = rows
        self._asked: dict[str, int] = {}
        self._n_bytes = 0
        self._subject: _Subject | None = None
        self._lost_cpu = False

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()

    def ask(self, check: str, question: Question) -> Answer:
        """The subject's one answer; its death is an answer too.

        Raises:
            UnavailableError: No subject can be started.
            RunawayError: Too much was asked or answered in this grading.
            UnrecordedError: The disk did not take the answer.
        """
        n = self._asked.get(check, 0)
        self._asked[check] = n + 1
        try:
            if self._subject is None:
                self._subject = _Subject(self._launch)
            answer = self._subject.ask(question)
        except OSError as error:  # of this machine: no descriptor left, no memory
            raise UnavailableError(f"asking failed: {error.strerror}") from error
        except GoneError as gone:
            answer: Answer = {"gone": str(gone)}
            self._lost_cpu = True
            self._close()
        self._record({"check": check, "n": n, "q": question, "a": answer})
        return answer

    def cpu_s(self) -> float | None:
        """CPU seconds of the subject; ask last. None where one died unasked."""
        if self._subject is None or self._lost_cpu:
            return None
        try:
            return float(self._subject.ask({"op": "cpu"})["answer"]["cpu_s"])
        except (GoneError, KeyError, TypeError, ValueError):
            return None

    def _record(self, row: dict[str, object]) -> None:
        data = json.dumps(row, allow_nan=False).encode() + b"\n"
        self._n_bytes += len(data)
        if self._n_bytes > MAX_ANSWERS_BYTES:
            raise RunawayError(f"over {MAX_ANSWERS_BYTES:,} bytes of answers")
        if sum(self._asked.values()) > MAX_QUESTIONS:
            raise RunawayError(f"over {MAX_QUESTIONS:,} questions")
        try:
            disk.write_all(self._rows, data)
        except OSError as error:
            raise UnrecordedError(error.errno or errno.EIO) from error

    def _close(self) -> None:
        if self._subject is not None:
            self._subject.close()
            self._subject = None


class _Subject:
    """One driver, and the socket to it."""

    def __init__(self, launch: Launch) -> None:
        self._ready_s = 0.0
        self._contained = launch.contained
        ours, theirs = socket.socketpair()
        os.dup2(theirs.fileno(), DRIVER_FD)
        theirs.close()
        self._wire = Wire(ours)
        with tempfile.TemporaryFile() as stderr:
            try:
                self._start(launch, stderr)
            except (GoneError, process.CommandError) as error:
                stderr.seek(0)
                said = stderr.read(MAX_STDERR_BYTES).decode(errors="replace").strip()
                raise UnavailableError(
                    f"{error}; {said or 'it said nothing'}"
                ) from error

    def _start(self, launch: Launch, stderr: IO[bytes]) -> None:
        try:
            self._running = process.start(
                launch.argv,
                env=launch.env,
                cwd=launch.cwd,
                stderr=stderr,
                pass_fds=[DRIVER_FD],
                given=launch.given,
                caps=launch.caps,
            )
        finally:
            os.close(DRIVER_FD)
        try:
            self._wire.receive(START_TIMEOUT_S)["ready"]
        except (GoneError, KeyError) as error:
            self.close()
            raise GoneError(f"not ready: {error}") from error

    def ask(self, question: Question) -> Answer:
        """Send a question, wait for its answer."""
        self._wire.send(question)
        self._ready_s = max(self._ready_s, question.get("ready_s") or 0.0)
        restart_s = self._ready_s if question.get("op") == "restart" else 0.0
        try:
            answer = self._wire.receive(patience_s(question) + restart_s + MARGIN_S)
        except GoneError as gone:
            raise GoneError(self._running.excess or str(gone)) from gone
        if set(answer) not in ({"answer"}, {"refused"}):
            raise GoneError("an answer of a form that is none")
        return answer

    def close(self) -> None:
        """End the driver with all that runs in its sandbox."""
        self._wire.close()
        if not self._contained:  # then only the driver itself can end its children
            self._running.wait(END_TIMEOUT_S)
        self._running.end()


def patience_s(question: Question) -> float:
    """Seconds a question may take by its own words."""
    inner = [question.get("question"), *question.get("requests", ())]
    longest = max((patience_s(one) for one in inner if one), default=0.0)
    own = (question.get(name) or 0.0 for name in ("timeout_s", "within_s", "ready_s"))
    pause = (question.get("halves") or {}).get("wait_s") or 0.0
    return float(sum(own)) + float(pause) + longest
