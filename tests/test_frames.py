"""What became of planned trials, and its frames."""

from __future__ import annotations

import pytest
import synthetic
from synthetic import attempts, infrastructure, record, register, result, step

from evalkit import facts, frames
from evalkit.errors import InputError
from evalkit.records import AttemptStarted, Ended, Regraded, TrialKey

ALL = ("core", "edge", "docs")
KEY = TrialKey("alpha", "full", 1)
OTHER = TrialKey("alpha", "baseline", 1)


@pytest.fixture
def sealed():
    return register(cases=("alpha",), arms=("full", "baseline"), repeats=1)


def trial_of(tmp_path, sealed, bodies, key=KEY):
    found = facts.gather(sealed, record(tmp_path, sealed, bodies).events)
    return next(trial for trial in found.trials if trial.key == key)


def test_a_trial_that_never_began_is_listed_without_a_score(tmp_path, sealed):
    found = trial_of(tmp_path, sealed, [])
    assert (found.status, found.counts, found.score) == ("not_run", False, None)


def test_a_trial_whose_attempt_left_no_result_is_interrupted(tmp_path, sealed):
    found = trial_of(tmp_path, sealed, [AttemptStarted(KEY, 1)])
    assert (found.status, found.n_started, found.n_ended) == ("interrupted", 1, 0)


def test_the_last_attempt_that_is_not_infrastructure_counts(tmp_path, sealed):
    bodies = attempts(
        infrastructure(KEY), result(KEY, step(*ALL), attempt=2), result(OTHER, step())
    )
    found = trial_of(tmp_path, sealed, bodies)
    assert found.result is not None
    assert (found.result.attempt, found.score, found.passed) == (2, 1.0, True)


def test_of_two_attempts_with_a_result_the_later_counts(tmp_path, sealed):
    bodies = attempts(result(KEY, step(*ALL)), result(KEY, step(), attempt=2))
    found = trial_of(tmp_path, sealed, bodies)
    assert found.score == 0.0


def test_the_first_verdict_counts_and_a_regrade_is_kept_beside_it(tmp_path, sealed):
    bodies = [
        *attempts(result(KEY, step("core"))),
        Regraded(result(KEY, step("core", "edge")), "from the answers"),
    ]
    found = trial_of(tmp_path, sealed, bodies)
    assert found.score == 0.5
    assert facts.score_of(found.again, found.steps) == 0.75
    assert found.regraded == "from the answers"


def test_a_block_with_one_infrastructure_trial_is_not_analysed(tmp_path, sealed):
    bodies = attempts(result(KEY, step(*ALL)), infrastructure(OTHER))
    found = trial_of(tmp_path, sealed, bodies)
    assert (found.counts, found.analysed) == (True, False)


def test_a_trial_at_another_isolation_does_not_count(tmp_path, sealed):
    found = trial_of(
        tmp_path, sealed, attempts(result(KEY, step(*ALL), isolation="none"))
    )
    assert (found.status, found.counts) == (facts.VOID, False)


def test_a_grader_that_died_scores_zero_and_counts(tmp_path, sealed):
    found = trial_of(
        tmp_path, sealed, attempts(result(KEY, step("core", died="killed")))
    )
    assert (found.status, found.score, found.passed) == ("grader_died", 0.0, False)


def test_steps_not_reached_score_zero_and_never_shrink_the_denominator(tmp_path):
    sealed = register(
        cases=("alpha",), arms=("full",), repeats=1, steps=("one", "two", "three")
    )
    only = result(KEY, step(*ALL, slug="one"))
    assert trial_of(tmp_path, sealed, attempts(only)).score == pytest.approx(1 / 3)


def test_usage_that_a_call_does_not_report_is_unknown(tmp_path, sealed):
    found = trial_of(tmp_path, sealed, attempts(result(KEY, step(tokens=None))))
    assert (found.requests, found.tokens) == (None, None)


def test_a_trial_that_was_not_planned_is_refused(tmp_path, sealed):
    stranger = TrialKey("alpha", "full", 9)
    with pytest.raises(InputError, match=r"alpha\.full\.r9"):
        trial_of(tmp_path, sealed, attempts(result(stranger, step())))


def test_frames_hold_the_declared_columns_even_when_empty(tmp_path, sealed):
    found = frames.tidy(facts.gather(sealed, record(tmp_path, sealed, []).events))
    for name, frame in found._asdict().items():
        declared = {column.name: column.dtype for column in frames.COLUMNS[name]}
        assert {c: str(t) for c, t in frame.dtypes.items()} == declared
    assert list(found.trials.status) == ["not_run", "not_run"]
    assert found.trials.score.isna().all()


def test_frames_have_a_row_for_every_check_and_every_request(tmp_path, sealed):
    bodies = attempts(
        result(KEY, step(ended=Ended.PROVIDER_FAULT, tokens=7)),
        result(KEY, step("core", tokens=5), attempt=2),
    )
    journal = record(tmp_path, sealed, bodies)
    found = frames.tidy(facts.gather(sealed, journal.events))
    assert list(found.checks.passed) == [True, False, False]
    assert list(found.checks.weight) == list(synthetic.WEIGHTS.values())
    assert list(zip(found.requests.input, found.requests.counts, strict=True)) == [
        (7, False),
        (5, True),
    ]
    assert list(found.steps.score) == [0.5]
