"""What is claimed of a simulated run, by the code that makes the report's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from evalkit import facts
from evalkit.analysis import beyond, contrasts, equivalence, tallies
from evalkit.analysis.tallies import Priced
from evalkit.calibration.planting import ALIKE, LIKE_THESE, THESE, Planted
from evalkit.conclusions import BeyondRow
from evalkit.records import Contrast, Registration
from evalkit.stats.results import CLOSE, alike
from evalkit.usage import Rates


class Claim(NamedTuple):
    """What one method says of an arm against the baseline; None is refused.

    `warned`: a warning stands beside it. `mostly_constant`: in more than half of the
    cells, which are a case in one of the two arms, all trials came out the same.
    `margin`: the claim is that the two differ by less than this; None: that they differ.
    """

    arm: str
    question: str
    measure: str
    estimate: float
    interval: tuple[float, float] | None
    p: float | None
    warned: bool = False
    mostly_constant: bool = False
    margin: float | None = None

    def is_null(self, difference: float) -> bool:
        """True where a small p speaks against this true difference."""
        if self.margin is None:
            return abs(difference) <= CLOSE
        return abs(difference) >= self.margin - CLOSE


class Outcome(NamedTuple):
    """A claim, and what is true."""

    claim: Claim
    truth: float

    @property
    def holds(self) -> bool:
        """True where an interval was given, and the truth is in it."""
        if self.claim.interval is None:
            return False
        low, high = self.claim.interval
        return low - CLOSE <= self.truth <= high + CLOSE


Judge = Callable[[Registration, Sequence[Priced]], Iterable[Claim]]
"""Makes every claim of a run, from its priced trials."""


def outcomes_of(planted: Planted, judge: Judge) -> list[Outcome]:
    """Every claim that is made of a simulated run, beside the truth."""
    registration = planted.registration
    found = facts.gather(registration, planted.events)
    # No trial has a request, so no price is ever looked up.
    rates = Rates({}, {})
    priced = tallies.price_trials(found, rates, registration.plan.accounting)
    return [
        Outcome(claim, planted.truths[claim.arm, claim.question, claim.measure])
        for claim in judge(registration, priced)
    ]


def as_reported(
    registration: Registration, priced: Sequence[Priced]
) -> Iterator[Claim]:
    """The report's differences and equivalences: of these tasks, then of tasks like these."""
    estimates: dict[str, float] = {}
    for contrast in contrasts.contrasts(registration, priced):
        if contrast.measure in contrasts.DIFFERENCES:
            claim = _claim(contrast, contrast.question, contrast.measure)
            yield claim._replace(
                warned=contrast.warning is not None,
                mostly_constant=_is_mostly_constant(contrast, priced),
            )
            if contrast.measure == registration.plan.outcome:
                estimates[contrast.arm] = claim.estimate
    for row in equivalence.equivalences(registration, priced):
        estimate = estimates[row.arm]
        yield Claim(row.arm, THESE, ALIKE, estimate, None, row.p, margin=row.margin)
    for row in beyond.beyond_rows(registration, priced):
        yield _claim(row, LIKE_THESE, registration.plan.outcome)


def _claim(row: Contrast | BeyondRow, question: str, measure: str) -> Claim:
    assert row.estimate is not None, "every block of a simulated run is whole"
    low, high = row.low, row.high
    interval = None if low is None or high is None else (low, high)
    return Claim(row.arm, question, measure, row.estimate, interval, row.p)


def _is_mostly_constant(contrast: Contrast, priced: Sequence[Priced]) -> bool:
    strata = contrasts.strata_of(
        priced, contrast.arm, contrast.comparator, contrast.measure
    )
    cells = [cell for stratum in strata for cell in stratum]
    return sum(alike(cell) for cell in cells) > len(cells) / 2
