"""The tests that an agent sees, on what was delivered: do they end, and do they pass?

A run that does not end in verdicts of tests is told apart from tests that fail.
"""

from evalkit.grader import Checks, Subject, expect
from evalkit.questions import TestRun

checks = Checks({"tests-end": 1, "tests-pass": 1})
ended: list[TestRun] = []


@checks("tests-end")
def tests_end(subject: Subject) -> None:
    """The shipped tests, put back over the delivery, come to their end."""
    run = subject.tests()
    expect(run.error is None, "the visible tests come to an end", run.error)
    ended.append(run)


@checks("tests-pass")
def tests_pass(_: Subject) -> None:
    """They all passed."""
    expect(any(run.passed for run in ended), "the visible tests pass", ended)
