"""What can be claimed of a difference, what cannot, and what would move it."""

from __future__ import annotations

import math

import msgspec
import pytest
import synthetic
from synthetic import infrastructure, register, result, step

from evalkit import arms, gates, prices, stats, tables
from evalkit.analysis import analyse, sensitivity
from evalkit.choices import with_presets
from evalkit.errors import InputError
from evalkit.plan import load_plan
from evalkit.records import Corpus, Ended, Plan, Preset
from evalkit.stats.tasks import t_quantile

RATES = prices.rates()
ALL = ("core", "edge", "docs")
EIGHT = tuple("abcdefgh")
DECLARED = ("full against baseline",)


def analysed(tmp_path, result_of, *, cases=("a", "b", "c"), repeats=4, **plan):
    sealed = register(
        cases=cases,
        arms=plan.pop("arms", ("full", "baseline")),
        repeats=repeats,
        **{"confirmatory": DECLARED, **plan},
    )
    return analyse(sealed, synthetic.run(tmp_path, sealed, result_of), RATES)


def better(key):
    """Full mostly passes, baseline half, each with some spread."""
    if key.arm == "full":
        return result(key, step(*(ALL if key.repeat > 1 else ("core", "edge"))))
    return result(key, step(*(("core", "edge") if key.repeat > 2 else ("docs",))))


def alike(key):
    return result(key, step(*ALL))


def main(rows, **where):
    found = {"arm": "full", "comparator": "baseline", **where}
    return next(
        row
        for row in rows
        if all(getattr(row, name) == value for name, value in found.items())
    )


def test_only_declared_contrasts_of_the_outcome_count_and_are_corrected(tmp_path):
    found = analysed(
        tmp_path,
        better,
        arms=("full", "auto", "baseline"),
        confirmatory=("full against baseline", "auto against baseline"),
    )
    counting = [c for c in found.contrasts if c.confirmatory]
    assert {(c.arm, c.comparator, c.measure) for c in counting} == {
        ("full", "baseline", "score"),
        ("auto", "baseline", "score"),
    }
    expected = stats.holm({c.arm: c.p for c in counting})
    assert {c.arm: c.p_holm for c in counting} == expected
    assert main(counting).p_holm > main(counting).p
    assert all(c.p_holm is None for c in found.contrasts if not c.confirmatory)


def test_a_plan_declares_every_arm_against_the_first_comparator_unless_it_says_other():
    corpus = Corpus(
        "made", (), Preset(("full", "auto", "baseline"), 4), "", pinned=False
    )
    plan = with_presets(Plan("made"), corpus, {})
    assert plan.confirmatory == ("full against baseline", "auto against baseline")
    named = with_presets(Plan("made", confirmatory=DECLARED), corpus, {})
    assert named.confirmatory == DECLARED
    with pytest.raises(InputError, match="auto against nobody"):
        with_presets(Plan("made", confirmatory=("auto against nobody",)), corpus, {})


def test_no_two_arms_are_compared_twice():
    pairs = arms.comparisons(("full", "baseline", "placebo"), ("baseline", "placebo"))
    assert pairs == (
        ("full", "baseline"),
        ("placebo", "baseline"),
        ("full", "placebo"),
    )


def test_ties_are_blocks_that_came_out_the_same(tmp_path):
    found = analysed(
        tmp_path, lambda key: alike(key) if key.repeat < 3 else better(key)
    )
    assert main(found.contrasts, measure="score").n_ties == 6


def test_equivalence_is_shown_only_by_an_interval_inside_the_margin(tmp_path):
    def close(key):
        return result(key, step(*(ALL if key.repeat > 1 else ("core", "edge"))))

    row = main(analysed(tmp_path / "close", close, margin=0.5).equivalences)
    assert row.shown
    assert -0.5 < row.low < row.high < 0.5
    far = main(analysed(tmp_path / "far", better, margin=0.05).equivalences)
    assert not far.shown
    constant = main(analysed(tmp_path / "constant", alike).equivalences)
    assert (constant.shown, constant.p, constant.low) == (False, None, None)
    assert "all trials" in constant.refusal


def test_equivalence_is_not_shown_by_cells_without_spread(tmp_path):
    """Five of six cells are constant: an interval is narrow for want of knowledge."""

    def nearly(key):
        lone = (key.case, key.arm, key.repeat) == ("a", "full", 1)
        return result(key, step("core", "edge")) if lone else alike(key)

    found = analysed(tmp_path, nearly, margin=0.5)
    row = main(found.equivalences)
    assert (row.shown, row.p) == (False, None)
    assert "in 5 of 6 cells" in row.refusal
    contrast = main(found.contrasts, measure="score")
    assert contrast.warning.startswith("do not lean on this interval")
    assert "do not lean" in main(found.sensitivity, registered=True).refusal


def test_so_few_trials_that_nothing_could_be_seen_are_not_called_no_difference(
    tmp_path,
):
    found = gates.judge(analysed(tmp_path, better, cases=("a",), repeats=1))
    contrast = main(found.contrasts, measure="score")
    assert contrast.p_least == 1
    assert contrast.is_blind(0.95)
    said = tables.answer(found).text
    assert "so few, or so alike, can show no difference" in said
    assert "larger than the spread" not in said
    seen = next(gate for gate in found.gates if gate.name == "difference seen")
    assert seen.verdict == "unknown"
    enough = analysed(tmp_path / "enough", better)
    assert not main(enough.contrasts, measure="score").is_blind(0.95)


def test_leaving_out_a_case_never_gives_an_interval_without_width(tmp_path):
    found = analysed(tmp_path, alike)
    row = main(found.sensitivity, method="leaving out one case (least to greatest)")
    assert (row.low, row.high) == (None, None)
    assert row.refusal


@pytest.mark.parametrize(
    "line",
    [
        "margin = 0.0",
        "margin = -0.1",
        "margin = nan",
        "margin = inf",
        "confidence = 0.1",
    ],
)
def test_a_plan_that_no_report_could_be_made_of_is_refused(tmp_path, line):
    path = tmp_path / "plan.toml"
    path.write_text(f'corpus = "made"\n{line}\n')
    with pytest.raises(InputError, match=line.split()[0]):
        load_plan(path)


def test_tasks_like_these_are_spoken_of_from_six_cases(tmp_path):
    few = main(analysed(tmp_path / "few", better).beyond)
    assert (few.low, few.p) == (None, None)
    assert "3, where at least 6 are needed" in few.refusal

    def uneven(key):
        return better(key) if key.case in "abcdef" else alike(key)

    many = main(analysed(tmp_path / "many", uneven, cases=EIGHT).beyond)
    assert many.low < many.estimate < many.high
    assert many.p == pytest.approx(2 * 0.5**6)


def test_every_other_method_stands_beside_the_registered_one(tmp_path):
    found = analysed(tmp_path, better)
    rows = [r for r in found.sensitivity if r.arm == "full"]
    assert [row.method for row in rows] == list(sensitivity.METHODS)
    assert [row.registered for row in rows] == [True] + [False] * (len(rows) - 1)
    first, contrast = rows[0], main(found.contrasts, measure="score")
    assert (first.estimate, first.low, first.high, first.p) == (
        contrast.estimate,
        contrast.low,
        contrast.high,
        contrast.p,
    )
    blocks = main(found.sensitivity, method="blocks as pairs")
    assert blocks.estimate == pytest.approx(contrast.estimate)
    assert blocks.high - blocks.low != pytest.approx(contrast.high - contrast.low)
    assert "at least 6 are needed" in rows[2].refusal
    assert "no bootstrap" in rows[-1].refusal


def test_trials_cut_short_are_left_out_by_whole_blocks(tmp_path):
    def cut(key):
        if (key.case, key.arm, key.repeat) == ("a", "full", 1):
            return result(key, step("docs", ended=Ended.TIMED_OUT))
        return better(key)

    found = analysed(tmp_path, cut)
    row = main(found.sensitivity, method="without trials cut short or ungraded")
    left = analysed(
        tmp_path / "left",
        lambda key: (
            infrastructure(key) if (key.case, key.repeat) == ("a", 1) else better(key)
        ),
    )
    assert row.estimate == main(left.contrasts, measure="score").estimate
    assert row.estimate != main(found.contrasts, measure="score").estimate


def test_one_case_that_carries_a_difference_alone_is_seen(tmp_path):
    found = analysed(
        tmp_path, lambda key: better(key) if key.case == "a" else alike(key)
    )
    row = main(found.sensitivity, method="leaving out one case (least to greatest)")
    assert row.low == 0
    assert row.high == pytest.approx(row.estimate * 1.5)


def test_missing_results_are_taken_at_their_worst_and_at_their_best(tmp_path):
    def lost(key):
        if (key.case, key.arm, key.repeat) == ("a", "full", 1):
            return infrastructure(key)
        return better(key)

    found = analysed(tmp_path, lost)
    row = main(found.missing)
    assert (row.n_planned, row.n_complete) == (12, 11)
    assert row.high - row.low == pytest.approx(1 / 12)
    assert row.low == pytest.approx(row.all_zero)
    assert row.complete_case == pytest.approx(
        sum(pair for c in found.case_contrasts for pair in c.pairs) / 11
    )
    whole = main(analysed(tmp_path / "whole", better).missing)
    assert whole.low == whole.high == whole.complete_case
    assert whole.sentence == "no pair is missing"


def test_what_a_design_can_detect_is_told_for_the_seen_and_for_assumed_spreads(
    tmp_path,
):
    rows = [r for r in analysed(tmp_path, better).detectable if r.arm == "full"]
    assert [row.seen for row in rows] == [True, False, False, False]
    assert [row.sd for row in rows[1:]] == [0.1, 0.2, 0.3]
    assert rows[1].difference == pytest.approx(rows[3].difference / 3)
    assert analysed(tmp_path / "one", better, repeats=1).detectable == ()
    constant = analysed(tmp_path / "constant", alike).detectable
    assert not any(row.seen for row in constant)


def test_hypotheses_stand_beside_what_came_out(tmp_path):
    found = analysed(tmp_path, better)
    rows = tables.hypotheses(found).rows
    assert [row[0] for row in rows] == ["a", "b", "c"]
    for name, hypothesis, came_out in rows:
        difference = main(found.case_contrasts, case=name).difference
        assert hypothesis == "The skill shows what to do."
        assert came_out == f"against baseline: full +{difference:.2f}"


def test_every_table_of_differences_shows_what_is_refused(tmp_path):
    text = tables.robustness(analysed(tmp_path, better)).text
    assert "as registered: stratified by case" in text
    assert "3, where at least 6 are needed" in text
    assert "not shown to be smaller than 0.10" in text
    assert "nothing is missing" in text
    empty = tables.robustness(analysed(tmp_path / "none", infrastructure)).text
    assert "missing data could reverse the difference" in empty


def test_an_arm_has_an_interval_of_its_own(tmp_path):
    """Cells of four with variances 1/64 (one of 0.75 and three of 1) in each case."""
    found = analysed(tmp_path, better)
    (arm,) = (arm for arm in found.arms if arm.arm == "full")
    half = t_quantile(9) * math.sqrt(3 * (1 / 64 / 4) / 9)
    middle = (3 * 1 + 0.75) / 4
    assert middle + half > 1
    assert (arm.score_low, arm.score_high) == pytest.approx((middle - half, 1))
    (same,) = (
        arm for arm in analysed(tmp_path / "same", alike).arms if arm.arm == "full"
    )
    assert (same.score_low, same.score_high) == (None, None)


def test_an_analysis_of_nothing_refuses_everything(tmp_path):
    found = analysed(tmp_path, infrastructure)
    assert main(found.equivalences).refusal
    assert main(found.beyond).refusal
    assert all(row.refusal and row.estimate is None for row in found.sensitivity)
    assert found.detectable == ()
    row = main(found.missing)
    assert (row.n_complete, row.low, row.high) == (0, -1, 1)
    assert row.straddles
    assert msgspec.json.encode(found)
