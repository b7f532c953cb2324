"""A trial of a run: what it came to, and where its transcripts are."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evalkit import scoring, wording
from evalkit.errors import InputError
from evalkit.evidence import Evidence, StepEvidence, attempts_kept
from evalkit.facts import Facts, Trial, gather, is_simulated
from evalkit.journal import read_journal
from evalkit.records import (
    CaseSeal,
    Output,
    Record,
    Registration,
    StepResult,
    TrialResult,
    stamp_of,
    step_folder,
)
from evalkit.registration import load_registration
from evalkit.standing import JOURNAL

MAX_NAMED = 8
KEEPS_NONE = "this agent keeps no transcript"


class FoundTrial(NamedTuple):
    """One attempt at a trial.

    `result` is None where the attempt left none. `counts`: it is the attempt that
    enters the analysis. `damage` says how its evidence differs from its seal.
    """

    run: Path
    registration: Registration
    case: CaseSeal
    trial: Trial
    attempt: int
    result: TrialResult | None
    counts: bool
    simulated: bool
    damage: str | None

    @property
    def stamp(self) -> str | None:
        """What stands on all that is made of it; see `Registration.stamp`."""
        return stamp_of(self.registration.replay, simulated=self.simulated)

    @property
    def evidence(self) -> Evidence:
        """The folder of the attempt."""
        return Evidence(self.run, self.trial.key, self.attempt)

    def step_evidence(self, slug: str) -> StepEvidence:
        """The folder of a step; it may not exist."""
        n = self.case.steps.index(slug) + 1
        return StepEvidence(self.evidence.folder / step_folder(n, slug))

    def step(self, slug: str) -> StepResult:
        """The result of a step."""
        steps = self.result.steps if self.result else ()
        found = (step for step in steps if step.slug == slug)
        return next(found, StepResult(slug, not_reached=True))


class Kept(NamedTuple):
    """A transcript of a step: what it is of, and its file.

    `is_choice`: of the call that chose a skill, not of the work.
    """

    step: str
    name: str
    what: str
    path: Path
    is_choice: bool = False


def find_trial(run: Path, key: str, attempt: int | None = None) -> FoundTrial:
    """A trial by its key, `case.arm.rN`.

    Args:
        run: Folder of the run.
        key: Which trial.
        attempt: Which try of it; by default the one that counts, else the last.

    Raises:
        InputError: There is no such trial, or no such attempt.
    """
    registration = load_registration(run)
    facts = gather(registration, read_journal(run / JOURNAL).events)
    trial = next((one for one in facts.trials if str(one.key) == key), None)
    if trial is None:
        known = [str(one) for one in registration.schedule]
        named = ", ".join(known[:MAX_NAMED])
        more = f" and {len(known) - MAX_NAMED} more" if len(known) > MAX_NAMED else ""
        raise InputError(
            f"trial {key!r}",
            expected="case.arm.rN of this run",
            found=f"none; there are {named}{more}",
            cure="name one of these",
        )
    return _found(run, registration, facts, trial, attempt)


def counted_trials(run: Path) -> list[FoundTrial]:
    """Of each trial of a run, the attempt that counts.

    Raises:
        InputError: The run cannot be read.
    """
    registration = load_registration(run)
    facts = gather(registration, read_journal(run / JOURNAL).events)
    return [
        _found(run, registration, facts, trial, None)
        for trial in facts.trials
        if trial.result
    ]


def _found(
    run: Path,
    registration: Registration,
    facts: Facts,
    trial: Trial,
    attempt: int | None,
) -> FoundTrial:
    tries = {a.attempt: a for a in facts.attempts if a.key == trial.key}
    kept = sorted({*tries, *attempts_kept(run, trial.key)})
    number = attempt or (trial.result.attempt if trial.result else max(kept, default=0))
    if number not in kept:
        raise InputError(
            f"trial {trial.key}",
            expected="an attempt that was begun",
            found=f"attempts {wording.listed(kept)}",
            cure="carry the run on, or name another",
        )
    one = tries.get(number)
    case = next(c for c in registration.cases if c.id == trial.key.case)
    return FoundTrial(
        run=run,
        registration=registration,
        case=case,
        trial=trial,
        attempt=number,
        result=one.result if one else None,
        counts=bool(one and one.counts),
        simulated=is_simulated(registration, facts),
        damage=_damage(Evidence(run, trial.key, number)),
    )


def transcripts_of(found: FoundTrial) -> list[Kept]:
    """The transcripts of an attempt, in the order they were written.

    A session file tells more than what was written to stdout, and is taken where the
    agent left one. What a program wrote that keeps no transcript is none; see
    `keeps_none`.
    """
    output = not keeps_none(found.registration)
    kept: list[Kept] = []
    for n, slug in enumerate(found.case.steps, 1):
        evidence = found.step_evidence(slug)
        name = step_folder(n, slug)
        if evidence.choice.stdout.is_file():
            what = "the choice of a skill"
            path = evidence.choice.stdout
            kept.append(Kept(slug, f"{name}-select", what, path, is_choice=True))
        sessions = _sessions(evidence.session)
        for m, path in enumerate(sessions, 1):
            more = f"-{m}" if len(sessions) > 1 else ""
            kept.append(Kept(slug, f"{name}{more}", "the agent's session", path))
        if output and not sessions and evidence.task.stdout.is_file():
            kept.append(Kept(slug, name, "the agent's output", evidence.task.stdout))
    return kept


def keeps_none(registration: Registration) -> bool:
    """True where the agent is a program whose output was registered as no transcript."""
    program = registration.plan.program
    return program is not None and program.output is Output.NONE


class ToldTrial(Record, frozen=True):
    """A trial as `show` tells it; `result` is the first verdict of the attempt."""

    key: str
    attempt: int
    counts: bool
    status: str
    score: float | None
    simulated: bool
    damage: str | None
    result: TrialResult | None
    transcripts: tuple[str, ...]


def told(found: FoundTrial) -> ToldTrial:
    """The trial as a record."""
    return ToldTrial(
        key=str(found.trial.key),
        attempt=found.attempt,
        counts=found.counts,
        status=found.trial.status,
        score=found.trial.score if found.counts else None,
        simulated=found.simulated,
        damage=found.damage,
        result=found.result,
        transcripts=tuple(str(kept.path) for kept in transcripts_of(found)),
    )


def trial_lines(found: FoundTrial) -> list[str]:
    """A trial as lines for a terminal."""
    lines = [standing(found)]
    for slug in found.case.steps:
        step = found.step(slug)
        lines.append(f"  step {slug}: {step_standing(step)}")
        for check in step.grade.checks if step.grade else ():
            mark = "passed" if check.passed else "FAILED"
            lines.append(
                f"    {mark} {check.id} (weight {check.weight}) {check.reason}"
            )
    kept = transcripts_of(found)
    lines += [f"  {one.what}: {one.path}" for one in kept]
    if not kept and keeps_none(found.registration):
        lines.append(f"  {KEEPS_NONE}; what was kept: {found.evidence.folder}")
    return [wording.printable(line) for line in lines]


def standing(found: FoundTrial) -> str:
    """What became of the attempt, in a line."""
    result = found.result
    told = "left no result" if result is None else f"{result.outcome}: {result.reason}"
    counted = "it counts" if found.counts else "it does not count"
    score = wording.score(found.trial.score) if found.counts else wording.NOT_APPLICABLE
    return (
        f"{found.trial.key}, attempt {found.attempt} of {found.trial.n_started} "
        f"({counted}): {told.rstrip(': ')}; score {score}"
    )


def step_standing(step: StepResult) -> str:
    """What became of a step, in a line."""
    if step.not_reached:
        return "not reached"
    if step.grade is None:
        return "not graded"
    if step.grade.died:
        return f"the grader died: {step.grade.died}"
    n_passed = sum(check.passed for check in step.grade.checks)
    score = wording.score(scoring.grade_score(step.grade))
    return (
        f"score {score}, {wording.k_of(n_passed, len(step.grade.checks))} checks passed"
    )


def _sessions(folder: Path) -> list[Path]:
    """Session files below a folder, without those of subagents, which join theirs."""
    found = sorted(folder.rglob("*.jsonl")) if folder.is_dir() else []
    return [
        path for path in found if path.is_file() and not path.name.startswith("agent-")
    ]


def _damage(evidence: Evidence) -> str | None:
    if not evidence.is_whole:
        return "its evidence was never sealed: the attempt did not come to its end"
    try:
        evidence.load_seal()
    except InputError as error:
        return str(error)
    return None
