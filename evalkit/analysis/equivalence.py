"""Is a difference shown to be of no importance? Not the same as none being seen."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit import stats
from evalkit.analysis.contrasts import pairs_of, strata_of
from evalkit.analysis.tallies import Priced
from evalkit.conclusions import EquivalenceRow
from evalkit.records import Registration
from evalkit.stats import Refusal


def equivalences(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[EquivalenceRow, ...]:
    """Every contrast in the outcome against the registered margin."""
    plan = registration.plan
    rows: list[EquivalenceRow] = []
    for arm, comparator in pairs_of(registration):
        strata = strata_of(priced, arm, comparator, plan.outcome)
        found = (
            stats.equivalence_of_strata(strata, margin=plan.margin)
            if strata
            else Refusal("no estimate: no block is whole")
        )
        rows.append(
            EquivalenceRow(
                arm,
                comparator,
                plan.margin,
                None,
                None,
                None,
                shown=False,
                refusal=found.sentence,
            )
            if isinstance(found, Refusal)
            else EquivalenceRow(
                arm,
                comparator,
                plan.margin,
                found.p,
                found.low,
                found.high,
                shown=found.shown,
            )
        )
    return tuple(rows)
