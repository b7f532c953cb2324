"""What was expected of each case, beside what came out."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit import arms
from evalkit.conclusions import CaseContrast, HypothesisRow
from evalkit.records import Registration


def hypothesis_rows(
    registration: Registration, found: Sequence[CaseContrast]
) -> tuple[HypothesisRow, ...]:
    """The sealed hypothesis of each case, and its differences in score."""
    return tuple(
        HypothesisRow(
            case.id,
            case.hypothesis,
            {
                arms.comparison(row.arm, row.comparator): row.difference
                for row in found
                if row.case == case.id
            },
        )
        for case in registration.cases
    )
