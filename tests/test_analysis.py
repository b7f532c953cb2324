"""Every reported number, held against numbers worked out by hand."""

from __future__ import annotations

import math

import msgspec
import pytest
import synthetic
from synthetic import attempts, infrastructure, record, register, result, step

from evalkit import prices
from evalkit.analysis import analyse
from evalkit.conclusions import Analysis
from evalkit.records import (
    AttemptStarted,
    Candidate,
    Complaint,
    Deviation,
    Ended,
    Regraded,
    Selection,
    Treatment,
    TrialKey,
)

ALL = ("core", "edge", "docs")
PASSING = {0.0: (), 0.25: ("edge",), 0.5: ("core",), 0.75: ("core", "edge"), 1.0: ALL}
RATES = prices.rates()
TWO_ARMS = ("full", "baseline")
SCORES = {
    "alpha": {"full": (1.0, 0.75), "baseline": (0.5, 0.25)},
    "beta": {"full": (0.75, 0.75), "baseline": (0.5, 0.75)},
}


def made(tmp_path, sealed, result_of, **options) -> Analysis:
    return analyse(sealed, synthetic.run(tmp_path, sealed, result_of), RATES, **options)


def contrast(analysis, measure, arm="full", comparator="baseline"):
    return next(
        c
        for c in analysis.contrasts
        if (c.arm, c.comparator, c.measure) == (arm, comparator, measure)
    )


def arm(analysis, name):
    return next(a for a in analysis.arms if a.arm == name)


def scored(key: TrialKey):
    score = SCORES[key.case][key.arm][key.repeat - 1]
    tokens = 3000 if key.arm == "full" else 1000
    return result(key, step(*PASSING[score], tokens=tokens, wall_s=10 * key.repeat))


@pytest.fixture
def small(tmp_path):
    sealed = register(cases=("alpha", "beta"), arms=TWO_ARMS, repeats=2)
    return made(tmp_path, sealed, scored)


def test_a_score_contrast_is_the_one_worked_out_by_hand(small):
    """Cell variances 1/32, 1/32, 0, 1/32, so the variance of the mean over two
    cases is 3/256 on 3 degrees of freedom. Of the 36 ways to swap arms within
    cases, 6 give a difference at least as large."""
    found = contrast(small, "score")
    half = 3.182446305284263 * math.sqrt(3 / 256)
    assert found.estimate == pytest.approx((0.5 + 0.125) / 2)
    assert (found.low, found.high) == pytest.approx((0.3125 - half, 0.3125 + half))
    assert found.p == pytest.approx(6 / 36)
    assert (found.n_blocks, found.n_cases, found.question) == (4, 2, "these tasks")
    assert found.warning is not None
    assert "in 1 of 4 cells" in found.warning
    assert found.refusal is None


def test_no_two_arms_are_compared_twice(small):
    assert {(c.arm, c.comparator) for c in small.contrasts} == {("full", "baseline")}


def test_each_case_has_its_difference_and_those_of_its_blocks(small):
    found = small.case_contrasts[0]
    assert (found.case, found.arm, found.comparator) == ("alpha", "full", "baseline")
    assert (found.difference, found.pairs) == (0.5, (0.5, 0.5))


def test_a_ratio_without_spread_has_an_estimate_but_no_interval(small):
    found = contrast(small, "tokens")
    assert found.estimate == pytest.approx(3.0)
    assert found.ratio_of_totals == 3.0
    assert (found.low, found.high) == (None, None)
    assert found.refusal is not None
    assert found.refusal.startswith("no interval")
    assert found.p == pytest.approx(2 / 36)


def test_a_ratio_with_spread_is_a_ratio_of_geometric_means(small):
    found = contrast(small, "wall_s")
    assert found.estimate == pytest.approx(1.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low * found.high == pytest.approx(1.0)
    assert found.low < 1 < found.high


def test_arms_are_summed_up_with_overhead_against_baseline(small):
    full, baseline = arm(small, "full"), arm(small, "baseline")
    assert full.score == pytest.approx((0.875 + 0.75) / 2)
    assert (full.passed.k, full.passed.n) == (1, 4)
    assert (full.passed.low, full.passed.high) == pytest.approx(
        (0.0455872608, 0.6993582082)
    )
    assert full.tokens is not None
    assert (full.tokens.input, full.tokens.total) == (3000, 3000)
    assert full.overhead is not None
    assert full.overhead.tokens == 3.0
    assert baseline.overhead is None


def test_dollars_are_at_the_registered_accounting_with_list_price_beside(small):
    baseline = arm(small, "baseline")
    assert baseline.usd == pytest.approx(1000 * 15 / 1e6)
    assert baseline.usd_list == pytest.approx(1000 * 4 / 1e6)


def test_trials_all_alike_have_neither_interval_nor_p(tmp_path):
    sealed = register(arms=TWO_ARMS, repeats=2)
    found = contrast(made(tmp_path, sealed, lambda k: result(k, step(*ALL))), "score")
    assert found.estimate == 0
    assert (found.low, found.high, found.p) == (None, None, None)
    assert found.refusal is not None
    assert "no interval" in found.refusal
    assert "no test" in found.refusal


def test_the_rows_of_the_flow_add_up(tmp_path):
    sealed = register(cases=("alpha",), arms=TWO_ARMS, repeats=4)
    first, second, third, _ = (TrialKey("alpha", "full", n) for n in (1, 2, 3, 4))
    others = [TrialKey("alpha", "baseline", n) for n in (1, 2)]
    bodies = [
        *attempts(result(first, step(ended=Ended.TIMED_OUT)), infrastructure(second)),
        AttemptStarted(third, 1),
        *attempts(*(result(key, step()) for key in others)),
    ]
    full, baseline = analyse(sealed, record(tmp_path, sealed, bodies), RATES).flow
    stages = (full.planned, full.started, full.completed, full.scored, full.analysed)
    assert stages == (4, 3, 2, 1, 1)
    assert [(e.after, e.n) for e in full.exclusions] == [
        ("planned", 1),
        ("started", 1),
        ("completed", 1),
    ]
    assert (full.agent_limit, full.grader_died) == (1, 0)
    assert (baseline.scored, baseline.analysed) == (2, 1)
    assert [(e.after, e.n) for e in baseline.exclusions] == [
        ("planned", 2),
        ("scored", 1),
    ]


def test_a_block_that_is_not_whole_is_left_out_of_every_contrast(tmp_path):
    sealed = register(cases=("alpha", "beta"), arms=("full", "auto", "baseline"))
    lost = TrialKey("alpha", "auto", 2)

    def result_of(key):
        return infrastructure(key) if key == lost else result(key, step(*ALL))

    found = made(tmp_path, sealed, result_of)
    assert {c.n_blocks for c in found.contrasts} == {7}
    assert {a.n_trials for a in found.arms} == {7}
    assert (found.design.n_blocks, found.design.n_complete) == (8, 7)
    assert any(limit.startswith("1 of 8 blocks") for limit in found.limits)


def test_usage_that_one_trial_does_not_report_is_unknown_for_its_arm(tmp_path):
    sealed = register(cases=("alpha",), arms=TWO_ARMS, repeats=2)
    silent = TrialKey("alpha", "full", 1)

    def result_of(key):
        return result(key, step(tokens=None if key == silent else 10))

    found = made(tmp_path, sealed, result_of)
    full = arm(found, "full")
    assert (full.tokens, full.usd, full.usd_list) == (None, None, None)
    assert contrast(found, "tokens").refusal is not None
    assert contrast(found, "tokens").estimate is None
    assert [(u.n_trials, u.n_reported) for u in found.usage] == [(2, 1), (2, 2)]
    assert found.cost.counted.n_unreported == 1
    assert found.cost.counted.tokens == 30


def test_a_model_without_a_price_costs_unknown_at_list_price(tmp_path):
    sealed = register(cases=("alpha",), arms=TWO_ARMS, repeats=1)

    def result_of(key):
        made_step = step(*ALL)
        request = msgspec.structs.replace(made_step.requests[0], model="unheard-of")
        return result(key, msgspec.structs.replace(made_step, requests=(request,)))

    found = made(tmp_path, sealed, result_of)
    assert arm(found, "full").usd == pytest.approx(0.015)
    assert arm(found, "full").usd_list is None
    assert found.cost.all_attempts.usd_list is None


def test_all_attempts_are_spent_and_only_those_that_count_enter_an_arm(tmp_path):
    sealed = register(cases=("alpha",), arms=("full",), repeats=1)
    key = TrialKey("alpha", "full", 1)
    wasted = result(key, step(tokens=500, ended=Ended.PROVIDER_FAULT))
    bodies = attempts(wasted, result(key, step(*ALL, tokens=1000), attempt=2))
    found = analyse(sealed, record(tmp_path, sealed, bodies), RATES)
    spent, counted = found.cost.all_attempts, found.cost.counted
    assert (spent.n_attempts, spent.tokens, spent.n_calls) == (2, 1500, 2)
    assert (counted.n_attempts, counted.tokens, counted.n_calls) == (1, 1000, 1)
    assert arm(found, "full").usd == counted.usd


def test_routing_counts_queries_where_repeats_choose_alike(tmp_path):
    sealed = register(repeats=3)
    picks = {"alpha": "skill-a", "beta": "skill-b", "gamma": None}

    def result_of(key):
        if key.arm == "auto":
            return result(key, step(*ALL, picked=picks[key.case]))
        bare = msgspec.structs.replace(step(*ALL), selection=None)
        return result(key, bare)

    (found,) = made(tmp_path, sealed, result_of).routing
    assert (found.arm, found.unit, found.n_queries, found.n_steps) == (
        "auto",
        "queries",
        3,
        9,
    )
    assert (found.exact.k, found.exact.n) == (1, 3)
    assert (found.nothing_picked.k, found.nothing_picked.n) == (1, 3)
    assert {(c.canonical, c.picked, c.n) for c in found.cells} == {
        ("skill-a", "skill-a", 3),
        ("skill-a", "skill-b", 3),
        ("skill-a", "none", 3),
    }


def test_routing_says_what_its_candidates_let_be_right(tmp_path):
    sealed = register(cases=("alpha", "beta"), arms=("auto", "baseline"), repeats=2)
    ranked = {"alpha": "skill-a", "beta": "skill-b"}

    def result_of(key):
        if key.arm != "auto":
            return result(key, msgspec.structs.replace(step(*ALL), selection=None))
        picked = "skill-b" if key.case == "beta" and key.repeat == 2 else None
        how = "model" if picked else "none"
        given = Selection((Candidate(ranked[key.case], 2.0),), picked, how)
        used = Treatment(("guide",), (), ("guide", "guide"), ("skill-b",))
        made = msgspec.structs.replace(step(*ALL), selection=given, treatment=used)
        return result(key, made)

    (found,) = made(tmp_path, sealed, result_of).routing
    assert (found.exact_ceiling.k, found.exact_ceiling.n) == (2, 4)
    assert (found.any_hit_ceiling.k, found.any_hit_ceiling.n) == (2, 4)
    row = next(row for row in found.rows if row.case == "beta")
    assert (row.canonical, row.candidates) == (
        ("skill-a",),
        (Candidate("skill-b", 2.0),),
    )
    assert (row.n_steps, row.picked) == (2, {"none": 1, "skill-b": 1})
    assert row.how == {"model": 1, "none": 1}
    assert (row.offered, row.invoked) == (("guide",), {"guide": 2})
    assert row.read == {"skill-b": 2}


def test_routing_counts_steps_where_repeats_choose_differently(tmp_path):
    sealed = register(cases=("alpha",), arms=("auto", "baseline"), repeats=2)

    def result_of(key):
        picked = "skill-a" if key.repeat == 1 else "skill-b"
        return result(key, step(picked=picked if key.arm == "auto" else None))

    (found,) = made(tmp_path, sealed, result_of).routing
    assert (found.unit, found.exact.k, found.exact.n) == ("steps of trials", 1, 2)


def test_without_a_routed_arm_routing_is_refused_in_a_sentence(small):
    assert small.routing == ()
    assert small.routing_refusal is not None
    assert small.routing_refusal.startswith("No arm of this run")


def test_checks_not_reached_and_dead_graders_count_as_not_passed(tmp_path):
    sealed = register(cases=("alpha",), arms=("full",), repeats=3, steps=("one", "two"))
    results = {
        1: (step(*ALL, slug="one"), step("core", slug="two")),
        2: (step(*ALL, slug="one"),),
        3: (step(*ALL, slug="one"), step("core", slug="two", died="killed")),
    }
    found = made(tmp_path, sealed, lambda key: result(key, *results[key.repeat]))
    row = next(r for r in found.checks if (r.step, r.check) == ("two", "core"))
    assert (row.k, row.n, row.n_not_reached, row.n_grader_died) == (1, 3, 1, 1)
    assert (row.weight, row.complaint) == (2, Complaint.CORE)
    core = next(c for c in found.complaints if c.complaint is Complaint.CORE)
    assert (core.k, core.n) == (4, 6)


def test_a_trial_cut_short_is_said_where_ratios_use_it(tmp_path):
    sealed = register(cases=("alpha",), arms=TWO_ARMS, repeats=2)
    slow = TrialKey("alpha", "full", 1)

    def result_of(key):
        ended = Ended.TIMED_OUT if key == slow else Ended.FINISHED
        return result(key, step(ended=ended))

    found = made(tmp_path, sealed, result_of)
    assert "cut short" in (contrast(found, "wall_s").warning or "")
    assert "cut short" not in (contrast(found, "score").warning or "")


def test_a_regraded_trial_shows_both_verdicts(tmp_path):
    sealed = register(cases=("alpha",), arms=("full",), repeats=1)
    key = TrialKey("alpha", "full", 1)
    bodies = [
        *attempts(result(key, step("core"))),
        Regraded(result(key, step(*ALL)), "from the answers"),
    ]
    found = analyse(sealed, record(tmp_path, sealed, bodies), RATES)
    (row,) = found.regrades
    assert (row.trial, row.score_before, row.score_after) == ("alpha.full.r1", 0.5, 1.0)
    assert found.integrity.ended == "complete"


def test_deviations_are_those_noted_and_those_found_now(tmp_path):
    sealed = register(cases=("alpha",), arms=("full",), repeats=1)
    journal = record(tmp_path, sealed, [Deviation("clock", "a", "b")])
    found = analyse(sealed, journal, RATES, rates_digest="other")
    assert [(d.what, d.at is None) for d in found.deviations] == [
        ("clock", False),
        ("rates", True),
    ]


def test_an_analysis_becomes_json_and_comes_back(small):
    data = msgspec.json.encode(small)
    assert msgspec.json.decode(data, type=Analysis) == small
    assert b"NaN" not in data
    assert b"Infinity" not in data


def test_a_run_that_has_not_begun_is_analysed_without_numbers(tmp_path):
    sealed = register(cases=("alpha",), arms=TWO_ARMS, repeats=1)
    found = analyse(sealed, record(tmp_path, sealed, [], ended="budget"), RATES)
    assert arm(found, "full").score is None
    assert arm(found, "full").passed.low is None
    assert contrast(found, "score").refusal == "no estimate: no block is whole"
    assert found.cost.all_attempts.usd is None
    assert any("not complete (last: budget)" in limit for limit in found.limits)
