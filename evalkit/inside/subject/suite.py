"""A unittest run: made in a child, checked in the driver."""

from __future__ import annotations

import os
import sys
import unittest
import unittest.loader
from typing import Any

from evalkit.inside.subject.bounds import (
    MAX_FILES,
    Json,
    shortened,
    text_of,
    write_all,
)
from evalkit.inside.subject.calls import become_fresh
from evalkit.inside.subject.plain import json_line, message_of, mro_of


class Collected(unittest.TestResult):
    """A test result that keeps ids, and the class names of what was raised."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = True
        self.ran: dict[str, None] = {}
        self.skips: dict[str, None] = {}
        self.mros: dict[str, list[str]] = {}

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        """Note that a test began."""
        super().startTest(test)
        self.ran[test.id()] = None

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        """Note a skipped test."""
        super().addSkip(test, reason)
        self.skips[test.id()] = None

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """Note an error, of a test or of a fixture around it."""
        super().addError(test, err)
        self._note(test, err[1])

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """Note a failure."""
        super().addFailure(test, err)
        self._note(test, err[1])

    def addSubTest(  # noqa: N802
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any
    ) -> None:
        """Note a failed subtest under the id of its test."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, err[1])

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        """Note a success that was announced as a failure."""
        super().addUnexpectedSuccess(test)
        self.mros.setdefault(test.id(), ["UnexpectedSuccess"])

    def _note(self, test: unittest.TestCase, error: BaseException) -> None:
        names = mro_of(error)
        if error.__cause__ is not None and type(test).__name__ == "_FailedTest":
            cause = mro_of(error.__cause__)
            names = cause + [name for name in names if name not in cause]
        self.mros.setdefault(test.id(), names)


def run_tests(job: Json, answer: int) -> int:
    """Collect and run a unittest suite; one line tells all, as in `TestRun`."""
    become_fresh(job["cwd"], ["-m", "unittest"])
    top, start = job["cwd"], os.path.join(job["cwd"], job["start"])
    if not os.path.isfile(f"{start}/__init__.py"):
        top = start
    _keep_causes()
    result = Collected()
    error = None
    try:
        suite = unittest.TestLoader().discover(start, top_level_dir=top)
        suite.run(result)
        if not result.ran and not result.mros:
            error = "no tests were collected"
    except BaseException as fault:  # noqa: BLE001 - a run that breaks says why
        error = f"{type(fault).__name__}: {message_of(fault)}"
    shown = "\n".join(text for _, text in (*result.errors, *result.failures))
    failed = dict(list(result.mros.items())[:MAX_FILES])
    outcome = {
        "ran": list(result.ran)[:MAX_FILES],
        "skipped": list(result.skips)[:MAX_FILES],
        "failed": failed,
        "error": error,
        "output": shortened(text_of(shown.encode("utf-8", "replace"))),
    }
    write_all(answer, json_line(outcome))
    return 0


def _keep_causes() -> None:
    """Let a test module that cannot be imported say what really stopped it."""
    make = unittest.loader._make_failed_import_test  # type: ignore[attr-defined]  # pyright: ignore

    def keep(name: str, suite_class: Any) -> Any:
        suite, message = make(name, suite_class)
        for test in suite:
            test._exception.__cause__ = sys.exc_info()[1]
        return suite, message

    unittest.loader._make_failed_import_test = keep  # type: ignore[attr-defined]  # pyright: ignore
