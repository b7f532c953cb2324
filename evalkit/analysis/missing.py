"""What blocks without a result could change."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit import stats
from evalkit.analysis.contrasts import pairs_of
from evalkit.conclusions import MissingRow
from evalkit.facts import Trial
from evalkit.records import Registration
from evalkit.schedule import blocks_of
from evalkit.stats import Refusal


def missing_rows(
    registration: Registration, trials: Sequence[Trial]
) -> tuple[MissingRow, ...]:
    """Bounds of every difference in the outcome over all pairs that were planned.

    A trial that has a result counts here also where its block is not whole.
    """
    values = {trial.key: _value(trial, registration.plan.outcome) for trial in trials}
    blocks = [
        {key.arm: values[key] for key in block}
        for block in blocks_of(registration.schedule)
    ]
    rows: list[MissingRow] = []
    for arm, comparator in pairs_of(registration):
        found = stats.missing_pairs(
            [block[arm] for block in blocks], [block[comparator] for block in blocks]
        )
        if not isinstance(found, Refusal):
            rows.append(
                MissingRow(
                    arm=arm,
                    comparator=comparator,
                    n_planned=found.n_planned,
                    n_complete=found.n_complete,
                    complete_case=found.complete_case,
                    low=found.low,
                    high=found.high,
                    all_zero=found.all_zero,
                    straddles=found.straddles,
                    sentence=found.sentence,
                )
            )
    return tuple(rows)


def _value(trial: Trial, outcome: str) -> float | None:
    if outcome == "passed":
        return None if trial.passed is None else float(trial.passed)
    return trial.score
