"""Grading: a grader process questions a subject; every answer is evidence.

Each thread that grades has a warm grader process, which is killed and replaced
where it dies or does not end. Its questions go to a driver in the sandbox over a
socket pair, its verdict comes back over another. What was asked and answered,
and the verdict, are the rows of `answers.jsonl`: from them alone the grade is
read, or replayed.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import util
from pathlib import Path
from typing import IO, Any

import msgspec

from evalkit import files, process, scoring
from evalkit.errors import EvalkitError
from evalkit.grader import Checks
from evalkit.questions import Answer, Question
from evalkit.records import Case, CheckResult, Grade, Record, Step
from evalkit.sandbox import Box, Launch

DRIVER_FD = 200
"""Number under which the driver finds its end of the socket pair."""
START_TIMEOUT_S = 30.0
MARGIN_S = 10.0
"""Given to a question beyond the time it asks for itself."""
MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_VERDICT_BYTES = 8 * 1024 * 1024
MAX_QUESTIONS = 100_000


class DivergedError(EvalkitError):
    """A replayed grader asked something else than was asked before."""

    exit_code = 1


class Replay(Record, frozen=True):
    """A grade to replay: the case and step it is of, and its answers."""

    case: Case
    step: Step
    grade: Grade
    answers: Path


class _Verdict(Record, frozen=True):
    verdict: str | None
    died: str | None
    seed: int
    grader_digest: str
    wall_s: float
    cpu_s: float | None


class _Work(Record, frozen=True):
    """What a grader process is told."""

    grader: str
    fixture: str
    step: str
    seed: int
    answers: str
    launch: Launch | None


def grade(
    case: Case,
    step: Step,
    workspace: Path,
    *,
    root: Path,
    box: Box,
    seed: int,
    answers: Path,
) -> Grade:
    """Grade one step's workspace.

    Args:
        case: The case.
        step: The step.
        workspace: A private copy of what was delivered.
        root: Root that holds the case and its grader.
        box: The sandbox the subject runs in.
        seed: Of the checks' random inputs.
        answers: File that receives questions, answers and verdict.

    Returns:
        The grade; a grader that died has no checks and says why.
    """
    started = time.monotonic()
    if case.grader_command is None:
        work = _work(case, step, root, seed, answers)
        launch = box.subject_argv(workspace, DRIVER_FD)
        told = _run_grader(
            msgspec.structs.replace(work, launch=launch), case.grade_timeout_s
        )
    else:
        told = _run_foreign(case, step, workspace, root, seed, box, answers)
    verdict = _Verdict(
        verdict=told.line,
        died=told.died,
        seed=seed,
        grader_digest=case.digests.grader,
        wall_s=round(time.monotonic() - started, 4),
        cpu_s=told.cpu_s,
    )
    with answers.open("ab") as rows:
        rows.write(msgspec.json.encode(verdict) + b"\n")
    return read_verdict(answers)


def read_verdict(answers: Path) -> Grade:
    """The grade that a file of answers ends in.

    Raises:
        InputError: It does not end in a verdict.
    """
    last = _last_line(answers)
    found = files.decode_json(last, _Verdict, f"{answers}, last line")
    checks: tuple[CheckResult, ...] = ()
    died = found.died
    if died is None:
        try:
            checks = scoring.parse_score_line(found.verdict or "")
        except ValueError as error:
            died = str(error)
    return Grade(
        checks=checks,
        seed=found.seed,
        grader_digest=found.grader_digest,
        wall_s=found.wall_s,
        cpu_s=found.cpu_s,
        died=died,
    )


def replay(found: Replay, *, root: Path) -> tuple[CheckResult, ...]:
    """Run a grader over recorded answers, without a subject.

    Raises:
        DivergedError: It asked something else than was asked before.
    """
    work = _work(found.case, found.step, root, found.grade.seed, found.answers)
    return _carry_out(work, _Recorded(found.answers))


def replay_all(
    replays: Sequence[Replay], *, root: Path, hash_seed: int
) -> tuple[bool, ...]:
    """Replay grades in one fresh interpreter under another hash seed.

    Returns:
        For each, whether its checks came out byte-equal; a grade whose grader
        died never does.
    """
    work = [_work(r.case, r.step, root, r.grade.seed, r.answers) for r in replays]
    with files.private_folder() as folder:
        jobs = folder / "jobs.json"
        jobs.write_bytes(msgspec.json.encode(work))
        env = {**process.MINIMAL_ENV, "PYTHONHASHSEED": str(hash_seed)}
        command = [sys.executable, "-m", "evalkit.grading", str(jobs)]
        said = process.output(command, timeout_s=START_TIMEOUT_S + len(work), env=env)
    found = msgspec.json.decode(said, type=tuple[tuple[CheckResult, ...] | None, ...])
    return tuple(
        r.grade.died is None and checks == r.grade.checks
        for r, checks in zip(replays, found, strict=True)
    )


# --- the runner's side ------------------------------------------------------


class _Told(Record, frozen=True):
    """What came of a grader process: its score line, or why there is none."""

    line: str | None = None
    died: str | None = None
    cpu_s: float | None = None


def _work(case: Case, step: Step, root: Path, seed: int, answers: Path) -> _Work:
    return _Work(
        grader=str(root / "graders" / case.id / "grade.py"),
        fixture=str(root / "cases" / case.id / "fixture"),
        step=step.slug,
        seed=seed,
        answers=str(answers),
        launch=None,
    )


class _Grader:
    """A warm grader process; it ends with the thread that made it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        number = theirs.fileno()
        argv = (sys.executable, "-I", "-B", "-m", "evalkit.grading", str(number))
        env = {**process.MINIMAL_ENV, "PYTHONHASHSEED": "0"}
        with theirs:
            self._running = process.start(argv, env=env, pass_fds=[number])
        self._wire = _Wire(ours)

    def carry_out(self, work: _Work, timeout_s: float) -> _Told:
        """Have it carry out one grading; raises _GoneError where it cannot."""
        self._wire.send(msgspec.to_builtins(work))
        return msgspec.convert(self._wire.receive(timeout_s), _Told)

    def end(self) -> int:
        """End it, by force where it stays; returns its exit code."""
        self._wire.close()
        ended = self._running.wait(0.1)
        return (ended or self._running.end()).code


_own = threading.local()


def _run_grader(work: _Work, timeout_s: float) -> _Told:
    grader: _Grader | None = getattr(_own, "grader", None)
    if grader is None:
        grader = _own.grader = _Grader()
    try:
        return grader.carry_out(work, timeout_s)
    except (_GoneError, msgspec.ValidationError) as error:
        _own.grader = None
        code = grader.end()
        return _Told(died=f"no verdict: {error} (exit {code})")


def _run_foreign(
    case: Case,
    step: Step,
    workspace: Path,
    root: Path,
    seed: int,
    box: Box,
    answers: Path,
) -> _Told:
    """Run a grader in any language; it sees its own folder and the workspace."""
    with files.private_folder() as folder:
        (folder / "home").mkdir()
        place = box.place(workspace, folder / "home", root / "graders" / case.id)
        values = {
            "{workspace}": place.workspace.seen,
            "{grader}": place.staging.seen,
            "{step}": step.slug,
            "{seed}": str(seed),
        }
        argv = [_filled(word, values) for word in case.grader_command or ()]
        env = {**process.MINIMAL_ENV, "HOME": place.home.seen}
        launch = box.agent_argv(argv, env, place)
        stdout = answers.with_name("grader.stdout")
        ended = process.run(
            launch.argv,
            env=launch.env,
            cwd=launch.cwd,
            stdout=stdout,
            stderr=answers.with_name("grader.stderr"),
            timeout_s=case.grade_timeout_s,
            grace_s=1.0,
            max_output_bytes=MAX_VERDICT_BYTES,
        )
    if ended.timed_out:
        return _Told(died=f"no verdict within {case.grade_timeout_s:g} s")
    if ended.exit_code != 0 or ended.truncated:
        why = "too much output" if ended.truncated else f"exit {ended.exit_code}"
        return _Told(died=f"ended without a verdict: {why}", cpu_s=ended.cpu_s)
    said = files.read_regular(stdout).decode(errors="replace")
    return _Told(line=said, cpu_s=ended.cpu_s)


def _filled(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word


def _last_line(path: Path) -> bytes:
    data = files.read_regular(path, max_bytes=2**30)
    return data.rstrip(b"\n").rpartition(b"\n")[2]


# --- in the grader process --------------------------------------------------


class _UnavailableError(BaseException):
    """There is no subject to question: no fault of the delivered program."""


class _DivergenceError(BaseException):
    """A question differs from the recorded one."""


def _serve(number: int) -> None:
    """Carry out gradings, one by one, until the socket ends."""
    process.die_with_parent()
    wire = _Wire(socket.socket(fileno=number))
    os.set_inheritable(number, False)  # noqa: FBT003 - its signature
    with suppress(_GoneError):
        while True:
            work = msgspec.convert(wire.receive(None), _Work)
            try:
                told = _question(work)
            except (_UnavailableError, Exception) as error:  # noqa: BLE001 - it is the verdict
                told = _Told(died=f"{type(error).__name__.strip('_')}: {error}")
            wire.send(msgspec.to_builtins(told))


def _question(work: _Work) -> _Told:
    assert work.launch is not None
    with Path(work.answers).open("ab") as rows, _Live(work.launch, rows) as channel:
        checks = _carry_out(work, channel)
        return _Told(line=scoring.score_line(checks), cpu_s=channel.cpu_s())


def _carry_out(work: _Work, channel: _Live | _Recorded) -> tuple[CheckResult, ...]:
    fixture = Path(work.fixture)

    def original(path: str) -> str:
        return files.read_regular(fixture / files.safe_relative(path)).decode()

    try:
        return _load_checks(work).carry_out(channel, seed=work.seed, original=original)
    except _DivergenceError as found:
        raise DivergedError(str(found)) from found


def _load_checks(work: _Work) -> Checks:
    """The checks that a grader declares for a step."""
    sys.dont_write_bytecode = True
    spec = util.spec_from_file_location("graded", work.grader)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    declared = [value for value in vars(module).values() if isinstance(value, Checks)]
    fitting = [checks for checks in declared if checks.step in (None, work.step)]
    if len(fitting) != 1:
        raise TypeError(f"{len(fitting)} Checks for step {work.step!r}, expected one")
    return fitting[0]


class _Recorded:
    """Answers from a file, each to exactly the question it was given to."""

    def __init__(self, answers: Path) -> None:
        self._rows: dict[tuple[str, int], tuple[Question, Answer]] = {}
        self._asked: dict[str, int] = {}
        for line in answers.read_bytes().splitlines():
            row = json.loads(line)
            if "check" in row:
                self._rows[row["check"], row["n"]] = (row["q"], row["a"])

    def ask(self, check: str, question: Question) -> Answer:
        """The recorded answer."""
        n = self._asked.get(check, 0)
        self._asked[check] = n + 1
        registered, answer = self._rows.get((check, n), (None, {}))
        asked = json.loads(json.dumps(question))
        if registered != asked:
            raise _DivergenceError(f"{check}, question {n}: {registered} -> {asked}")
        return answer


class _Live:
    """Carries questions to a subject in the sandbox, and records each answer."""

    def __init__(self, launch: Launch, rows: IO[bytes]) -> None:
        self._launch = launch
        self._rows = rows
        self._asked: dict[str, int] = {}
        self._subject: _Subject | None = None
        self._cpu_s = 0.0

    def __enter__(self) -> _Live:
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()

    def ask(self, check: str, question: Question) -> Answer:
        """The subject's one answer; a dead subject is an answer too."""
        n = self._asked.get(check, 0)
        self._asked[check] = n + 1
        if n > MAX_QUESTIONS:
            raise _UnavailableError(f"{check}: over {MAX_QUESTIONS} questions")
        if self._subject is None:
            self._subject = _Subject(self._launch)
        try:
            answer = self._subject.ask(question)
        except _GoneError as gone:
            answer: Answer = {"gone": str(gone)}
            self._close()
        row = {"check": check, "n": n, "q": question, "a": answer}
        self._rows.write(json.dumps(row, allow_nan=False).encode() + b"\n")
        self._rows.flush()
        return answer

    def cpu_s(self) -> float | None:
        """CPU seconds of the subject, asked last; None where it is gone."""
        if self._subject is None:
            return None
        try:
            return float(self._subject.ask({"op": "cpu"})["answer"]["cpu_s"])
        except (_GoneError, KeyError, TypeError, ValueError):
            return None

    def _close(self) -> None:
        if self._subject is not None:
            self._subject.close()
            self._subject = None


class _GoneError(Exception):
    """The subject can no longer answer; says why."""


class _Subject:
    """One driver, and the socket to it."""

    def __init__(self, launch: Launch) -> None:
        ours, theirs = socket.socketpair()
        os.dup2(theirs.fileno(), DRIVER_FD)
        theirs.close()
        self._wire = _Wire(ours)
        self._running = process.start(
            launch.argv, env=launch.env, cwd=launch.cwd, pass_fds=[DRIVER_FD]
        )
        os.close(DRIVER_FD)
        try:
            ready = self._wire.receive(START_TIMEOUT_S)
        except _GoneError as gone:
            self.close()
            raise _UnavailableError(f"the subject did not start: {gone}") from gone
        if ready.get("ready") is not True:
            raise _UnavailableError(f"the subject did not start: {ready}")

    def ask(self, question: Question) -> Answer:
        """Send a question, wait for its answer."""
        self._wire.send(question)
        answer = self._wire.receive(_patience_s(question) + MARGIN_S)
        if set(answer) not in ({"answer"}, {"refused"}):
            raise _GoneError("an answer in a form that is none")
        return answer

    def close(self) -> None:
        """End the driver with all that runs in its sandbox."""
        self._wire.close()
        self._running.wait(MARGIN_S)
        self._running.end()


class _Wire:
    """Strict JSON objects, one a line, over a socket: one answer to each."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._buffer = b""

    def send(self, value: object) -> None:
        """Send one object."""
        try:
            self._socket.sendall(json.dumps(value, allow_nan=False).encode() + b"\n")
        except OSError as error:
            raise _GoneError(f"the other side closed: {error}") from error

    def receive(self, timeout_s: float | None) -> Answer:
        """Receive one object; raises _GoneError for anything else."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise _GoneError(f"no answer within {timeout_s:g} s")
            self._socket.settimeout(left)
            try:
                chunk = self._socket.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError as error:
                raise _GoneError(str(error)) from error
            if not chunk:
                raise _GoneError("it ended")
            self._buffer += chunk
            if len(self._buffer) > MAX_LINE_BYTES:
                raise _GoneError(f"an answer over {MAX_LINE_BYTES} bytes")
        line, _, self._buffer = self._buffer.partition(b"\n")
        if self._buffer:
            raise _GoneError("more than one answer")
        return _parse_answer(line)

    def close(self) -> None:
        """Close this side."""
        self._socket.close()


def _parse_answer(line: bytes) -> Answer:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key occurs twice")
        return dict(pairs)

    try:
        parsed = json.loads(line, parse_constant=refuse, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise _GoneError(f"an answer that is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise _GoneError("an answer that is no object")
    return parsed


def _patience_s(question: Question) -> float:
    """How long a question may take by its own words."""
    inner = [question.get("question") or {}, *question.get("requests", [])]
    own = [question.get(k) or 0 for k in ("timeout_s", "within_s", "ready_s")]
    halves = question.get("halves") or {}
    longest = max((_patience_s(one) for one in inner if one), default=0.0)
    return float(sum(own)) + float(halves.get("wait_s") or 0) + longest


def _replay_jobs(path: Path) -> bytes:
    """Replay a file of jobs; null stands for one that could not be replayed."""
    found: list[tuple[CheckResult, ...] | None] = []
    for work in msgspec.json.decode(path.read_bytes(), type=list[_Work]):
        try:
            found.append(_carry_out(work, _Recorded(Path(work.answers))))
        except Exception:  # noqa: BLE001 - a grader that dies again is no equal grade
            found.append(None)
    return msgspec.json.encode(found)


if __name__ == "__main__":
    if sys.argv[1].isdecimal():
        _serve(int(sys.argv[1]))
    else:
        sys.stdout.buffer.write(_replay_jobs(Path(sys.argv[1])))
