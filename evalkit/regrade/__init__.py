"""Verdicts given again: conclude from evidence, grade with the graders of now.

A grade is made from its recorded answers where the grader asks what was asked
then; else, and for a grader that died or is foreign, by questioning the saved
workspace again. First verdicts stay: a run's journal gets a `Regraded` line
beside them, and answers given again lie in `regrades/<n>/` beside `trials/`, so
the seals of attempts stay true. An attempt gets no second line that would only
repeat its last one.

    again      one grade made again
    refusals   what is refused before anything is written
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import msgspec

from evalkit import files, outcomes
from evalkit.conclusions import Difference
from evalkit.differences import differences
from evalkit.errors import InputError, StoppedEarlyError
from evalkit.evidence import Evidence
from evalkit.files import disk
from evalkit.inflight import InFlight
from evalkit.journal import Writer
from evalkit.records import (
    Deviation,
    Grade,
    Record,
    Regraded,
    StepResult,
    TrialResult,
)
from evalkit.registration import load_registration
from evalkit.regrade.again import (
    ANSWERS,
    WORKSPACE,
    Reopened,
    StepAgain,
    grade_step,
    how_of,
    reopen,
)
from evalkit.regrade.refusals import refuse_drift, refuse_unbegun
from evalkit.run import open_journal
from evalkit.sandbox import Box
from evalkit.standing import results_of
from evalkit.trial import conclude

__all__ = ["ANSWERS", "FOLDER", "WORKSPACE", "Regrade", "regrade"]

FOLDER = "regrades"


class AttemptAgain(Record, frozen=True):
    """An attempt graded again, and where its verdicts differ from the first."""

    trial: str
    attempt: int
    steps: tuple[StepAgain, ...]
    differences: tuple[Difference, ...]
    journaled: bool


class Regrade(Record, frozen=True):
    """What a regrade of a run came to."""

    run: str
    isolation: str
    deviations: tuple[Deviation, ...]
    attempts: tuple[AttemptAgain, ...]

    @property
    def differs(self) -> bool:
        """True where any verdict came out otherwise than the first."""
        return any(attempt.differences for attempt in self.attempts)


def regrade(
    run: Path,
    root: Path,
    *,
    box: Box,
    now: Callable[[], str],
    n_workers: int = 1,
    done: Callable[[int, int], None] | None = None,
) -> Regrade:
    """Conclude and grade every attempt that ended again, and journal what came out.

    Args:
        run: The run's folder.
        root: Root with cases and graders.
        box: The sandbox that subjects run in where they are questioned again.
        now: Gives the time of an event as ISO text.
        n_workers: How many attempts are graded at once.
        done: Told after each attempt how many of how many are done.

    Raises:
        DriftError: A case or fixture is not the registered one; a grader may be.
        InputError: No journal says that the run began, or evidence is missing or
            damaged; `audit` says all that is.
        RunLockedError: Another process works on this run.
        InfrastructureError: No subject could be started, or the disk is full.
        StoppedEarlyError: Ctrl-C.
    """
    registration = load_registration(run)
    refuse_unbegun(run)
    opened = reopen(registration, root)
    refuse_drift(opened)
    with disk.faults_named(run), open_journal(run, now) as journal:
        deviations = tuple(_deviations(opened, box))
        for deviation in deviations:
            journal.note(deviation)
        firsts = results_of(journal.stood)
        kept = run / FOLDER / str(_last_number(run / FOLDER) + 1)
        attempts: dict[int, AttemptAgain] = {}

        def give(n: int, first: TrialResult) -> None:
            with files.private_folder() as private:
                given = _give_again(opened, run, first, private / "new", box=box)
                attempts[n] = _journal_again(journal, given, run, kept)
            if done:
                done(len(attempts), len(firsts))

        with InFlight(n_workers) as in_flight:
            try:
                in_flight.carry_out([partial(give, *one) for one in enumerate(firsts)])
            except KeyboardInterrupt as error:
                raise StoppedEarlyError(
                    f"{run.name}: stopped by Ctrl-C after {len(attempts)} of "
                    f"{len(firsts)} attempts; regrade again, nothing is lost"
                ) from error
    in_order = tuple(attempts[n] for n in range(len(firsts)))
    return Regrade(run.name, box.isolation.level, deviations, in_order)


class _Given(Record, frozen=True):
    """An attempt's result given again; `place` holds new answers, if any."""

    first: TrialResult
    result: TrialResult
    steps: tuple[StepAgain, ...]
    place: Path


def _give_again(
    opened: Reopened, run: Path, first: TrialResult, place: Path, *, box: Box
) -> _Given:
    evidence = Evidence(run, first.key, first.attempt)
    concluded = conclude(evidence, opened)
    if concluded.evidence_digest != first.evidence_digest:
        raise InputError(
            evidence.folder,
            expected=f"evidence sealed as {first.evidence_digest[:12]}, as journaled",
            found=f"another, sealed as {concluded.evidence_digest[:12]}",
            cure=f"see `evalkit audit {run.name}`; restore the folder from a copy",
        )
    case = opened.cases[first.key.case]
    steps: list[StepResult] = []
    told: list[StepAgain] = []
    for step, found in zip(case.steps, concluded.steps, strict=True):
        if found.grade is None:
            steps.append(found)
            continue
        grade, again = grade_step(
            opened,
            evidence.step(step),
            first.key,
            step,
            found.grade,
            box=box,
            answers=place / step.folder / "answers.jsonl",
        )
        steps.append(msgspec.structs.replace(found, grade=grade))
        told.append(again)
    outcome, reason = outcomes.outcome_of(steps, opened.registration.outcomes)
    result = msgspec.structs.replace(
        concluded, steps=tuple(steps), outcome=outcome, reason=reason
    )
    return _Given(first, result, tuple(told), place)


def _journal_again(
    journal: Writer, given: _Given, run: Path, kept: Path
) -> AttemptAgain:
    how = how_of(given.steps)
    key, attempt = given.result.key, given.result.attempt
    own = [
        event.body
        for event in journal.stood
        if isinstance(event.body, Regraded)
        and (event.body.result.key, event.body.result.attempt) == (key, attempt)
    ]
    last = (own[-1].how, _bare(own[-1].result)) if own else None
    is_new = last != (how, _bare(given.result))
    if is_new:
        target = kept / str(key) / str(attempt)
        answers = _keep(given.place, target, run)
        journal.append(Regraded(given.result, how, answers))
    return AttemptAgain(
        trial=str(key),
        attempt=attempt,
        steps=given.steps,
        differences=differences(given.first, given.result),
        journaled=is_new,
    )


def _keep(place: Path, target: Path, run: Path) -> dict[str, str]:
    """Keep new answers for good; their digests, by path in the run's folder."""
    if not place.is_dir():
        return {}
    entries = files.read_tree(place, max_bytes=2**30)
    files.write_entries(entries, target)
    files.sync_tree(run / FOLDER)
    files.sync_folder(run)
    inside = target.relative_to(run)
    return {
        (inside / entry.path).as_posix(): files.sha256(entry.data) for entry in entries
    }


def _bare(result: TrialResult) -> TrialResult:
    """A result without times and wording, which vary while the verdict stands."""
    steps = tuple(
        msgspec.structs.replace(step, grade=_bare_grade(step.grade))
        if step.grade
        else step
        for step in result.steps
    )
    return msgspec.structs.replace(result, steps=steps, reason="")


def _bare_grade(grade: Grade) -> Grade:
    checks = tuple(msgspec.structs.replace(c, reason="") for c in grade.checks)
    died = None if grade.died is None else ""
    return msgspec.structs.replace(
        grade, checks=checks, wall_s=0.0, cpu_s=None, died=died
    )


def _deviations(opened: Reopened, box: Box) -> Iterable[Deviation]:
    for seal in opened.registration.cases:
        found = opened.cases[seal.id].digests.grader
        if found != seal.digests.grader:
            what = f"grader of {seal.id}, when graded again"
            yield Deviation(what, seal.digests.grader, found)
    registered, level = opened.registration.isolation.level, box.isolation.level
    if registered != level:
        yield Deviation("isolation, when graded again", registered, level)


def _last_number(folder: Path) -> int:
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return max((int(name) for name in names if name.isdecimal()), default=0)
