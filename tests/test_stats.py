"""Intervals and tests: held against vectors, other libraries and counting by hand.

Vectors come from the file that EVALKIT_STATS_VECTORS names, else from that in the
repository. Each is one test, to its own tolerance, over every key of its outputs.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
import stats_families as known
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats import contingency_tables, multitest, power, proportion
from statsmodels.stats.weightstats import ttost_paired

from evalkit import stats
from evalkit.stats import GateRule, Interval, PValue, Refusal, Stratum, Times

OURS = Path(__file__).parent / "data" / "stats_vectors.json"
OUR_ROWS = {row["id"]: row for row in json.loads(OURS.read_text())["vectors"]}
VECTORS = Path(os.environ.get("EVALKIT_STATS_VECTORS") or OURS)
ROWS = json.loads(VECTORS.read_text())["vectors"]
NOTHING = (None, "refuse")
"""What a record has in place of a number that there is not."""


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_vector(row):
    family = known.family_of(row)
    for key, expected in row["outputs"].items():
        if key == "refuse":
            assert known.refuses(row, ROWS) is expected, row["id"]
            continue
        try:
            found = family.ask(row["inputs"], key, ROWS)
        except KeyError as error:
            raise AssertionError(
                f"{row['id']}: nobody here knows the output {key!r}"
            ) from error
        where = f"{row['id']}: {key} {known.DO_NOT_USE.get(key, '')}"
        if isinstance(found, Refusal):
            hold_refused(found, expected, row["outputs"], where, key)
        else:
            hold(found, expected, row["tol"], where, key)


def hold_refused(found, expected, outputs, where, key):
    """We refuse where the record has nothing, or what data all alike give elsewhere:
    a p of 1, ranks that add up to 0 beside it, an error or an interval of width 0."""
    assert found.sentence
    ones = {name for name in outputs if known.P_OF_ONE.match(name)}
    ones = {name for name in ones if outputs[name] == 1}
    width_0 = isinstance(expected, list) and len(set(expected)) == 1
    assert (
        expected in NOTHING
        or key in ones
        or (key == "statistic" and expected == 0 and ones)
        or (key.startswith("count") and expected == outputs.get("n_perm"))
        or (key.startswith("se") and expected == 0)
        or (key.startswith(("ci", "percentile")) and width_0)
    ), f"{where}: {found.sentence}, not {expected}"


def hold(found, expected, tol, where, key):
    if isinstance(found, Refusal):
        assert expected in NOTHING, f"{where}: {found.sentence}, not {expected}"
    elif key == "front":
        assert sorted(found) == sorted(expected), where
    elif isinstance(expected, dict):
        assert set(found) == set(expected), where
        for name, value in expected.items():
            hold(found[name], value, tol, f"{where}.{name}", key)
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for at, pair in enumerate(zip(found, expected, strict=True)):
            hold(*pair, tol, f"{where}[{at}]", key)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=tol, abs=tol), where
    elif isinstance(expected, int) and not isinstance(expected, bool):
        assert found == pytest.approx(expected, abs=tol), where
    else:
        assert found == expected, where


def test_a_vector_of_no_known_family_fails_with_a_sentence():
    row = {"id": "novel", "inputs": {"q": 1}, "outputs": {"r": 2}}
    with pytest.raises(LookupError, match="of no family known here"):
        known.family_of(row)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [("passk_2_1_3", {"n": 2, "c": 1, "k": 3}, {"refuse": True}),
     ("passk_3_1_2", {"n": 3, "c": 1, "k": 2}, {"refuse": False}),
     ("normalised_gain", {"pairs": [[1.0, 0.9]]}, {"g": ["refuse"]}),
     ("wilcoxon_none", {"d": [0.0] * 5}, {"statistic": 0.0, "p_permutation_exact": 1}),
     ("se_clustered_same", {"x": [1.0] * 4, "cluster": [0, 0, 1, 1]},
      {"se_finite_corrected": None, "t_crit_df1": 12.7062047362}),
     ("se_clustered_one", {"x": [1.0, 0.5], "cluster": [0, 0]},
      {"se_finite_corrected": None, "se_miller_uncorrected": 0.0}),
     ("cluster_bootstrap_same", {"cluster_means": [0.1] * 3},
      {"distinct": 1, "rademacher_min_p": 0.25, "percentile95": [0.1, 0.1]}),
     ("stratified_welch_same", {"scores": {"a": {"b": [1, 1], "full": [0.5, 0.5]}}},
      {"mean_diff": -0.5, "se": None, "ci95": "refuse", "zero_variance_cells": 2})],
)  # fmt: skip
def test_a_vector_of_data_that_give_nothing(name, inputs, outputs):
    row = {"id": name, "inputs": inputs, "outputs": outputs, "tol": 1e-9}
    test_a_vector(row)
    # The same record with another number in place of each is not met.
    for key, value in outputs.items():
        wrong = (not value) if key == "refuse" else 0.7
        with pytest.raises(AssertionError):
            test_a_vector({**row, "outputs": {**outputs, key: wrong}})


@pytest.mark.parametrize(
    ("name", "like"),
    [("mcnemar_7_3", "mcnemar_5_1"), ("other", "tost_tasks3"), ("x", "iqm_profile"),
     ("signflip_tasks5", "signflip_tasks3"), ("y", "missing_pairs")],
)  # fmt: skip
def test_a_vector_is_known_by_its_name_or_its_shape(name, like):
    row = OUR_ROWS[like]
    assert known.family_of({**row, "id": name}).ask is known.family_of(row).ask


STRATA = [
    Stratum((1.0, 1.0, 1.0, 8 / 9), (1.0, 8 / 9, 1.0, 7 / 9)),
    Stratum((1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 0.875)),
    Stratum((0.9, 1.0, 1.0, 1.0), (0.9, 0.8, 1.0, 0.9)),
]


# --- these tasks ---------------------------------------------------------------


def test_passes_are_tested_as_zeros_and_ones():
    strata = [
        Stratum(*(tuple(float(x == 1) for x in cell) for cell in stratum))
        for stratum in STRATA
    ]
    found = stats.permutation_test(strata, seed=1)
    assert isinstance(found, PValue)
    assert found.p == pytest.approx(0.187755102, abs=1e-9)


def test_a_permutation_p_agrees_with_listing_every_permutation():
    strata = [Stratum((0.3, 0.9), (0.1, 0.2)), Stratum((0.5, 1.0, 0.7), (0.6, 0.6))]
    observed = stats.mean_difference(strata)
    listed = [
        stats.mean_difference([one, other])
        for one in _swapped(strata[0])
        for other in _swapped(strata[1])
    ]
    found = stats.permutation_test(strata, seed=1)
    greater = stats.permutation_test(strata, seed=1, alternative="greater")
    assert isinstance(found, PValue)
    assert isinstance(greater, PValue)
    assert found.n_permutations == len(listed) == 60
    n_two = sum(abs(value) >= abs(observed) - 1e-12 for value in listed)
    n_greater = sum(value >= observed - 1e-12 for value in listed)
    assert found.p == pytest.approx(n_two / 60, abs=1e-12)
    assert greater.p == pytest.approx(n_greater / 60, abs=1e-12)


def _swapped(stratum):
    pooled = stratum.arm + stratum.comparator
    places = range(len(pooled))
    for chosen in combinations(places, len(stratum.arm)):
        yield Stratum(
            tuple(pooled[i] for i in chosen),
            tuple(pooled[i] for i in places if i not in chosen),
        )


def test_the_two_tails_of_uneven_cells_are_counted_apart():
    found = stats.permutation_test([Stratum((0.0,) * 3, (1.0,))], seed=1)
    assert found.p == pytest.approx(1 / 4)


def test_one_stratum_agrees_with_scipy():
    arm, other = STRATA[0]
    expected = scipy_stats.permutation_test(
        (arm, other), lambda a, b: np.mean(a) - np.mean(b)
    )
    found = stats.permutation_test([STRATA[0]], seed=1)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-12)


def test_many_permutations_are_counted_where_few_sums_are_distinct():
    strata = [Stratum((1.0,) * 12, (0.0,) * 12)] * 2
    found = stats.permutation_test(strata, seed=7)
    assert isinstance(found, PValue)
    assert found.method == stats.EXACT
    assert found.p == pytest.approx(2 / math.comb(24, 12) ** 2, rel=1e-9)


def uneven_scores(n_cases):
    """Cases whose every trial has a score of another denominator; the arm wins."""
    for case in range(n_cases):
        parts = [6 + (case + trial) % 6 for trial in range(8)]
        low = tuple((1 + trial % 2) / parts[trial] for trial in range(4))
        yield Stratum(tuple(1 - (1 + n % 2) / parts[n] for n in range(4, 8)), low)


def test_permutations_of_any_scores_are_counted_in_eight_cases():
    strata = [*uneven_scores(8)]
    found = stats.permutation_test(strata, seed=1)
    assert found.method == stats.EXACT
    assert found.p == pytest.approx(2 / 70**8, rel=1e-12)


@pytest.mark.parametrize(
    ("root", "most", "most_added"),
    [(1.0, 100, 10**8), (1.0, 3500, 0), (math.sqrt(2), 3500, 10**8)],
    ids=["places of scores", "halves of scores", "halves of others"],
)
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_a_p_is_the_same_however_its_permutations_are_counted(
    monkeypatch, root, most, most_added, alternative
):
    strata = [
        Stratum(
            (root * low[0], *(root * x for x in arm)), tuple(root * x for x in low[1:])
        )
        for arm, low in uneven_scores(3)
    ]
    whole = stats.permutation_test(strata, seed=1, alternative=alternative)
    monkeypatch.setattr(stats.permutations, "MAX_EXACT", most)
    monkeypatch.setattr(stats.permutations, "MAX_ADDED", most_added)
    found = stats.permutation_test(strata, seed=1, alternative=alternative)
    assert found.method == whole.method == stats.EXACT
    assert found.p == pytest.approx(whole.p, rel=1e-12)


def test_many_permutations_are_drawn_by_seed_and_never_give_zero():
    low = tuple(math.sqrt(n) for n in range(12))
    strata = [Stratum(tuple(9 + x for x in low), low)] * 2
    found = stats.permutation_test(strata, seed=7)
    assert isinstance(found, PValue)
    assert found == stats.permutation_test(strata, seed=7)
    assert found.p == 1 / (stats.N_DRAWS + 1)
    assert found.method == stats.DRAWN


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_drawn_and_counted_permutations_agree(monkeypatch, alternative):
    counted = stats.permutation_test(STRATA, seed=3, alternative=alternative)
    monkeypatch.setattr(stats.permutations, "MAX_EXACT", 1)
    found = stats.permutation_test(STRATA, seed=3, alternative=alternative)
    assert found.method == stats.DRAWN
    assert found.p == pytest.approx(counted.p, abs=0.01)


def test_drawn_permutations_do_not_hang_on_order_or_names(monkeypatch):
    monkeypatch.setattr(stats.permutations, "MAX_EXACT", 1)
    uneven = [*STRATA[:2], Stratum((0.9, 1.0), (0.9, 0.8, 1.0, 0.9))]
    found = stats.permutation_test(uneven, seed=3)
    turned = [Stratum(s.arm[::-1], s.comparator) for s in uneven[::-1]]
    renamed = [Stratum(s.comparator, s.arm) for s in uneven]
    assert stats.permutation_test(turned, seed=3) == found
    assert stats.permutation_test(renamed, seed=3) == found


def test_floats_that_should_be_equal_are_equal():
    exact = [Stratum((0.3, 0.6, 0.9), (0.3, 0.3, 0.6))] * 2
    noisy = [Stratum((0.1 + 0.2, 0.6, 0.9), (0.3, 0.1 + 0.2, 0.2 * 3))] * 2
    expected = stats.permutation_test(exact, seed=1)
    assert stats.permutation_test(noisy, seed=1).p == pytest.approx(expected.p, 1e-12)


def test_counting_70_to_the_third_and_fifty_contrasts_takes_no_second():
    begun = time.perf_counter()
    stats.permutation_test(STRATA, seed=1)
    for _ in range(50):
        stats.permutation_test(STRATA, seed=1)
    assert time.perf_counter() - begun < 2


def test_cells_without_spread_give_no_interval_of_width_zero():
    strata = [Stratum((1.0, 1.0), (0.5, 0.5))]
    assert isinstance(stats.welch_interval(strata, confidence=0.95), Refusal)
    assert isinstance(stats.equivalence_of_strata(strata, margin=0.1), Refusal)


def test_a_constant_that_has_no_exact_mean_is_still_constant():
    strata = [Stratum((0.1, 0.1, 0.1), (0.7, 0.7, 0.1 + 0.6))]
    assert isinstance(stats.welch_interval(strata, confidence=0.95), Refusal)


def test_a_single_trial_in_a_cell_gives_no_interval():
    strata = [Stratum((1.0,), (0.5,))]
    assert isinstance(stats.welch_interval(strata, confidence=0.95), Refusal)


def test_a_difference_without_trials_is_refused():
    with pytest.raises(ValueError, match="needs a case"):
        stats.mean_difference([])


# --- tasks like these ----------------------------------------------------------

SIX = [0.1, 0.0, 0.2, 0.1, -0.1, 0.3]


def test_below_six_cases_nothing_is_claimed_of_tasks_like_these():
    five = SIX[:5]
    strata = [Stratum((2.0 + d, 2.0), (1.0, 3.0)) for d in five]
    for found in (
        stats.sign_flip_test(five, seed=1),
        stats.t_test(five),
        stats.t_interval(five, confidence=0.95),
        stats.clustered_interval(five * 2, [*range(5)] * 2, confidence=0.95),
        stats.equivalence_of_cases(five, margin=0.5),
        stats.ratio_of_cases(strata, confidence=0.95),
        stats.icc1(five * 2, [*range(5)] * 2),
        stats.signed_rank_test(five),
    ):
        assert isinstance(found, Refusal)
        assert re.search(r"5, where at least 6|[45] of at least 6", found.sentence)


def test_from_six_cases_on_they_are_claimed():
    assert stats.sign_flip_test(SIX, seed=1).p == pytest.approx(
        scipy_stats.permutation_test(
            (SIX,), np.mean, permutation_type="samples", n_resamples=np.inf
        ).pvalue
    )
    expected = scipy_stats.ttest_1samp(SIX, 0).confidence_interval(0.95)
    found = stats.t_interval(SIX, confidence=0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_many_sign_flips_are_drawn_by_seed():
    many = [math.sqrt(n) for n in range(1, 41)]
    found = stats.sign_flip_test(many, seed=2)
    assert found.p == 1 / 20_000
    assert found == stats.sign_flip_test(many[::-1], seed=2)
    mixed = [x * (-1) ** i for i, x in enumerate(many)]
    p = stats.sign_flip_test(mixed, seed=2).p
    assert p == stats.sign_flip_test([-x for x in mixed], seed=2).p
    assert p == pytest.approx(
        2 * scipy_stats.norm.sf(abs(sum(mixed)) / math.hypot(*mixed)), abs=0.03
    )


def test_one_cluster_has_no_standard_error():
    found = stats.clustered_error([0.1, 0.2, 0.4], ["a"] * 3)
    assert isinstance(found, Refusal)
    assert "two cases" in found.sentence


def test_clusters_alike_have_no_standard_error():
    for scale in (1, 1e7):
        values = [scale * x for x in (0.1, 0.3, 0.2, 0.3, 0.1, 0.2)]
        found = stats.clustered_error(values, [1, 1, 1, 2, 2, 2])
        assert isinstance(found, Refusal)


def test_a_clustered_interval_is_by_t():
    values, clusters = SIX + SIX[::-1], [*range(6)] * 2
    error = stats.clustered_error(values, clusters)
    found = stats.clustered_interval(values, clusters, confidence=0.95)
    half = error.se * scipy_stats.t.ppf(0.975, 5)
    assert found.high - found.low == pytest.approx(2 * half)


def test_equivalence_agrees_with_statsmodels():
    found = stats.equivalence_of_cases(SIX, margin=0.3)
    p, lower, upper = ttost_paired(np.array(SIX), np.zeros(6), -0.3, 0.3)
    assert (found.p, found.p_lower, found.p_upper) == pytest.approx(
        (p, lower[1], upper[1])
    )
    assert found.shown is bool(p < 0.05)


def test_equivalence_of_these_tasks_uses_the_error_of_the_interval():
    found = stats.equivalence_of_strata(STRATA, margin=0.2)
    interval = stats.welch_interval(STRATA, confidence=0.90)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    t = (stats.mean_difference(STRATA) - 0.2) / interval.se
    assert found.p_upper == pytest.approx(scipy_stats.t.cdf(t, interval.df))
    assert found.shown


def test_equivalence_needs_a_margin():
    with pytest.raises(ValueError, match="margin"):
        stats.equivalence_of_cases(SIX, margin=0.0)


def test_a_bootstrap_over_few_cases_is_refused():
    assert isinstance(stats.bootstrap_interval(SIX, confidence=0.95, seed=1), Refusal)
    assert isinstance(stats.exact_bootstrap([0.1, 0.1]), Refusal)
    assert isinstance(stats.exact_bootstrap([0.1]), Refusal)
    two = stats.exact_bootstrap([0.1, 0.3])
    assert (two.n_distinct, two.low, two.high, two.tail_mass) == (3, 0.1, 0.3, 0.25)
    assert isinstance(
        stats.bootstrap_interval([0.2] * 12, confidence=0.95, seed=1), Refusal
    )


@pytest.mark.parametrize("root", [1.0, 1 / 3, math.sqrt(2)])
@pytest.mark.parametrize("tenths", [(1, 2, 3), (1, 2, 3, 7), (-5, 0, 12, 13, 30)])
def test_means_that_should_be_equal_are_one_mean(tenths, root):
    sums = {sum(chosen) for chosen in product(tenths, repeat=len(tenths))}
    found = stats.exact_bootstrap([x / 10 * root for x in tenths])
    assert found.n_distinct == len(sums)


@pytest.mark.parametrize(
    "levels",
    [[k / 9 for k in range(10)], [math.sqrt(k) for k in range(4)], None],
    ids=["by the law of the sum", "by counts", "by index"],
)
def test_resampled_means_have_the_mean_and_spread_of_a_bootstrap(levels):
    rng = np.random.default_rng(4)
    values = rng.choice(levels, 1000) if levels else rng.random(1000)
    pairs = np.column_stack([values, np.roll(values, 1)])
    means = stats.bootstrap_means(pairs, 20_000, seed=1)
    difference = pairs[:, 0] - pairs[:, 1]
    assert means.shape == (20_000,)
    assert means.mean() == pytest.approx(difference.mean(), abs=1e-3)
    expected = difference.std() / math.sqrt(1000)
    assert means.std() == pytest.approx(expected, rel=0.03)
    again = stats.bootstrap_means(rng.permutation(difference), 20_000, seed=1)
    assert means == pytest.approx(again, abs=1e-12)


@pytest.mark.parametrize(("n_ones", "n"), [(1, 100), (99, 100), (3, 11), (50, 100)])
def test_the_law_of_a_resampled_sum_is_the_binomial(n_ones, n):
    passes = [1.0] * n_ones + [0.0] * (n - n_ones)
    sums = np.rint(stats.bootstrap_means(passes, 50_000, seed=1) * n).astype(int)
    seen = np.bincount(sums, minlength=n + 1) / 50_000
    expected = scipy_stats.binom.pmf(np.arange(n + 1), n, n_ones / n)
    assert seen == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("n_ones", "n"), [(1, 100), (30, 100), (2500, 5000)])
def test_the_law_of_a_sum_is_right_to_the_noise_of_floats(n_ones, n):
    cells = stats.resamples._cells(np.repeat([0.0, 1.0], [n - n_ones, n_ones]))
    law = stats.resamples._law_of_sum(cells, 10_000)
    sums = law.first + np.arange(len(law.reached))
    expected = scipy_stats.binom.cdf(sums, n, n_ones / n)
    assert law.denominator == 1
    assert law.reached == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("n", [20, 60], ids=["by index", "by counts"])
def test_how_often_values_are_drawn_is_multinomial(n):
    """Values without a common denominator: each sum tells all counts."""
    counts = (n - 5, 3, 2)
    means = stats.bootstrap_means(
        np.repeat([0.0, 1.0, math.sqrt(2)], counts), 50_000, seed=1
    )
    law = scipy_stats.multinomial(n, np.array(counts) / n)
    few = range(7)
    for ones, roots in product(few, few):
        at = np.isclose(means * n, ones + roots * math.sqrt(2), atol=1e-6)
        expected = law.pmf([n - ones - roots, ones, roots])
        assert at.mean() == pytest.approx(expected, abs=0.007)


def test_a_bootstrap_interval_is_near_that_of_scipy():
    d = [math.sin(n) for n in range(40)]
    found = stats.bootstrap_interval(d, confidence=0.9, seed=3)
    expected = scipy_stats.bootstrap(
        (d,), np.mean, confidence_level=0.9, method="percentile", rng=1
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.01)


# --- rates ---------------------------------------------------------------------


def test_no_trials_have_no_rate():
    for interval in (stats.wilson, stats.clopper_pearson, stats.jeffreys):
        assert interval(0, 0) is None
    assert isinstance(stats.newcombe(0, 0, 1, 2), Refusal)
    assert isinstance(stats.fisher(0, 0, 1, 2), Refusal)
    assert isinstance(stats.hierarchical_rate([], []), Refusal)
    assert isinstance(stats.macro(stats.pass_at_k, [], 1), Refusal)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize(("k", "n"), [(0, 7), (3, 7), (7, 7), (41, 90)])
def test_intervals_of_rates_agree_with_scipy(k, n, confidence):
    test = scipy_stats.binomtest(k, n)
    assert stats.wilson(k, n, confidence=confidence) == pytest.approx(
        tuple(test.proportion_ci(confidence, "wilson")), abs=1e-12
    )
    assert stats.clopper_pearson(k, n, confidence=confidence) == pytest.approx(
        tuple(test.proportion_ci(confidence, "exact")), abs=1e-12
    )


@pytest.mark.parametrize("four", [(3, 5, 1, 6), (9, 9, 4, 9), (0, 4, 4, 4)])
def test_two_rates_agree_with_statsmodels_and_scipy(four):
    k, n, k_other, n_other = four
    assert stats.newcombe(*four) == pytest.approx(
        proportion.confint_proportions_2indep(*four, method="newcomb"), abs=1e-9
    )
    table = [[k, k_other], [n - k, n_other - k_other]]
    assert stats.fisher(*four) == pytest.approx(scipy_stats.fisher_exact(table).pvalue)
    assert stats.boschloo(*four) == pytest.approx(
        scipy_stats.boschloo_exact(table).pvalue, abs=1e-6
    )
    one, other = np.random.default_rng(1).beta(
        [[k + 1], [k_other + 1]], [[n - k + 1], [n_other - k_other + 1]], (2, 40_000)
    )
    assert stats.probability_greater(*four) == pytest.approx(
        float((one > other).mean()), abs=0.01
    )


def test_all_passing_in_both_arms_is_bounded_and_not_tested():
    for test in (stats.fisher, stats.boschloo):
        found = test(12, 12, 12, 12)
        assert isinstance(found, Refusal)
        assert found.bounds["newcombe_half_width"] == pytest.approx(0.242494, abs=1e-6)
    assert "no trial passed" in stats.fisher(0, 3, 0, 3).sentence


@pytest.mark.parametrize(("b", "c"), [(5, 1), (2, 9), (4, 4)])
def test_discordant_pairs_agree_with_statsmodels(b, c):
    found = stats.mcnemar(b, c)
    table = [[3, b], [c, 2]]
    assert found.p == pytest.approx(contingency_tables.mcnemar(table).pvalue)
    half = scipy_stats.binom.pmf(min(b, c), b + c, 0.5)
    assert found.p_mid == pytest.approx(
        2 * scipy_stats.binom.cdf(min(b, c), b + c, 0.5) - half
    )


def test_no_discordant_pair_gives_bounds_and_no_p():
    found = stats.mcnemar(0, 0, both=12, neither=0)
    assert isinstance(found, Refusal)
    assert found.bounds["newcombe_half_width"] == pytest.approx(0.242494, abs=1e-6)
    assert found.bounds["discordance"] == pytest.approx(0.220922, abs=1e-6)
    assert "no discordant pair among 12" in found.sentence
    assert stats.mcnemar(0, 0).bounds == {}
    half = stats.mcnemar(0, 0, both=6, neither=6).bounds["newcombe_half_width"]
    assert half == pytest.approx(stats.newcombe(6, 12, 6, 12)[1])


def test_more_tries_than_trials_have_no_rate():
    assert isinstance(stats.pass_at_k(2, 1, 3), Refusal)
    assert isinstance(stats.pass_hat_k(2, 1, 3), Refusal)
    found = stats.macro(stats.pass_hat_k, [(4, 3), (2, 2)], 3)
    assert isinstance(found, Refusal)
    assert "1 of 2 cases" in found.sentence


def test_cases_weigh_the_same_in_a_macro_mean():
    assert stats.macro(stats.pass_hat_k, [(4, 3), (2, 2)], 2) == pytest.approx(0.75)


@pytest.mark.parametrize(("n", "c", "k"), [(5, 3, 2), (6, 1, 4)])
def test_pass_at_k_counts_every_choice_of_trials(n, c, k):
    chosen = list(combinations([True] * c + [False] * (n - c), k))
    assert stats.pass_at_k(n, c, k) == pytest.approx(np.mean([*map(any, chosen)]))
    assert stats.pass_hat_k(n, c, k) == pytest.approx(np.mean([*map(all, chosen)]))


def test_impossible_counts_are_errors():
    for call in (
        lambda: stats.wilson(3, 2),
        lambda: stats.mcnemar(-1, 2),
        lambda: stats.least_p_of_pairs(-1, 2),
        lambda: stats.least_p_of_strata([]),
        lambda: stats.pass_at_k(2, 3, 1),
        lambda: stats.pass_at_k(2, 1, 0),
        lambda: stats.sign_test(3, 2),
        lambda: stats.ceiling_bound(0),
        lambda: stats.hierarchical_rate([3], [2]),
        lambda: stats.worst_false_pass(GateRule(2, 3, 2)),
        lambda: stats.t_detectable(1, sd=0.1),
        lambda: stats.t_sample_size(0.0, sd=0.1),
        lambda: stats.stratified_detectable([(1, 4)], [0.1]),
        lambda: stats.bootstrap_means([], 10, 1),
        lambda: stats.restricted_mean_time(Times((), (), 600)),
    ):
        with pytest.raises(ValueError, match=r"\w+ "):
            call()


@pytest.mark.parametrize(
    "rule", [GateRule(2, 1, 2), GateRule(3, 1, 2), GateRule(5, 2, 4), GateRule(2, 2, 2)]
)
def test_the_worst_false_pass_is_nowhere_exceeded(rule):
    worst = stats.worst_false_pass(rule)
    rates = np.linspace(0, 1, 997)
    seen = max(stats.passing_probability(rule, p, p) for p in rates)
    assert seen <= worst.probability + 1e-12
    assert worst.probability == pytest.approx(seen, abs=1e-5)


def test_a_gate_counts_every_outcome():
    def chance(k, p):
        return math.comb(3, k) * p**k * (1 - p) ** (3 - k)

    expected = (chance(0, 0.3) + chance(1, 0.3)) * (chance(2, 0.8) + chance(3, 0.8))
    found = stats.passing_probability(GateRule(3, 1, 2), 0.3, 0.8)
    assert found == pytest.approx(expected)


# --- families, power, time, money ----------------------------------------------


def test_adjusted_p_agree_with_statsmodels():
    p = [0.04, 0.001, 0.3, 0.012, 0.012]
    family = {str(i): value for i, value in enumerate(p)}
    for ours, theirs in ((stats.holm, "holm"), (stats.benjamini_hochberg, "fdr_bh")):
        expected = multitest.multipletests(p, method=theirs)[1]
        assert [*ours(family).values()] == pytest.approx(list(expected))


def test_a_refused_member_still_counts_in_its_family():
    assert stats.holm({"a": 0.01, "b": None}) == {"a": 0.02, "b": None}
    assert stats.benjamini_hochberg({"a": 0.01, "b": None}) == {"a": 0.02, "b": None}
    assert stats.benjamini_hochberg({"b": None}) == {"b": None}


def test_power_by_t_agrees_with_statsmodels():
    ask = power.TTestPower()
    for n in (3, 12, 40):
        expected = 0.2 * ask.solve_power(nobs=n, alpha=0.05, power=0.9)
        found = stats.t_detectable(n, sd=0.2, power=0.9)
        assert found == pytest.approx(expected, rel=1e-5)
    expected = ask.solve_power(effect_size=0.8, alpha=0.01, power=0.8)
    found = stats.t_sample_size(0.8, sd=1.0, alpha=0.01)
    assert found == pytest.approx(expected, rel=1e-6)
    assert stats.t_sample_size(1e6, sd=1.0) == 2.0


def test_a_stratified_design_detects_what_a_t_test_of_its_error_does():
    one, twice = stats.stratified_detectable([(4, 4)] * 3, [0.1, 0.2])
    se = 0.1 * math.sqrt(3 * (1 / 4 + 1 / 4)) / 3
    limit = scipy_stats.t.ppf(0.975, 18)
    law = scipy_stats.nct(18, one.difference / se)
    assert law.sf(limit) + law.cdf(-limit) == pytest.approx(0.8)
    assert twice.difference == pytest.approx(2 * one.difference)
    assert twice.sd == 0.2


def test_an_impossible_power_is_an_error():
    with pytest.raises(ValueError, match="power"):
        stats.t_detectable(5, sd=0.1, power=1.0)


def test_a_level_as_great_as_the_power_detects_no_difference_at_all():
    assert stats.t_detectable(5, sd=0.1, alpha=0.8, power=0.8) < 1e-6
    assert stats.t_detectable(5, sd=0.1, alpha=0.8, power=0.5) == 0


@pytest.mark.parametrize("shift", [4.9, 5.2, 7.51, 16.0])
def test_power_counts_both_tails_where_scipy_has_no_lower_one(shift):
    limit = scipy_stats.t.ppf(0.995, 7)
    chi = scipy_stats.chi(7, scale=7**-0.5)
    expected = chi.expect(
        lambda s: (
            scipy_stats.norm.cdf(shift - limit * s)
            + scipy_stats.norm.cdf(-shift - limit * s)
        )
    )
    assert stats.power._power(shift, 7, 0.01) == pytest.approx(expected, abs=1e-7)


def test_zeros_have_no_ratio_of_means_but_one_of_totals():
    strata = [Stratum((0.0, 3.0), (1.0, 1.0))]
    assert isinstance(stats.log_strata(strata), Refusal)
    assert isinstance(stats.ratio_of_cases(strata, confidence=0.95), Refusal)
    assert isinstance(stats.ratio_of_pairs([0.0], [1.0], confidence=0.95), Refusal)
    assert stats.ratio_of_totals(strata) == 1.5
    assert stats.ratio_of_totals([Stratum((1.0,), (0.0,))]) is None


def test_equal_ratios_give_no_interval():
    found = stats.ratio_of_pairs([0.2 * n for n in range(1, 9)],
                                 [0.1 * n for n in range(1, 9)], confidence=0.95)  # fmt: skip
    assert isinstance(found, Refusal)


SLOW = Times((120, 180, 600, 310), (True, True, False, True), 600)


def test_times_under_different_limits_are_not_compared():
    other = SLOW._replace(limit_s=300)
    assert isinstance(stats.contrast_times(SLOW, other), Refusal)
    assert isinstance(stats.log_rank(SLOW, other), Refusal)
    assert isinstance(stats.log_rank(SLOW, Times((), (), 600)), Refusal)


def test_times_that_tell_nothing_are_not_tested():
    never = Times((600, 600), (False, False), 600)
    same = Times((5, 5), (True, True), 600)
    assert isinstance(stats.log_rank(never, never), Refusal)
    assert isinstance(stats.log_rank(same, same), Refusal)
    assert stats.median_time(never) is None
    assert stats.restricted_mean_time(never) == 600


def test_a_restricted_mean_is_the_mean_where_all_ran_to_the_limit():
    assert stats.restricted_mean_time(SLOW) == pytest.approx(
        (120 + 180 + 600 + 310) / 4
    )
    early = Times((100, 200, 600), (True, False, True), 600)
    assert stats.restricted_mean_time(early) == pytest.approx(100 + 500 * 2 / 3)


def test_a_contrast_of_times_says_all_of_it():
    quick = Times((90, 130, 200, 260), (True,) * 4, 600)
    found = stats.contrast_times(SLOW, quick)
    assert found.mean_s == 302.5
    assert found.comparator_mean_s == 170
    assert (found.median_s, found.comparator_median_s) == (310, 200)
    assert 0 < found.test.p < 1


def test_missing_pairs_that_could_turn_the_sign_say_so():
    found = stats.missing_pairs([1.0, None, 0.5], [0.5, 0.5, None])
    assert found.straddles
    assert "could reverse" in found.sentence
    assert (found.low, found.high) == pytest.approx((-0.5 / 3, 1.5 / 3))
    sure = stats.missing_pairs([1.0] * 9 + [None], [0.0] * 10)
    assert not sure.straddles
    assert "no values of theirs" in sure.sentence
    assert not stats.missing_pairs([0.0, None], [0.0, 0.0]).straddles
    assert not stats.missing_pairs([0.0, 0.0], [0.0, None]).straddles
    assert "no pair" in stats.missing_pairs([1.0], [0.0]).sentence
    assert isinstance(stats.missing_pairs([], []), Refusal)
    assert stats.missing_pairs([None], [1.0]).complete_case is None


# --- descriptions --------------------------------------------------------------


def test_agreement_of_unequal_clusters():
    values, clusters = [1, 2, 3, 5, 6, 9, 8.0], [1, 1, 1, 2, 2, 3, 3]
    found = stats.icc1(values, clusters, n_least=2)
    groups = ([1, 2, 3], [5, 6], [9, 8])
    f = scipy_stats.f_oneway(*groups).statistic
    size = (7 - (9 + 4 + 4) / 7) / 2
    assert found == pytest.approx((f - 1) / (f + size - 1))


def test_agreement_needs_repeats_and_spread():
    assert isinstance(stats.icc1([1.0, 2.0], [1, 2], n_least=2), Refusal)
    assert isinstance(stats.icc1([1.0] * 4, [1, 1, 2, 2], n_least=2), Refusal)
    for ask in (stats.icc1, stats.design_effect, stats.variance_ratio):
        assert isinstance(ask([1.0, 2.0, 3.0, 4.0], [1, 1, 2, 2]), Refusal)
        assert isinstance(ask([1.0] * 4, [1, 1, 2, 2], n_least=2), Refusal)
    assert isinstance(stats.correlation([1.0, 1.0], [1.0, 2.0]), Refusal)


def test_signed_ranks_agree_with_scipy_where_none_is_tied():
    d = [0.1, -0.25, 0.3, 0.7, -0.05, 0.9, 1.1]
    found = stats.signed_rank_test(d)
    expected = scipy_stats.wilcoxon(d, method="exact")
    assert (found.statistic, found.p) == pytest.approx(tuple(expected))


def test_ranks_of_nothing_are_refused():
    assert isinstance(stats.signed_rank_test([0.0] * 9, n_least=1), Refusal)
    assert isinstance(stats.sign_test(0, 0), Refusal)
    assert isinstance(stats.hodges_lehmann([0.0], keep_zeros=False), Refusal)


def test_a_score_that_was_whole_gains_nothing():
    assert isinstance(stats.normalised_gain(1.0, 1.0), Refusal)
    assert isinstance(stats.normalised_gain(1.0 + 1e-15, 0.9), Refusal)
    assert stats.normalised_gain(0.95, 1.0).near_ceiling
    assert not stats.normalised_gain(0.9, 1.0).near_ceiling


def test_ties_stay_on_the_front():
    points = {"a": (1.0, 0.5), "b": (1.0, 0.5), "c": (1.0, 0.4), "d": (0.5, 0.1)}
    assert set(stats.pareto_front(points)) == {"a", "b", "d"}


def test_picks_where_nothing_is_needed():
    found = stats.hits([[], []], [[], ["x"]])
    assert (found.exact, found.any_hit, found.top1) == (0.5, None, None)
    assert isinstance(stats.hits([], []), Refusal)
    table = stats.by_class([["a"], ["a", "b"]], [["a"], ["b"]])
    assert table["a"].recall == 0.5
    assert table["b"] == (1.0, 1.0, 1.0)


def test_a_share_of_nothing_is_what_was_declared():
    truth, picks = [["a"], ["b"], []], [["a"], [], []]
    strict = {"a": (1.0, 1.0, 1.0), "b": (0.0, 0.0, 0.0)}
    assert stats.by_class(truth, picks) == strict
    assert stats.by_class(truth, picks, zero_division=1.0)["b"] == (1.0, 0.0, 0.0)
    assert stats.macro_retrieval(truth, picks).precision == 0.5
    assert stats.item_retrieval(truth, picks).precision == pytest.approx(1 / 3)
    assert stats.jaccard(truth, picks) == pytest.approx(2 / 3)
    nothing = stats.micro_retrieval([[]], [[]])
    assert nothing == (0.0, 0.0, 0.0)
    assert stats.hamming_loss([[]], [[]]) == 0


@pytest.mark.parametrize(
    "ask", [stats.hits, stats.micro_retrieval, stats.item_retrieval, stats.by_class,
            stats.jaccard, stats.hamming_loss]
)  # fmt: skip
def test_truth_and_picks_are_of_one_length(ask):
    with pytest.raises(ValueError, match=r"length|argument"):
        ask([["a"], ["b"]], [["a"]])


def test_columns_of_different_length_are_an_error():
    for ask in (stats.correlation, stats.clustered_error, stats.missing_pairs):
        with pytest.raises(ValueError, match="columns of one length"):
            ask([0.1, 0.2], [1])


@pytest.mark.parametrize("ask", [stats.wilson, stats.clopper_pearson, stats.jeffreys])
@pytest.mark.parametrize("k", [-1, 3])
def test_more_passes_than_trials_are_an_error(ask, k):
    with pytest.raises(ValueError, match="passes must lie between"):
        ask(k, 2)


def test_bounds_of_a_single_trial():
    assert stats.ceiling_bound(1) == 0.05
    assert stats.zero_discordance_bound(1, alpha=0.1) == pytest.approx(0.9)


# --- properties ----------------------------------------------------------------

# Machines that test many things at once are slow now and then, which is no fault.
patient = settings(deadline=None)

SCORES = st.sampled_from([0.0, 0.1 + 0.2, 0.3, 1 / 3, 0.5, 0.7, 7 / 9, 1.0])
CELLS = st.lists(SCORES, min_size=1, max_size=4).map(tuple)
DESIGNS = st.lists(st.builds(Stratum, CELLS, CELLS), min_size=1, max_size=4)


@patient
@given(st.floats(-5, 5), st.integers(1, 12), st.integers(2, 5))
def test_constant_data_give_no_p_and_no_interval(value, n_cases, n_trials):
    """Every function that could: none gives width 0 or a p of 1."""
    cell = (value,) * n_trials
    strata = [Stratum(cell, cell)] * n_cases
    zeros, same = [0.0] * n_cases, [value] * n_cases
    clusters = [i // n_trials for i in range(n_cases * n_trials)]
    for found in (
        stats.permutation_test(strata, seed=1),
        stats.welch_interval(strata, confidence=0.95),
        stats.equivalence_of_strata(strata, margin=0.1),
        stats.sign_flip_test(zeros, seed=1, n_least=2),
        stats.t_test(same, n_least=2),
        stats.t_interval(same, confidence=0.95, n_least=2),
        stats.clustered_error([value] * len(clusters), clusters),
        stats.clustered_interval(
            [value] * len(clusters), clusters, confidence=0.9, n_least=2
        ),
        stats.equivalence_of_cases(same, margin=0.1, n_least=2),
        stats.icc1([value] * len(clusters), clusters, n_least=2),
        stats.signed_rank_test(zeros, n_least=1),
        stats.bootstrap_interval(same, confidence=0.95, seed=1),
        stats.exact_bootstrap(same),
        stats.correlation(same, same),
        stats.mcnemar(0, 0, both=n_cases, neither=n_trials),
        stats.fisher(n_cases, n_cases, n_trials, n_trials),
        stats.boschloo(0, n_cases, 0, n_trials),
        stats.ratio_of_pairs([3.7] * n_cases, [1.3] * n_cases, confidence=0.9),
    ):
        assert isinstance(found, Refusal)
        assert found.sentence


@patient
@given(
    st.floats(0.2, 0.999), st.floats(0.5, 0.99), st.integers(1, 100),
    st.integers(2, 50), st.floats(0.01, 20),
)  # fmt: skip
@example(0.99, 0.8, 8, 4, 5.0)
@example(0.99, 0.8, 5, 2, 5.0)
@example(0.2, 0.8, 1, 2, 0.01)
@example(0.999, 0.99, 2, 2, 0.01)
def test_what_any_design_detects_is_a_number(confidence, power, cases, repeats, size):
    levels = {"alpha": 1 - confidence, "power": power}
    spread = stats.Spread(0.1, 0.2, 0.3)
    (cell,) = stats.stratified_detectable([(repeats, repeats)] * cases, [0.2], **levels)
    found = [
        cell.difference,
        stats.t_detectable(max(cases, 2), sd=0.2, **levels),
        stats.t_sample_size(size, sd=1.0, **levels),
        stats.miller_detectable(cases, spread, n_repeats=repeats, **levels),
        stats.miller_sample_size(size, spread, n_repeats=repeats, **levels),
    ]
    assert all(0 <= x < math.inf for x in found)
    # What is enough cases for a difference detects that difference.
    if found[2] > 2:
        again = stats.t_detectable(found[2], sd=1.0, **levels)
        assert again == pytest.approx(size, rel=1e-6)


@patient
@given(st.integers(1, 300), st.data())
def test_an_interval_of_a_rate_has_width(n, data):
    k = data.draw(st.sampled_from([0, n, n // 2]))
    for interval in (stats.wilson, stats.clopper_pearson, stats.jeffreys):
        low, high = interval(k, n)
        assert 0 <= low < high <= 1
        assert low <= k / n <= high or interval is stats.jeffreys
    low, high = stats.newcombe(k, n, k, n)
    assert low < 0 < high


@patient
@given(DESIGNS)
def test_a_permutation_p_is_the_same_for_both_arms_and_any_order(strata):
    found = stats.permutation_test(strata, seed=1)
    turned = [Stratum(s.comparator[::-1], s.arm[::-1]) for s in strata[::-1]]
    again = stats.permutation_test(turned, seed=1)
    assert type(found) is type(again)
    if isinstance(found, PValue):
        assert again.p == pytest.approx(found.p, abs=1e-12)


@patient
@given(
    st.lists(
        st.builds(
            Stratum,
            *[st.lists(SCORES, min_size=1, max_size=3).map(tuple)] * 2,
        ),
        min_size=1,
        max_size=2,
    )
)
@example([Stratum((1.0,), (0.0,))])
@example([Stratum((1.0,) * 3, (0.0,)), Stratum((0.5, 0.5), (0.5,))])
def test_the_least_p_is_that_of_the_most_telling_labels(strata):
    found = [
        stats.permutation_test([*labels], seed=1)
        for labels in product(*map(_swapped, strata))
    ]
    least = min(1.0 if isinstance(one, Refusal) else one.p for one in found)
    assert stats.least_p_of_strata(strata) == pytest.approx(least, rel=1e-9)


@patient
@given(st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.1 + 0.2, 1 / 3, 5.0]), max_size=7))
def test_the_least_p_of_cases_is_that_of_one_sign(differences):
    least = stats.least_p_of_cases(differences)
    found = stats.sign_flip_test(differences, seed=1, n_least=2)
    if isinstance(found, PValue):
        assert found.p == pytest.approx(least)
    else:
        assert least == 1 or len(differences) < 2


@pytest.mark.parametrize("n", range(1, 9))
def test_the_least_p_of_pairs_is_that_of_one_side(n):
    all_p = [stats.mcnemar(b, n - b).p for b in range(n + 1)]
    assert stats.least_p_of_pairs(1, n - 1) == pytest.approx(min(all_p))


def test_a_test_of_next_to_nothing_cannot_reach_a_level():
    assert stats.least_p_of_strata([Stratum((1.0,), (0.0,))]) == 1
    assert stats.least_p_of_strata([Stratum((0.3, 0.3), (0.3, 0.3))]) == 1
    assert stats.least_p_of_strata([Stratum((1.0, 0.9), (0.1, 0.2))]) == 1 / 3
    assert stats.least_p_of_pairs(1, 0) == stats.least_p_of_pairs(0, 0) == 1
    assert stats.least_p_of_cases([0.0, 0.0, 0.1, 0.1]) == 0.5


@patient
@given(DESIGNS, st.randoms(use_true_random=False))
def test_no_statistic_hangs_on_the_order_of_trials(strata, rng):
    shuffled = [
        Stratum(*(tuple(rng.sample(cell, len(cell))) for cell in s)) for s in strata
    ]
    rng.shuffle(shuffled)
    for ask in (
        lambda x: stats.permutation_test(x, seed=1, alternative="greater"),
        lambda x: stats.welch_interval(x, confidence=0.95),
        lambda x: stats.equivalence_of_strata(x, margin=0.2),
        lambda x: stats.t_interval([s.difference for s in x], confidence=0.9),
        lambda x: stats.sign_flip_test([s.difference for s in x], seed=1, n_least=2),
    ):
        one, other = ask(strata), ask(shuffled)
        assert type(one) is type(other)
        if not isinstance(one, Refusal):
            numbers = [x for x in one if isinstance(x, float)]
            again = [x for x in other if isinstance(x, float)]
            assert again == pytest.approx(numbers, rel=1e-9, abs=1e-12)


@patient
@given(DESIGNS)
def test_an_interval_is_never_without_width(strata):
    found = stats.welch_interval(strata, confidence=0.95)
    if isinstance(found, Interval):
        assert found.low < found.high


@patient
@given(st.lists(SCORES, min_size=6, max_size=30), st.lists(SCORES, min_size=30))
def test_intervals_of_cases_have_width(arm, comparator):
    d = [a - b for a, b in zip(arm, comparator, strict=False)]
    assume(len(d) >= 6)
    found = stats.t_interval(d, confidence=0.95)
    if isinstance(found, Interval):
        assert found.low < found.high
    else:
        assert max(d) - min(d) < 1e-9
    flipped = stats.sign_flip_test(d, seed=1)
    if isinstance(flipped, PValue):
        mirrored = stats.sign_flip_test([-x for x in d], seed=1)
        assert mirrored.p == pytest.approx(flipped.p, abs=1e-12)


def test_a_refusal_is_a_sentence_without_code():
    found = stats.sign_flip_test([0.1], seed=1)
    assert re.fullmatch(r"[a-z][^_{}]+", found.sentence)
