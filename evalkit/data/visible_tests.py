"""The tests that an agent sees pass with what was delivered."""

from evalkit.grader import Checks, Subject, expect

checks = Checks({"visible-tests": 1})


@checks("visible-tests")
def visible_tests(subject: Subject) -> None:
    """The shipped tests, put back over the delivery, pass."""
    run = subject.tests()
    expect(run.passed, "the visible tests pass", run.error or run.failed or run.ran)
