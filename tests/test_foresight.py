"""What a design can find is told before it is run, and beside it what more would buy."""

from __future__ import annotations

import math

import pytest
from scipy import stats as scipy_stats

from evalkit.foresight import MIDDLE, SPREADS, foresee


def power(difference, n_cases, repeats, sd):
    """Of the stratified t, by the noncentral law."""
    df = 2 * n_cases * (repeats - 1)
    shift = difference / (sd * math.sqrt(2 / (n_cases * repeats)))
    limit = scipy_stats.t.ppf(0.975, df)
    law = scipy_stats.nct(df, shift)
    return law.sf(limit) + law.cdf(-limit)


@pytest.mark.parametrize(("n_cases", "repeats"), [(3, 4), (3, 2), (8, 2)])
def test_the_difference_told_is_found_in_four_runs_of_five(n_cases, repeats):
    found = foresee(n_cases, repeats, confidence=0.95)
    assert [design.sd for design in found.planned] == list(SPREADS)
    for design in (*found.planned, *found.others):
        reached = power(design.difference, design.n_cases, design.repeats, design.sd)
        assert reached == pytest.approx(0.8, abs=1e-6)


def test_more_cases_or_repeats_find_less():
    found = foresee(3, 4, confidence=0.95)
    (planned,) = (d for d in found.planned if d.sd == MIDDLE)
    assert {(d.n_cases, d.repeats) for d in found.others} == {
        (3, 5),
        (3, 8),
        (4, 4),
        (6, 4),
    }
    assert all(d.difference < planned.difference for d in found.others)


def test_the_least_p_is_that_of_the_most_extreme_swap():
    assert foresee(3, 4, confidence=0.95).planned[0].p_least == 2 / 70**3
    assert foresee(1, 1, confidence=0.95).planned[0].p_least == 1


def test_one_trial_in_a_cell_says_nothing_of_spread():
    found = foresee(3, 1, confidence=0.95)
    assert [design.difference for design in found.planned] == [None] * 3
    assert all(d.difference is not None for d in found.others if d.repeats > 1)


def test_cases_like_these_are_spoken_of_from_six():
    assert foresee(5, 4, confidence=0.95).beyond == ()
    eight = foresee(8, 4, confidence=0.95).beyond
    assert [design.p_least for design in eight] == [2 / 2**8] * 3
