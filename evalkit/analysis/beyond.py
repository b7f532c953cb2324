"""Tasks like these: differences with the case as the unit, where cases are enough."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit import stats
from evalkit.analysis.contrasts import pairs_of, strata_of
from evalkit.analysis.tallies import Priced
from evalkit.conclusions import BeyondRow
from evalkit.records import Registration
from evalkit.stats import Interval, PValue, Refusal
from evalkit.stats.results import mean

T_ON_CASES = "t on the means of cases"


def beyond_rows(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[BeyondRow, ...]:
    """Every contrast in the outcome, asked of tasks like these."""
    return tuple(
        _row(registration, priced, arm, comparator)
        for arm, comparator in pairs_of(registration)
    )


def _row(
    registration: Registration, priced: Sequence[Priced], arm: str, comparator: str
) -> BeyondRow:
    plan = registration.plan
    differences = [
        stratum.difference
        for stratum in strata_of(priced, arm, comparator, plan.outcome)
    ]
    interval = stats.t_interval(differences, confidence=plan.confidence)
    test = stats.sign_flip_test(differences, seed=plan.seed)
    refused = [x.sentence for x in (interval, test) if isinstance(x, Refusal)]
    known = interval if isinstance(interval, Interval) else None
    p = test if isinstance(test, PValue) else None
    return BeyondRow(
        arm=arm,
        comparator=comparator,
        n_cases=len(differences),
        estimate=mean(differences) if differences else None,
        low=known.low if known else None,
        high=known.high if known else None,
        p=p.p if p else None,
        interval_method=T_ON_CASES if known else None,
        p_method=p.method if p else None,
        refusal="; ".join(dict.fromkeys(refused)) or None,
    )
