"""calibration: what is planted comes out, and a method that lies is seen."""

import json
import math
import os
import random
import signal
import subprocess
import sys
from itertools import pairwise

import msgspec
import pytest
import synthetic
from conftest import REPOSITORY

from evalkit import prices, registration, stats
from evalkit.analysis import analyse, contrasts, facts, tallies
from evalkit.calibration import N_AT_ONCE, calibrate, choose, telling
from evalkit.calibration.judging import Claim, as_reported, outcomes_of
from evalkit.calibration.planting import ALIKE, LIKE_THESE, arm_of, plant, score_law
from evalkit.calibration.scenarios import SCENARIOS, Scenario, Spread
from evalkit.errors import InfrastructureError, InputError
from evalkit.schedule import blocks_of

RATES = prices.rates()
Z_95 = 1.959964
N_RUNS, N_MIXED = 400, 120
MIXED = Scenario("mixed", 8, 2, 4, Spread((0.5,), 0.35, (4,), (-0.3, 0.3)), (0.0, 0.15))


def planted(name, n=0):
    scenario = SCENARIOS[name]
    return plant(scenario, next(scenario.batches()), random.Random(n))


def priced(run):
    found = facts.gather(run.registration, run.events)
    return tallies.price_trials(found, RATES, run.registration.plan.accounting)


def rows_of(found, question, measure):
    return [r for r in found.rows if (r.question, r.measure) == (question, measure)]


@pytest.fixture(scope="module")
def preset():
    return calibrate(choose(["3x5x4"]), n_runs=N_RUNS, seed=3)


@pytest.fixture(scope="module")
def mixed():
    return calibrate([MIXED], n_runs=N_MIXED, seed=3)


def z_instead_of_t(sealed, trials):
    """The stratified interval of the report, but for one wrong quantile."""
    for arm, comparator in contrasts.pairs_of(sealed):
        strata = contrasts.strata_of(trials, arm, comparator, "score")
        middle, error = stats.mean_difference(strata), stats.strata.welch_error(strata)
        half = Z_95 * error.se if not isinstance(error, stats.Refusal) else None
        interval = (middle - half, middle + half) if half else None
        yield Claim(arm, contrasts.QUESTION, "score", middle, interval, None)


def these_taken_for_all(sealed, trials):
    """What is said of these tasks, passed off as said of tasks like these."""
    for claim in as_reported(sealed, trials):
        if (claim.question, claim.measure) == (contrasts.QUESTION, "score"):
            yield claim._replace(question=LIKE_THESE)


def twice_the_margin(sealed, trials):
    """Claims that arms are alike, tested against a margin twice as large as is said."""
    plan = msgspec.structs.replace(sealed.plan, margin=2 * sealed.plan.margin)
    sealed = msgspec.structs.replace(sealed, plan=plan)
    for claim in as_reported(sealed, trials):
        if claim.margin is not None:
            yield claim._replace(margin=claim.margin / 2)


def test_every_number_of_workers_gives_the_same():
    chosen = choose(["3x2x1", "3x5x2"])
    one, two = (calibrate(chosen, n_runs=60, seed=7, n_workers=n) for n in (1, 2))
    assert one == two
    assert one.rows != calibrate(chosen, n_runs=60, seed=8).rows


def _killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_ends_it_and_is_told():
    with pytest.raises(InfrastructureError, match="was killed"):
        calibrate(choose(["3x2x1"]), n_runs=1, seed=1, n_workers=2, judge=_killed)


def test_no_run_is_counted_twice():
    few, many = (
        calibrate(choose(["3x2x1"]), n_runs=N_AT_ONCE * n, seed=7).rows for n in (1, 2)
    )
    assert all(row.n_runs == 2 * N_AT_ONCE for row in many)
    assert all(a.bias != b.bias for a, b in zip(few, many, strict=True))


def test_a_run_is_made_again_from_its_seed():
    assert planted("3x5x4", 1) == planted("3x5x4", 1)
    assert planted("3x5x4", 1) != planted("3x5x4", 2)


@pytest.mark.parametrize("mean", [0.03, 0.5, 0.98])
@pytest.mark.parametrize("n_checks", [1, 10])
def test_a_law_has_the_mean_that_was_asked_for(mean, n_checks):
    law = score_law(mean, 0.35, n_checks)
    assert law.mean == pytest.approx(mean, abs=1e-9)
    assert all(1 >= more >= less >= 0 for more, less in pairwise(law.at_least))
    rng = random.Random(1)
    drawn = [law.draw(rng) / n_checks for _ in range(20_000)]
    assert sum(drawn) / len(drawn) == pytest.approx(mean, abs=4 * 0.5 / math.sqrt(2e4))
    passing = sum(score == 1 for score in drawn) / len(drawn)
    assert passing == pytest.approx(law.passing, abs=4 * 0.5 / math.sqrt(2e4))


def test_no_law_has_a_mean_outside_the_scores():
    with pytest.raises(ValueError, match="sign"):
        score_law(1.05, 0.35, 10)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda s: s.name)
def test_every_effect_of_every_scenario_can_be_planted(scenario):
    spread = scenario.spread
    assert math.fsum(spread.deviations) == 0
    assert [e for batch in scenario.batches() for e in batch] == list(scenario.effects)
    for level in spread.levels:
        for effect in scenario.effects:
            for deviation in spread.deviations:
                score_law(level + effect + deviation, spread.noise, 10)


def test_a_simulated_run_is_a_run():
    run = planted("3x5x4")
    trials = priced(run)
    assert [t.trial.key for t in trials] == list(run.registration.schedule)
    assert len({str(t.trial.key) for t in trials}) == 3 * 5 * 4
    assert all(len(block) == 5 for block in blocks_of(run.registration.schedule))
    for trial in trials:
        n_checks = len(
            next(c for c in run.registration.cases if c.id == trial.trial.key.case)
            .complaints["task"]
        )  # fmt: skip
        assert (trial.score * n_checks) == pytest.approx(round(trial.score * n_checks))
        assert trial.passed == (trial.score == 1)


def test_the_whole_analysis_says_the_same(tmp_path):
    run = planted("8x2x4-mixed")
    sealed = registration.seal(run.registration)
    journal = synthetic.record(tmp_path, sealed, [event.body for event in run.events])
    whole = analyse(sealed, journal, RATES)
    assert whole.contrasts == contrasts.contrasts(run.registration, priced(run))
    told = {(c.question, c.measure): c for c in as_reported(sealed, priced(run))}
    (row,) = whole.beyond
    assert told[LIKE_THESE, "score"].interval == (row.low, row.high)
    assert told[LIKE_THESE, "score"].p == row.p


def test_the_mean_estimate_is_the_planted_effect(preset):
    rows = rows_of(preset, contrasts.QUESTION, "score")
    assert [row.effect for row in rows] == [0, 0.05, 0.1, 0.2]
    for row in preset.rows:
        assert 0 < row.bias_error < 0.02
        assert abs(row.bias) < 4 * row.bias_error
    truths = planted("3x5x4").truths
    for row in rows:
        truth = truths[arm_of(row.effect), contrasts.QUESTION, "score"]
        assert truth == pytest.approx(row.effect, abs=1e-9)


def test_a_right_method_keeps_its_word(preset):
    rows = rows_of(preset, contrasts.QUESTION, "score")
    assert not any(row.too_narrow or row.too_eager for row in rows)
    powers = [row.rejected.value for row in rows]
    assert powers == sorted(powers)
    assert powers[-1] > 0.3


def test_z_instead_of_t_is_flagged():
    found = calibrate(choose(["3x5x2"]), n_runs=N_RUNS, seed=3, judge=z_instead_of_t)
    assert found.rows
    assert all(row.too_narrow for row in found.rows)
    assert any("<" in line for line in telling.lines(found))


def test_these_tasks_and_tasks_like_these_differ(mixed):
    these = rows_of(mixed, contrasts.QUESTION, "score")
    alike = rows_of(mixed, LIKE_THESE, "score")
    assert not any(row.too_narrow for row in (*these, *alike))
    assert all(b.width > 1.2 * a.width for a, b in zip(these, alike, strict=True))
    crossed = calibrate([MIXED], n_runs=N_MIXED, seed=3, judge=these_taken_for_all)
    assert all(row.too_narrow for row in crossed.rows)


def test_false_positives_are_counted_where_nothing_is_true(mixed):
    none, other = rows_of(mixed, contrasts.QUESTION, "score")
    # Deviations of eight cases seldom cancel, and only then is there no effect.
    assert 0 < none.rejected.n < none.n_runs
    assert other.rejected.n == other.n_runs
    assert rows_of(mixed, LIKE_THESE, "score")[0].rejected.n == none.n_runs


def test_claims_that_arms_are_alike_are_false_no_more_often_than_said():
    near = Scenario("near", 3, 2, 4, Spread((0.5,), 0.08, (10,)), (0.0, 0.1, -0.1, 0.2))
    found = calibrate([near], n_runs=N_RUNS, seed=3)
    none, *false = rows_of(found, contrasts.QUESTION, ALIKE)
    assert {row.margin for row in (none, *false)} == {0.1}
    assert none.rejected.value > 0.5
    assert all(0 <= row.rejected.value < 0.08 for row in false)
    assert not any(row.too_eager for row in (none, *false))
    doubled = calibrate([near], n_runs=N_RUNS, seed=3, judge=twice_the_margin)
    assert [row.too_eager for row in doubled.rows] == [False, True, True, False]


def test_one_trial_a_cell_gives_no_interval_and_no_finding():
    found = calibrate(choose(["3x2x1"]), n_runs=100, seed=3)
    assert all(row.refused.value == 1 for row in found.rows if row.margin is None)
    assert all(row.coverage.value is None for row in found.rows)
    assert all(row.rejected.value == 0 for row in found.rows)


def test_few_cases_say_nothing_of_tasks_like_these(preset):
    for row in rows_of(preset, LIKE_THESE, "score"):
        assert (row.refused.value, row.refused_p.value) == (1, 1)


def test_constant_cells_are_warned_of_and_missed_intervals_are_among_them():
    found = calibrate(choose(["3x5x4-rare"]), n_runs=N_RUNS, seed=3)
    rare = rows_of(found, contrasts.QUESTION, "score")[2]
    assert rare.too_narrow
    assert rare.warned.value > 0.9
    assert rare.mostly_constant.value < rare.coverage.value - 0.2


def test_a_scenario_that_is_not_there_is_named():
    with pytest.raises(InputError, match="3x5x4"):
        choose(["3x5x5"])


def test_an_outcome_without_an_interval_holds_nothing():
    run = planted("3x2x1")
    assert not any(outcome.holds for outcome in outcomes_of(run, as_reported))


def test_the_command_gives_lines_or_one_document():
    command = [sys.executable, "-m", "evalkit.cli", "calibrate", "--runs", "20"]
    command += ["--scenario", "3x2x1", "--workers", "1"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "3x2x1: effects 0, 0.05, 0.1, 0.2" in told.stdout
    document = subprocess.run(
        [*command, "--json"], capture_output=True, text=True, check=True
    )
    rows = json.loads(document.stdout)["rows"]
    assert len(rows) == 16
    assert {row["refused"]["value"] for row in rows} == {1.0, None}


def test_the_readme_has_a_line_for_every_scenario():
    text = (REPOSITORY / "README.md").read_text()
    for scenario in SCENARIOS.values():
        assert f"\n{scenario.name}: effects" in text
