"""Passing again and again: rates, pairs, and what is said where none differs."""

from __future__ import annotations

import pytest
import synthetic
from synthetic import register, result, step

from evalkit import gates, prices, tables
from evalkit.analysis import analyse

ALL = ("core", "edge", "docs")
RATES = prices.rates()
FOUR = ("a", "b", "c", "d")


def analysed(tmp_path, passes, *, cases=FOUR, repeats=3, arms=("injected", "baseline")):
    """Where `passes(key)` says so a trial passes every check."""
    sealed = register(cases=cases, arms=arms, repeats=repeats)

    def result_of(key):
        return result(key, step(*ALL) if passes(key) else step("core"))

    return gates.judge(
        analyse(sealed, synthetic.run(tmp_path, sealed, result_of), RATES)
    )


def row(analysis, arm):
    return next(found for found in analysis.passes if found.arm == arm)


def test_rates_are_those_of_three_tries_by_hand(tmp_path):
    # Of baseline: 0, 1, 2 and 3 of 3 pass on a, b, c and d.
    found = analysed(
        tmp_path,
        lambda key: key.arm == "injected" or key.repeat <= FOUR.index(key.case),
    )
    bare = row(found, "baseline")
    assert [(run.k, run.n) for run in bare.runs] == [(3, 4), (2, 4), (1, 4)]
    assert bare.at_1 == pytest.approx(6 / 12)
    assert bare.at_k == pytest.approx(3 / 4)
    assert bare.hat_k == pytest.approx(1 / 4)
    told = row(found, "injected")
    assert (told.at_1, told.at_k, told.hat_k) == (1, 1, 1)


def test_pairs_are_counted_block_by_block(tmp_path):
    found = analysed(
        tmp_path,
        lambda key: (
            key.repeat <= (3 if key.arm == "injected" else FOUR.index(key.case))
        ),
    )
    (pair,) = found.paired_passes
    assert (pair.both, pair.arm_only, pair.comparator_only, pair.neither) == (
        6,
        6,
        0,
        0,
    )
    assert pair.p == pytest.approx(2 * 0.5**6)
    assert pair.p_mid == pytest.approx(0.5**6)
    assert pair.refusal is None


def test_twelve_of_twelve_in_both_arms_never_says_no_difference(tmp_path):
    found = analysed(tmp_path, lambda _: True)
    (pair,) = found.paired_passes
    assert (pair.p, pair.p_mid, pair.p_arm) == (None, None, None)
    assert pair.within == pytest.approx(0.242494, abs=1e-6)
    text = tables.passes(found).text
    assert "no discordant pair among 12; the true difference lies within ±0.24" in text
    assert "no difference" not in text
    saturated = next(gate for gate in found.gates if gate.name == "not saturated")
    assert saturated.verdict == "fail"
    assert "a (1), b (1), c (1), d (1)" in saturated.evidence


def test_a_corpus_with_room_is_not_saturated(tmp_path):
    found = analysed(tmp_path, lambda key: key.arm == "injected" or key.case == "a")
    gate = next(gate for gate in found.gates if gate.name == "not saturated")
    assert gate.verdict == "pass"
    assert gate.evidence.endswith(": a (1)")


def test_cases_that_nobody_solves_leave_no_room_either(tmp_path):
    found = analysed(tmp_path, lambda _: False)
    gate = next(gate for gate in found.gates if gate.name == "not saturated")
    assert gate.verdict == "fail"


def test_one_trial_of_a_case_says_nothing_of_a_second(tmp_path):
    found = analysed(tmp_path, lambda _: True, repeats=1)
    assert found.passes == ()
    assert "nothing is known of a second try" in tables.passes(found).text


def test_a_case_that_lost_a_block_gets_no_rate_of_three(tmp_path):
    sealed = register(cases=("a", "b"), arms=("injected", "baseline"), repeats=3)

    def result_of(key):
        if (key.case, key.repeat) == ("b", 3):
            return synthetic.infrastructure(key)
        return result(key, step(*ALL))

    found = analyse(sealed, synthetic.run(tmp_path, sealed, result_of), RATES)
    told = row(found, "injected")
    assert (told.at_1, told.at_k, told.hat_k) == (1, None, None)
    assert "1 of 2 cases have fewer trials" in told.refusal
