"""Weights, scores and the one line in which a grader states its verdict.

Sums are kept as integers and fractions: 0.4 + 0.3 + 0.2 + 0.1 is not 1 in floats.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NoReturn

import msgspec

from evalkit.records import CheckResult, Grade, Record

PREFIX = "ECC_EVAL_SCORE "
TOLERANCE = 1e-9
MAX_REASON = 2000
"""Characters of a check's reason that are kept."""


class _Line(Record, frozen=True):
    score: float
    checks: tuple[CheckResult, ...]


def step_score(checks: Sequence[CheckResult]) -> float:
    """Weights won over total weight.

    Raises:
        ValueError: There are no checks.
    """
    won, total = _won(checks)
    return won / total


def grade_score(grade: Grade | None) -> float:
    """Score of a step: 0 where its grader died or the step was not reached."""
    if grade is None or grade.died is not None:
        return 0.0
    return step_score(grade.checks)


def trial_score(grades: Sequence[Grade | None]) -> float:
    """Mean score over all steps of a trial's case.

    Args:
        grades: One per step of the case; None for a step that was not reached.

    Raises:
        ValueError: There are no steps.
    """
    if not grades:
        raise ValueError("a trial has at least one step")
    # Over one denominator: integers divide to the nearest float, sums of floats do not.
    over, under = 0, 1
    for grade in grades:
        if grade is not None and grade.died is None:
            won, total = _won(grade.checks)
            over, under = over * total + won * under, under * total
    return over / (under * len(grades))


def passed(grades: Sequence[Grade | None]) -> bool:
    """True where every check of every step passed."""
    for grade in grades:
        if grade is None or grade.died is not None or not grade.checks:
            return False
        if not all(check.passed for check in grade.checks):
            return False
    return bool(grades)


def parse_share(text: str) -> float:
    """The score written as weights won over total weight, as in `7/9`.

    Raises:
        ValueError: It is no fraction in 0..1.
    """
    won, slash, total = text.partition("/")
    if not (slash and won.isdecimal() and total.isdecimal() and text.isascii()):
        raise ValueError(f"score {text!r} is not written as won/total, as in '7/9'")
    if not 0 <= int(won) <= int(total) or int(total) == 0:
        raise ValueError(f"score {text!r} is outside 0..1")
    return float(Fraction(int(won), int(total)))


def score_line(checks: Sequence[CheckResult]) -> str:
    """The line that states a verdict, without a line end, in plain ASCII."""
    stated = {
        "score": step_score(checks),
        "checks": [msgspec.to_builtins(_plain(check)) for check in checks],
    }
    return PREFIX + json.dumps(stated)


def parse_score_line(text: str) -> tuple[CheckResult, ...]:
    """The checks stated in a grader's output.

    Args:
        text: All of the output; other lines are passed over, unless they hold
            a score line.

    Raises:
        ValueError: There is not exactly one score line, or it is malformed; the
            message says in which way.
    """
    holding = [line for line in text.split("\n") if PREFIX in line]
    lines = [line for line in holding if line.startswith(PREFIX)]
    if len(lines) != 1:
        count = "no" if not lines else str(len(lines))
        raise ValueError(f"{count} score line{'s' if lines else ''}, expected one")
    # Output that ends without a newline would hide the line that follows it, and
    # let one that was printed before count in its place.
    if holding != lines:
        raise ValueError("a second score line, which does not begin its line")
    line = _parse(lines[0].removeprefix(PREFIX))
    _check_ids_and_weights(line.checks)
    if not math.isfinite(line.score) or not 0 <= line.score <= 1:
        raise ValueError(f"score {line.score!r} is outside 0..1")
    won = step_score(line.checks)
    if abs(won - line.score) > TOLERANCE:
        raise ValueError(f"score {line.score!r}, but the checks give {won!r}")
    return tuple(_plain(check) for check in line.checks)


def _parse(text: str) -> _Line:
    try:
        parsed: Any = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_unique
        )
        return msgspec.convert(parsed, _Line, strict=True)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"malformed score line: {error}") from error


def _check_ids_and_weights(checks: tuple[CheckResult, ...]) -> None:
    if not checks:
        raise ValueError("the score line has no checks")
    if len({check.id for check in checks}) != len(checks):
        raise ValueError("a check id occurs twice in the score line")
    for check in checks:
        if check.weight < 1:
            raise ValueError(f"weight {check.weight} of {check.id!r} is below 1")


def _won(checks: Sequence[CheckResult]) -> tuple[int, int]:
    """Weights won, and total weight."""
    won = total = 0
    for check in checks:
        total += check.weight
        if check.passed:
            won += check.weight
    if not total:
        raise ValueError("a step has at least one check")
    return won, total


def _plain(check: CheckResult) -> CheckResult:
    """The check with a reason that UTF-8 can hold, cut to `MAX_REASON`."""
    # A subject may put lone surrogates into what a reason quotes.
    reason = check.reason.encode("utf-8", "backslashreplace").decode()
    return msgspec.structs.replace(check, reason=reason[:MAX_REASON])


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found
