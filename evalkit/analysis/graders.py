"""Which grader judged each case, and whether that is the one that was proven."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalkit import reference
from evalkit.conclusions import GraderRow
from evalkit.facts import Trial, steps_of
from evalkit.records import CaseSeal, Registration


def grader_rows(
    registration: Registration, trials: Sequence[Trial]
) -> tuple[GraderRow, ...]:
    """Each case's grader, over the grades of the analysed trials."""
    return tuple(_row(case, trials) for case in registration.cases)


def _row(case: CaseSeal, trials: Sequence[Trial]) -> GraderRow:
    digests = [
        step.grade.grader_digest
        for trial in trials
        if trial.analysed and trial.key.case == case.id
        for step in steps_of(trial.result)
        if step.grade is not None
    ]
    return GraderRow(
        case=case.id,
        digest=case.digests.grader,
        proof=case.proof,
        # A proof is kept under the digests it was made for: its name says which.
        bound=case.proof == reference.proof_path(Path(), case).name,
        n_grades=len(digests),
        n_other=sum(digest != case.digests.grader for digest in digests),
    )
