"""What there is to open in a root: its runs, their trials, attempts and transcripts."""

from __future__ import annotations

from pathlib import Path

from evalkit import registration, wording
from evalkit.errors import InputError
from evalkit.evidence import attempts_kept
from evalkit.explore.page import warning
from evalkit.explore.telling import Teller
from evalkit.explore.trial import (
    FoundTrial,
    find_trial,
    standing,
    transcripts_of,
)
from evalkit.facts import gather, is_simulated
from evalkit.journal import read_journal
from evalkit.parameters import find_root, find_run
from evalkit.records import Record, stamp_of
from evalkit.standing import JOURNAL


class ListedTrial(Record, frozen=True):
    """A trial that was begun; its attempts by number, and the one shown first."""

    key: str
    case: str
    arm: str
    repeat: int
    status: str
    score: float | None
    attempts: tuple[int, ...]
    attempt: int


class ListedRun(Record, frozen=True):
    """A run: its trials that were begun, in the order planned; arms as registered.

    `stamp`: see `Registration.stamp`.
    """

    run: str
    stamp: str | None
    arms: tuple[str, ...]
    n_planned: int
    trials: tuple[ListedTrial, ...]


class ListedTranscript(Record, frozen=True):
    """A transcript of an attempt, and the step it is of."""

    name: str
    step: str
    what: str


class ListedAttempt(Record, frozen=True):
    """An attempt: what became of it, in a line, and its transcripts.

    `first` names the transcript to begin with: that of the first task.
    """

    run: str
    key: str
    attempt: int
    standing: str
    damage: str | None
    simulated: bool
    n_failed: int
    transcripts: tuple[ListedTranscript, ...]
    first: str | None


def run_lines(found: ListedRun) -> list[str]:
    """The trials of a run that were begun, as lines for a terminal."""
    n = wording.k_of(len(found.trials), found.n_planned)
    lines = [f"{found.run}: {n} trials begun; show one by its name"]
    lines += [f"  {warning(found.stamp)}"] if found.stamp else []
    width = max((len(one.key) for one in found.trials), default=0)
    lines += [
        f"  {one.key.ljust(width)}  {one.status}, score {wording.score(one.score)}"
        for one in found.trials
    ]
    return [wording.printable(line) for line in lines]


class Catalogue:
    """Names of runs, and what they stand for.

    Args:
        start: Folder in or below a root; without a root around it, runs are named by
            their folders.
    """

    def __init__(self, start: Path) -> None:
        self._start = start

    def runs(self) -> list[str]:
        """Ids of the runs of the root, the last one first."""
        try:
            root = find_root(self._start)
        except InputError:
            return []
        found = (root / "runs").glob(f"*/{registration.FILE}")
        return sorted((path.parent.name for path in found), reverse=True)

    def run(self, name: str) -> ListedRun:
        """The trials of a run that were begun.

        Raises:
            InputError: There is no such run, or its record is not whole.
        """
        folder = find_run(name, self._start)
        sealed = registration.load_registration(folder)
        facts = gather(sealed, read_journal(folder / JOURNAL).events)
        tries: dict[str, set[int]] = {}
        for one in facts.attempts:
            tries.setdefault(str(one.key), set()).add(one.attempt)
        trials = [
            ListedTrial(
                key=str(trial.key),
                case=trial.key.case,
                arm=trial.key.arm,
                repeat=trial.key.repeat,
                status=trial.status,
                score=trial.score,
                attempts=tuple(kept),
                attempt=trial.result.attempt if trial.result else kept[-1],
            )
            for trial in facts.trials
            if (
                kept := sorted(
                    {
                        *tries.get(str(trial.key), ()),
                        *attempts_kept(folder, trial.key),
                    }
                )
            )
        ]
        return ListedRun(
            run=name,
            stamp=stamp_of(sealed.replay, simulated=is_simulated(sealed, facts)),
            arms=tuple(arm.arm.name for arm in sealed.arms),
            n_planned=len(facts.trials),
            trials=tuple(trials),
        )

    def trial(self, run: str, key: str, attempt: int | None = None) -> FoundTrial:
        """One attempt at a trial; see `find_trial`.

        Raises:
            InputError: There is no such run, trial or attempt.
        """
        return find_trial(find_run(run, self._start), key, attempt)

    def root_of(self, found: FoundTrial) -> Path:
        """The root that holds the cases of a trial's run; its run's folder where none does."""
        try:
            return find_root(found.run)
        except InputError:
            return found.run


def listed(run: str, found: FoundTrial, tell: Teller) -> ListedAttempt:
    """An attempt as a reader chooses from it; `tell` takes secrets out of texts."""
    kept = transcripts_of(found)
    tasks = [one for one in kept if not one.is_choice] or kept
    grades = [step.grade for step in found.result.steps] if found.result else []
    return ListedAttempt(
        run=run,
        key=str(found.trial.key),
        attempt=found.attempt,
        standing=tell(standing(found)),
        damage=found.damage and tell(found.damage),
        simulated=found.simulated,
        n_failed=sum(not c.passed for grade in grades if grade for c in grade.checks),
        transcripts=tuple(
            ListedTranscript(one.name, one.step, one.what) for one in kept
        ),
        first=tasks[0].name if tasks else None,
    )
