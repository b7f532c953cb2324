"""The last row of a file of answers: the verdict, from which a grade is read."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalkit import files, scoring
from evalkit.errors import InputError
from evalkit.grading.work import Told
from evalkit.records import CheckResult, Grade, Record

MAX_ANSWERS_BYTES = 2**30
MAX_DIED = 2000
"""Characters kept of why a grader died."""


class Verdict(Record, frozen=True):
    """A score line, or why there is none, and what the grading took."""

    verdict: str | None
    died: str | None
    seed: int
    grader_digest: str
    wall_s: float
    cpu_s: float | None


def judge(told: Told, *, seed: int, grader_digest: str, wall_s: float) -> Verdict:
    """The verdict of what a grader told: any fault in its form is its death."""
    line, died = None, told.died
    if died is None:
        try:
            line = scoring.score_line(scoring.parse_score_line(told.line or ""))
        except ValueError as error:
            died = str(error)
    if died is not None:
        died = died.encode("utf-8", "backslashreplace").decode()[:MAX_DIED]
    return Verdict(line, died, seed, grader_digest, round(wall_s, 4), told.cpu_s)


def add_verdict(answers: Path, verdict: Verdict) -> None:
    """Append the verdict's row, after the last row that is whole."""
    with answers.open("ab+") as rows:
        rows.truncate(_end_of_last_row(answers))
        rows.write(msgspec.json.encode(verdict) + b"\n")


def read_verdict(answers: Path) -> Grade:
    """The grade that a file of answers ends in.

    Raises:
        InputError: It does not end in a verdict.
    """
    data = files.read_regular(answers, max_bytes=MAX_ANSWERS_BYTES)
    last = data.rstrip(b"\n").rpartition(b"\n")[2]
    where = f"{answers}, last row"
    try:
        return grade_of(files.decode_json(last, Verdict, where))
    except ValueError as error:
        raise InputError(
            where,
            expected="a score line, or why there is none",
            found=str(error),
            cure="restore the file from a copy",
        ) from error


def grade_of(found: Verdict) -> Grade:
    """The grade that a verdict states.

    Raises:
        ValueError: Its score line is malformed.
    """
    checks: tuple[CheckResult, ...] = ()
    if found.died is None:
        checks = scoring.parse_score_line(found.verdict or "")
    return Grade(
        checks=checks,
        seed=found.seed,
        grader_digest=found.grader_digest,
        wall_s=found.wall_s,
        cpu_s=found.cpu_s,
        died=found.died,
    )


def _end_of_last_row(answers: Path) -> int:
    # A grader that was killed may have written half a row.
    data = files.read_regular(answers, max_bytes=MAX_ANSWERS_BYTES)
    return data.rfind(b"\n") + 1
