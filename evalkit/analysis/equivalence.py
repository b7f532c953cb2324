"""Is a difference shown to be of no importance? Not the same as none being seen."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit import stats
from evalkit.analysis.contrasts import pairs_of, strata_of
from evalkit.analysis.tallies import Priced
from evalkit.conclusions import EquivalenceRow
from evalkit.records import Registration
from evalkit.stats import Refusal, Stratum
from evalkit.stats.strata import welch_error


def equivalences(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[EquivalenceRow, ...]:
    """Every contrast in the outcome against the registered margin."""
    plan = registration.plan
    rows: list[EquivalenceRow] = []
    for arm, comparator in pairs_of(registration):
        strata = strata_of(priced, arm, comparator, plan.outcome)
        found = _equivalence(strata, plan.margin)
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


def _equivalence(
    strata: Sequence[Stratum], margin: float
) -> stats.Equivalence | Refusal:
    """The tests; refused also where most cells have no spread to rest them on."""
    if not strata:
        return Refusal("no estimate: no block is whole")
    error = welch_error(strata)
    if isinstance(error, Refusal):
        return error
    n_cells = 2 * len(strata)
    if 2 * error.n_constant_cells > n_cells:
        return Refusal(
            f"no claim: in {error.n_constant_cells} of {n_cells} cells all trials came "
            f"out the same, so the spread that it would rest on is hardly known"
        )
    return stats.equivalence_of_strata(strata, margin=margin)
