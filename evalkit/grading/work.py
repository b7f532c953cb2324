"""What a grader process is told and tells, and the carrying out in between."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from evalkit import files
from evalkit.grader import Channel, Checks
from evalkit.records import Case, CheckResult, Record, Step
from evalkit.sandbox import Launch

MAX_MESSAGE_BYTES = 64
"""Of what is said about graders, to and by the process that they are forked from."""
MODULE = "graded"
"""Name under which a grader's module is known while it runs."""


class Work(Record, frozen=True):
    """One grading; `launch` starts the subject, and is None for a replay.

    `until_failed`: only whether a check fails is asked, and which is the first. `cwd`
    is where the runner is, from where its paths lead.
    """

    grader: str
    fixture: str
    step: str
    seed: int
    answers: str
    foreign: bool
    cwd: str
    launch: Launch | None = None
    until_failed: bool = False


class Told(Record, frozen=True):
    """What came of a grading: its score line, or why there is none.

    `unavailable` says that no subject could be started, `disk_fault` (an errno) that
    an answer could not be recorded: neither is a fault of grader or delivery.
    `diverged` says how a replayed grader asked something else.
    """

    line: str | None = None
    died: str | None = None
    unavailable: str | None = None
    diverged: str | None = None
    disk_fault: int | None = None
    cpu_s: float | None = None


def work_on(case: Case, step: Step, *, root: Path, seed: int, answers: Path) -> Work:
    """The work of grading a step of a case."""
    return Work(
        grader=str(root / "graders" / case.id / "grade.py"),
        fixture=str(root / "cases" / case.id / "fixture"),
        step=step.slug,
        seed=seed,
        answers=str(answers),
        foreign=case.grader_command is not None,
        cwd=str(Path.cwd()),
    )


def carry_out(work: Work, channel: Channel) -> tuple[CheckResult, ...]:
    """Run the grader's checks over a channel.

    Raises:
        TypeError: The grader declares no checks for the step, or several.
        Exception: Whatever the grader raises when it is imported.
    """
    fixture = Path(work.fixture)

    def original(path: str) -> str:
        return files.read_regular(fixture / files.safe_relative(path)).decode()

    checks = _load_checks(Path(work.grader), work.step)
    return checks.carry_out(
        channel, seed=work.seed, original=original, until_failed=work.until_failed
    )


def _load_checks(grader: Path, step: str) -> Checks:
    # From its source: bytecode beside it is not covered by the grader's digest.
    source = files.read_regular(grader)
    module = ModuleType(MODULE)
    module.__file__ = str(grader)
    sys.modules[MODULE] = module
    exec(compile(source, str(grader), "exec"), vars(module))  # noqa: S102 - trusted
    declared = [value for value in vars(module).values() if isinstance(value, Checks)]
    fitting = [checks for checks in declared if checks.step in (None, step)]
    if len(fitting) != 1:
        raise TypeError(f"{len(fitting)} Checks for step {step!r}, expected one")
    return fitting[0]
