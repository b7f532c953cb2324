"""Intervals and tests, held against vectors and against counting by hand."""

from __future__ import annotations

import json
import math
import os
from itertools import combinations
from pathlib import Path

import pytest

from evalkit import stats
from evalkit.stats import Interval, PValue, Refusal, Stratum

VECTORS = Path(
    os.environ.get("EVALKIT_STATS_VECTORS")
    or Path(__file__).parent / "data" / "stats_vectors.json"
)
KNOWN = {row["id"]: row for row in json.loads(VECTORS.read_text())["vectors"]}


def strata_of(name):
    scores = KNOWN[name]["inputs"]["scores"]
    return [Stratum(tuple(c["auto"]), tuple(c["baseline"])) for c in scores.values()]


def test_the_exact_permutation_test_counts_what_the_vector_counts():
    expected = KNOWN["stratified_permutation_exact"]["outputs"]
    strata = strata_of("stratified_permutation_exact")
    found = stats.permutation_test(strata, seed=1)
    assert isinstance(found, PValue)
    assert found.n_permutations == expected["n_perm"]
    assert round(found.p * found.n_permutations) == expected["count_two_sided"]
    assert found.p == pytest.approx(expected["p_two_sided"], abs=1e-9)
    assert stats.mean_difference(strata) == pytest.approx(
        expected["mean_diff"], abs=1e-9
    )


def test_the_stratified_welch_interval_is_that_of_the_vector():
    expected = KNOWN["stratified_welch_ci"]["outputs"]
    found = stats.welch_interval(strata_of("stratified_welch_ci"), confidence=0.95)
    assert isinstance(found, Interval)
    assert [found.low, found.high] == pytest.approx(expected["ci95"], abs=1e-9)
    assert found.se == pytest.approx(expected["se"], abs=1e-9)
    assert found.df == pytest.approx(expected["df"], abs=1e-8)
    assert found.n_constant_cells == expected["zero_variance_cells"]


@pytest.mark.parametrize("name", [k for k in KNOWN if k.startswith("proportion_")])
def test_intervals_of_rates_are_those_of_the_vectors(name):
    asked, expected = KNOWN[name]["inputs"], KNOWN[name]["outputs"]
    k, n = asked["k"], asked["n"]
    assert stats.wilson(k, n) == pytest.approx(expected["wilson"], abs=1e-9)
    assert stats.clopper_pearson(k, n) == pytest.approx(
        expected["clopper_pearson"], abs=1e-9
    )


def test_passes_are_tested_as_zeros_and_ones():
    """The scores of the permutation vector, cut to passed or not."""
    strata = [
        Stratum(*(tuple(float(x == 1) for x in cell) for cell in stratum))
        for stratum in strata_of("stratified_permutation_exact")
    ]
    found = stats.permutation_test(strata, seed=1)
    assert isinstance(found, PValue)
    assert found.p == pytest.approx(0.187755102, abs=1e-9)


def test_ratios_of_costs_are_those_of_the_vector():
    asked, expected = KNOWN["cost_ratio"]["inputs"], KNOWN["cost_ratio"]["outputs"]
    strata = [
        Stratum(tuple(asked["a"][i : i + 4]), tuple(asked["b"][i : i + 4]))
        for i in (0, 4, 8)
    ]
    logs = stats.log_strata(strata)
    assert not isinstance(logs, Refusal)
    assert math.exp(stats.mean_difference(logs)) == pytest.approx(
        expected["gmr"], abs=1e-9
    )
    assert stats.ratio_of_totals(strata) == pytest.approx(
        expected["ratio_of_totals"], abs=1e-9
    )


def test_a_permutation_p_agrees_with_listing_every_permutation():
    strata = [Stratum((0.3, 0.9), (0.1, 0.2)), Stratum((0.5, 1.0, 0.7), (0.6, 0.6))]
    observed = abs(stats.mean_difference(strata))
    listed = [
        abs(stats.mean_difference([one, other]))
        for one in _swapped(strata[0])
        for other in _swapped(strata[1])
    ]
    expected = sum(value >= observed - 1e-12 for value in listed) / len(listed)
    found = stats.permutation_test(strata, seed=1)
    assert isinstance(found, PValue)
    assert found.n_permutations == len(listed) == 60
    assert found.p == pytest.approx(expected, abs=1e-12)


def _swapped(stratum):
    pooled = stratum.arm + stratum.comparator
    places = range(len(pooled))
    for chosen in combinations(places, len(stratum.arm)):
        yield Stratum(
            tuple(pooled[i] for i in chosen),
            tuple(pooled[i] for i in places if i not in chosen),
        )


def test_many_permutations_are_drawn_by_seed_and_never_give_zero():
    low = tuple(math.sqrt(n) for n in range(12))
    strata = [Stratum(tuple(9 + x for x in low), low)] * 2
    found = stats.permutation_test(strata, seed=7)
    assert isinstance(found, PValue)
    assert found == stats.permutation_test(strata, seed=7)
    assert found.p == 1 / (stats.N_DRAWS + 1)
    assert found.method == stats.DRAWN


def test_drawn_and_counted_permutations_agree(monkeypatch):
    strata = strata_of("stratified_permutation_exact")
    monkeypatch.setattr(stats.permutations, "MAX_EXACT", 1)
    found = stats.permutation_test(strata, seed=3)
    assert isinstance(found, PValue)
    assert found.p == pytest.approx(0.0897959, abs=0.01)


def test_trials_all_alike_are_not_tested():
    strata = [Stratum((1.0, 1.0), (1.0, 1.0)), Stratum((0.5, 0.5), (0.5, 0.5))]
    assert isinstance(stats.permutation_test(strata, seed=1), Refusal)


def test_cells_without_spread_give_no_interval_of_width_zero():
    strata = [Stratum((1.0, 1.0), (0.5, 0.5))]
    assert isinstance(stats.welch_interval(strata, confidence=0.95), Refusal)


def test_a_constant_that_has_no_exact_mean_is_still_constant():
    cell = (0.1, 0.1, 0.1)
    strata = [Stratum(cell, (0.7, 0.7, 0.7))]
    assert isinstance(stats.welch_interval(strata, confidence=0.95), Refusal)


def test_a_single_trial_in_a_cell_gives_no_interval():
    strata = [Stratum((1.0,), (0.5,))]
    assert isinstance(stats.welch_interval(strata, confidence=0.95), Refusal)


def test_zeros_have_no_ratio_of_means_but_one_of_totals():
    strata = [Stratum((0.0, 3.0), (1.0, 1.0))]
    assert isinstance(stats.log_strata(strata), Refusal)
    assert stats.ratio_of_totals(strata) == 1.5
    assert stats.ratio_of_totals([Stratum((1.0,), (0.0,))]) is None


def test_no_trials_have_no_rate():
    assert stats.wilson(0, 0) is None
    assert stats.clopper_pearson(0, 0) is None


def test_a_difference_without_trials_is_refused():
    with pytest.raises(ValueError, match="needs a case"):
        stats.mean_difference([])


def test_passes_at_least_once_and_every_time():
    for name, row in KNOWN.items():
        if name.startswith("passk_"):
            n, c, k = (row["inputs"][key] for key in "nck")
            assert stats.pass_at_k(n, c, k) == pytest.approx(
                row["outputs"]["pass_at_k"], abs=1e-9
            )
            assert stats.pass_hat_k(n, c, k) == pytest.approx(
                row["outputs"]["pass_hat_k"], abs=1e-9
            )
    assert isinstance(stats.pass_at_k(2, 1, 3), Refusal)


def test_no_discordant_pair_gives_bounds_and_no_p():
    found = stats.mcnemar(0, 0, both=12, neither=0)
    assert isinstance(found, Refusal)
    assert found.bounds["newcombe_half_width"] == pytest.approx(0.242494, abs=1e-6)
    assert found.bounds["discordance"] == pytest.approx(0.220922, abs=1e-6)


def test_a_gate_of_two_and_two_is_fooled_one_time_in_four():
    worst = stats.worst_false_pass(stats.GateRule(2, 1, 2))
    assert worst == pytest.approx((0.25, math.sqrt(0.5)), abs=1e-9)
