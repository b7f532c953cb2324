"""scoring: weights as integers, and the one line a verdict is stated in."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import scoring
from evalkit.records import CheckResult, Grade

CHECKS = (
    CheckResult("a", 4, passed=True),
    CheckResult("b", 3, passed=False, reason="said no"),
)
CHECK = {"id": "a", "weight": 1, "passed": True, "reason": ""}


def _line(score=1.0, checks=(CHECK,)):
    return scoring.PREFIX + json.dumps({"score": score, "checks": list(checks)})


def _grade(*checks, died=None):
    return Grade(checks, seed=1, grader_digest="d", wall_s=0.1, died=died)


def test_a_step_scores_the_weights_won_over_all_weights():
    assert scoring.step_score(CHECKS) == 4 / 7


def test_ten_tenths_make_exactly_one():
    parts = [
        CheckResult(str(n), weight, passed=True)
        for n, weight in enumerate((4, 3, 2, 1))
    ]
    assert scoring.step_score(parts) == 1.0


def test_a_step_without_checks_has_no_score():
    with pytest.raises(ValueError, match="at least one check"):
        scoring.step_score(())


def test_a_trial_scores_the_mean_over_all_its_steps_reached_or_not():
    won = _grade(CheckResult("a", 1, passed=True))
    assert scoring.trial_score([won, None, _grade(died="no verdict")]) == 1 / 3


def test_a_dead_grader_scores_zero_whatever_checks_it_left():
    assert (
        scoring.grade_score(_grade(CheckResult("a", 1, passed=True), died="x")) == 0.0
    )


def test_passed_means_every_check_of_every_step():
    won, lost = _grade(CheckResult("a", 1, passed=True)), _grade(*CHECKS)
    assert scoring.passed([won, won])
    assert not scoring.passed([won, lost])
    assert not scoring.passed([won, None])
    assert not scoring.passed([won, _grade(died="x")])
    assert not scoring.passed([_grade()])
    assert not scoring.passed([])


@pytest.mark.parametrize(("text", "score"), [("7/9", 7 / 9), ("0/3", 0.0), ("3/3", 1)])
def test_an_expected_score_is_written_as_won_over_total(text, score):
    assert scoring.parse_share(text) == score


@pytest.mark.parametrize("text", ["0.5", "1", "10/9", "-1/9", "1/0", "0/0", "a/b", ""])
def test_an_expected_score_in_any_other_form_is_refused(text):
    with pytest.raises(ValueError, match="score"):
        scoring.parse_share(text)


checks_strategy = st.lists(
    st.builds(CheckResult, st.text(), st.integers(1, 99), st.booleans(), st.text()),
    min_size=1,
    unique_by=lambda check: check.id,
)


@given(checks_strategy)
def test_what_a_line_states_is_read_back(checks):
    assert scoring.parse_score_line(scoring.score_line(checks)) == tuple(checks)


def test_other_output_around_the_line_is_passed_over():
    text = f"starting\n  ECC_EVAL\n{_line()}\nECC_EVAL_SCOREBOARD\ndone\n"
    assert [check.id for check in scoring.parse_score_line(text)] == ["a"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no score line"),
        ("almost: " + _line(), "no score line"),
        (_line() + "\n" + _line(), "2 score lines"),
        (_line() + "\nhides the next: " + _line(), "does not begin its line"),
        (scoring.PREFIX + "{", "malformed"),
        (scoring.PREFIX + "[" * 100_000, "malformed"),
        (_line(float("nan")), "NaN is not JSON"),
        (_line(float("inf")), "Infinity is not JSON"),
        (scoring.PREFIX + '{"score": 1e999, "checks": []}', "no checks"),
        (_line().replace("1.0", "1e999"), "outside 0..1"),
        (_line(1.5), "outside 0..1"),
        (_line(-0.5), "outside 0..1"),
        (_line("1.0"), "malformed"),
        (_line(0.5), "but the checks give 1.0"),
        (_line(1.0 - 1e-8), "but the checks give 1.0"),
        (_line(checks=()), "no checks"),
        (_line(checks=(CHECK, CHECK)), "occurs twice"),
        (_line(checks=({**CHECK, "weight": 0},)), "below 1"),
        (_line(checks=({**CHECK, "weight": 1.5},)), "malformed"),
        (_line(checks=({**CHECK, "weight": True},)), "malformed"),
        (_line(checks=({**CHECK, "passed": 1},)), "malformed"),
        (_line(checks=({**CHECK, "passed": "true"},)), "malformed"),
        (_line(checks=({"id": "a", "weight": 1},)), "malformed"),
        (_line(checks=({**CHECK, "extra": 1},)), "malformed"),
        (_line().replace('"score"', '"score": 0.0, "score"'), "occurs twice"),
    ],
)
def test_anything_but_one_well_formed_line_is_refused_by_name(text, why):
    with pytest.raises(ValueError, match=why):
        scoring.parse_score_line(text)


def test_a_score_may_differ_from_the_checks_by_rounding():
    won = {**CHECK, "weight": 1}
    lost = {"id": "b", "weight": 2, "passed": False, "reason": ""}
    assert len(scoring.parse_score_line(_line(0.3333333333, (won, lost)))) == 2


def test_a_reason_that_utf8_cannot_hold_is_made_plain_and_a_long_one_cut():
    odd = CheckResult("a", 1, passed=False, reason="seen \ud800" + "x" * 10_000)
    (read,) = scoring.parse_score_line(scoring.score_line([odd]))
    assert read.reason.startswith("seen \\ud800x")
    assert len(read.reason) == scoring.MAX_REASON
    msgspec.json.encode(read)
