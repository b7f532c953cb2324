"""The least difference that this design could have found."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalkit import stats
from evalkit.analysis.contrasts import pairs_of, strata_of
from evalkit.analysis.tallies import Priced
from evalkit.conclusions import DetectableRow
from evalkit.records import Registration
from evalkit.stats import Stratum
from evalkit.stats.results import variance

ASSUMED = (0.1, 0.2, 0.3)
"""Spreads of trials that are assumed beside the one that was seen."""
POWER = 0.8


def detectable_rows(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[DetectableRow, ...]:
    """Of every contrast in the score, for the seen spread and for assumed ones.

    None where a case has a single trial in an arm: no spread can then be told apart
    from a difference.
    """
    rows: list[DetectableRow] = []
    for arm, comparator in pairs_of(registration):
        strata = strata_of(priced, arm, comparator, "score")
        cells = [(len(s.arm), len(s.comparator)) for s in strata]
        if not cells or min(map(min, cells)) < 2:
            continue
        seen = _pooled(strata)
        spreads = [*([seen] if seen else []), *ASSUMED]
        found = stats.stratified_detectable(
            cells, spreads, alpha=1 - registration.plan.confidence, power=POWER
        )
        rows += [
            DetectableRow(
                arm,
                comparator,
                row.sd,
                seen=bool(seen) and n == 0,
                difference=row.difference,
            )
            for n, row in enumerate(found)
        ]
    return tuple(rows)


def _pooled(strata: Sequence[Stratum]) -> float:
    """Standard deviation of trials inside a case and arm, over all of them."""
    cells = [cell for stratum in strata for cell in stratum]
    squares = math.fsum(variance(cell) * (len(cell) - 1) for cell in cells)
    return math.sqrt(squares / sum(len(cell) - 1 for cell in cells))
