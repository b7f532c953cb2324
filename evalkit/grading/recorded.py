"""Replays: a grader run over recorded answers, without a subject."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from evalkit import files, process, scoring
from evalkit.errors import EvalkitError
from evalkit.grading.foreign import stdout_beside
from evalkit.grading.work import Work, carry_out, work_on
from evalkit.questions import Answer, Question, shorten
from evalkit.records import Case, CheckResult, Grade, Record, Step
from evalkit.sandbox import PYTHON_OPTIONS

START_TIMEOUT_S = 30.0
REPLAY_TIMEOUT_S = 10.0


class Replay(Record, frozen=True):
    """A grade to replay: the case and step it is of, and its answers."""

    case: Case
    step: Step
    grade: Grade
    answers: Path


class DivergedError(EvalkitError):
    """A replayed grader asked something else than was asked before.

    Args:
        check: Check that asked.
        index: Number of the question in its check, from 0.
        registered: The question recorded there, or None.
        asked: The question asked now.
    """

    exit_code = 1

    def __init__(
        self, check: str, index: int, registered: Question | None, asked: Question
    ) -> None:
        self.check = check
        self.index = index
        self.registered = registered
        self.asked = asked
        super().__init__(
            f"{check}, question {index}: expected {shorten(registered)} as recorded, "
            f"found {shorten(asked)}; question the saved workspace again"
        )


class _DivergenceError(BaseException):
    """Carries a DivergedError through checks, which fail on any Exception."""

    def __init__(self, found: DivergedError) -> None:
        self.found = found


class _Recorded:
    """Answers from a file, each to exactly the question it was given to."""

    def __init__(self, answers: Path) -> None:
        self._rows: dict[tuple[str, int], tuple[Question, Answer]] = {}
        self._asked: dict[str, int] = {}
        for line in files.read_regular(answers, max_bytes=2**30).split(b"\n"):
            row = json.loads(line or b"{}")
            if "check" in row:
                self._rows[row["check"], row["n"]] = (row["q"], row["a"])

    def ask(self, check: str, question: Question) -> Answer:
        """The recorded answer."""
        n = self._asked.get(check, 0)
        self._asked[check] = n + 1
        registered, answer = self._rows.get((check, n), (None, {}))
        asked = json.loads(json.dumps(question))
        if registered != asked:
            raise _DivergenceError(DivergedError(check, n, registered, asked))
        return answer


def replay(found: Replay, *, root: Path) -> tuple[CheckResult, ...]:
    """Run a grader over recorded answers; a foreign one's output is read again.

    Raises:
        DivergedError: It asked something else than was asked before.
        ValueError: A foreign grader's output states no verdict.
    """
    return carry_out_replay(replay_work(found, root))


def replay_all(
    replays: Sequence[Replay], *, root: Path, hash_seed: int
) -> tuple[bool, ...]:
    """Replay grades in one fresh interpreter under another hash seed.

    Returns:
        For each, whether its checks came out byte-equal. Never so for a grade
        whose grader died: it is not replayed, lest it take the others with it.

    Raises:
        CommandError: The interpreter failed, or a grader does not end.
    """
    whole = [one for one in replays if one.grade.died is None]
    found = iter(_lines([replay_work(one, root) for one in whole], hash_seed))
    return tuple(
        one.grade.died is None and next(found) == scoring.score_line(one.grade.checks)
        for one in replays
    )


def _lines(work: Sequence[Work], hash_seed: int) -> tuple[str | None, ...]:
    """The score lines of replays in a fresh interpreter."""
    with files.private_folder() as folder:
        jobs = folder / "jobs.json"
        jobs.write_bytes(msgspec.json.encode(work))
        process.output(
            [sys.executable, *PYTHON_OPTIONS, "-m", "evalkit.grading", str(jobs)],
            timeout_s=START_TIMEOUT_S + REPLAY_TIMEOUT_S * len(work),
            env={**process.MINIMAL_ENV, "PYTHONHASHSEED": str(hash_seed)},
        )
        lines = answer_beside(jobs).read_bytes()
    return msgspec.json.decode(lines, type=tuple[str | None, ...])


def answer_beside(jobs: Path) -> Path:
    """Where the score lines go; not to stdout, where graders may print."""
    return jobs.with_suffix(".lines")


def replay_jobs(jobs: Path) -> None:
    """Replay a file of jobs; writes a JSON array of score lines.

    Null stands for a job that could not be replayed.
    """
    lines: list[str | None] = []
    for work in msgspec.json.decode(jobs.read_bytes(), type=list[Work]):
        try:
            lines.append(scoring.score_line(carry_out_replay(work)))
        except Exception:  # noqa: BLE001 - a grader that dies again is no equal grade
            lines.append(None)
    answer_beside(jobs).write_bytes(msgspec.json.encode(lines))


def replay_work(found: Replay, root: Path) -> Work:
    """The work of replaying a grade."""
    seed, answers = found.grade.seed, found.answers
    return work_on(found.case, found.step, root=root, seed=seed, answers=answers)


def carry_out_replay(work: Work) -> tuple[CheckResult, ...]:
    """Run the grader of some work over recorded answers; see `replay`."""
    answers = Path(work.answers)
    if work.foreign:
        said = files.read_regular(stdout_beside(answers))
        return scoring.parse_score_line(said.decode(errors="replace"))
    try:
        checks = carry_out(work, _Recorded(answers))
    except _DivergenceError as divergence:
        raise divergence.found from divergence
    # As it would be read from a verdict: reasons are cut there.
    return scoring.parse_score_line(scoring.score_line(checks))
