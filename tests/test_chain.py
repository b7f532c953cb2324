"""A chain of steps in one trial: one workspace, a fresh call per ticket, grades kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import chainroot
import crashes
import pytest
import realroot
import tinyroot

from evalkit import corpus, loading, plots, reference, scoring, tables
from evalkit.evidence import Evidence
from evalkit.explore.pair_pages import export_pair
from evalkit.explore.pairing import find_other, pair
from evalkit.explore.redaction import Redactor
from evalkit.explore.telling import Teller
from evalkit.explore.trial import find_trial
from evalkit.explore.trial_pages import export_trial
from evalkit.records import Ended, Outcome

pytestmark = pytest.mark.needs_sandbox

STRIDE = 1 if crashes.EVERY_STEP else 6


@pytest.fixture(scope="module")
def proven_chain(tmp_path_factory):
    root = chainroot.make(tmp_path_factory.mktemp("chain") / "root")
    chainroot.prove(root)
    return root


@pytest.fixture
def chain(proven_chain, tmp_path):
    return Path(shutil.copytree(proven_chain, tmp_path / "own"))


def load_case(root):
    """The chain."""
    return corpus.load_case(root, "tale")


def scores(result):
    """Score of each step; None where it was not reached."""
    return [
        None if step.not_reached else scoring.grade_score(step.grade)
        for step in result.steps
    ]


def total(result):
    """Score of a trial."""
    return scoring.trial_score([step.grade for step in result.steps])


def carry_out(chain, folder, deed, at, **changes):
    """The one result of a run whose agent does a deed in one step."""
    plan = chainroot.misbehaving(folder, deed, at, **changes)
    (result,) = realroot.results(realroot.carry_out(chain, plan))
    return result


def test_each_step_goes_on_from_the_one_before_with_a_fresh_home(chain, tmp_path):
    result = carry_out(chain, tmp_path, "work", 0)
    assert scores(result) == [1.0, 1.0, 1.0]
    assert [call.ended for step in result.steps for call in step.calls] == (
        [Ended.FINISHED] * 3
    )
    assert all(step.calls[0].wall_s > 0 for step in result.steps)
    assert total(result) == 1.0


@pytest.mark.parametrize("deed", ["fail", "hang"])
def test_a_call_that_fails_ends_the_chain_and_takes_no_credit(chain, tmp_path, deed):
    limits = realroot.limits(call_timeout_ms=2_000)
    result = carry_out(chain, tmp_path, deed, 2, limits=limits)
    ended, outcome = {
        "fail": (Ended.AGENT_ERROR, Outcome.SCORED),
        "hang": (Ended.TIMED_OUT, Outcome.AGENT_LIMIT),
    }[deed]
    assert result.outcome is outcome
    assert result.steps[1].calls[0].ended is ended
    # What it had done when it failed was delivered, and counts.
    assert scores(result) == [1.0, 1.0, None]
    assert total(result) == pytest.approx(2 / 3)


def test_a_step_below_its_least_score_ends_the_chain(chain, tmp_path):
    result = carry_out(chain, tmp_path, "idle", 2)
    assert result.outcome is Outcome.SCORED
    assert scores(result) == [1.0, 0.25, None]
    assert total(result) == pytest.approx(1.25 / 3)


def test_the_first_step_can_end_it_too(chain, tmp_path):
    assert scores(carry_out(chain, tmp_path, "idle", 1)) == [0.25, None, None]


def test_without_a_least_score_a_chain_goes_on(chain, tmp_path):
    case = chain / "cases/tale/case.toml"
    case.write_text(case.read_text().replace("min_score = 0.5\n", ""))
    chainroot.prove(chain)
    assert scores(carry_out(chain, tmp_path, "idle", 1)) == [0.25, 1.0, 1.0]


def test_every_step_has_its_own_calls_usage_treatment_and_workspace(chain):
    run = realroot.carry_out(chain, chainroot.plan(seed=3))
    for result in realroot.results(run):
        reached = [step for step in result.steps if not step.not_reached]
        assert reached
        for n, step in enumerate(result.steps):
            kept = Evidence(run, result.key, result.attempt).step(
                load_case(chain).steps[n]
            )
            assert kept.folder.is_dir() != step.not_reached
            if not step.not_reached:
                assert len(step.calls) == 1
                assert len(step.requests) >= 2
                assert step.treatment is not None
        sessions = {
            path.read_bytes()
            for path in (run / "trials").rglob("agent.stdout*")
            if str(result.key) in str(path)
        }
        assert len(sessions) == len(reached)


def test_a_chain_has_pages_and_stands_beside_another_step_by_step(chain, tmp_path):
    """With seed 3 one arm comes to the end, and the other stops before."""
    run = realroot.carry_out(chain, chainroot.plan(seed=3))
    ended = {
        len([step for step in result.steps if not step.not_reached]): result.key
        for result in realroot.results(run)
    }
    assert sorted(ended) == [2, 3]
    whole, other = (find_trial(run, str(ended[n])) for n in (3, 2))
    tell = Teller(Redactor())
    made = export_trial(whole, chain, tmp_path / "trial", redactor=tell.redactor)
    page = Path(made.index).read_text()
    for n, slug in enumerate(chainroot.SLUGS, 1):
        assert f'href="{n:02}-{slug}/index.html"' in page
        assert f"<h3>{slug}: score 1.00" in page
    assert "<h3>go-on, against what begin left</h3>" in page
    assert "SIMULATED" in page
    page = Path(
        export_trial(other, chain, tmp_path / "other", redactor=tell.redactor).index
    ).read_text()
    assert "<h3>end: not reached</h3>" in page
    assert "end: no workspace was kept." in page
    found = pair(whole, find_other(whole, other.trial.key.arm), tell)
    assert [part.is_compared for part in found.parts] == [True, True, False]
    assert found.parts[2].right.missing == "the step was not reached"
    steps = {one.name: one for one in found.measures}
    assert steps["checks passed"].difference > 0
    assert steps["turns"].left > steps["turns"].right
    made = export_pair(found, tmp_path / "pair", tell=tell)
    assert {Path(page).parent.name for page in made.pages} == {"01-begin", "02-go-on"}


def test_an_analysis_counts_steps_not_reached_as_zero(chain):
    run = realroot.carry_out(chain, chainroot.plan(repeats=4))
    results = realroot.results(run)
    assert {tuple(scores(result)) for result in results} == {
        (1.0, 1.0, 1.0),
        (1.0, 0.25, None),
    }
    found = loading.load(run).analysis
    assert found.simulated
    for arm in found.arms:
        own = [total(result) for result in results if result.key.arm == arm.arm]
        assert arm.score == pytest.approx(sum(own) / len(own))
    last = [row for row in found.checks if row.step == "end"]
    stopped = [result for result in results if result.steps[2].not_reached]
    assert stopped
    n_checks = len({row.check for row in last})
    assert sum(row.n_not_reached for row in last) == n_checks * len(stopped)
    assert sum(row.n for row in last) == n_checks * len(results)


def test_each_step_is_told_with_its_usage_and_what_it_was_routed_to(chain):
    arms = chain / "cases/arms.toml"
    corpora = chain / "cases/corpora.toml"
    assert "[routed]" in arms.read_text()
    corpora.write_text(corpora.read_text().replace('"full"', '"routed"'))
    run = realroot.carry_out(chain, chainroot.plan(repeats=3))
    found = loading.load(run).analysis
    trials = {
        (row.arm, point.repeat): point
        for row in found.case_arms
        for point in row.points
    }
    for (arm, repeat), trial in trials.items():
        rows = [row for row in found.steps if row.arm == arm]
        assert [row.step for row in rows] == list(chainroot.SLUGS)
        points = [row.points[repeat - 1] for row in rows]
        reached = [point for point in points if point.score is not None]
        assert trial.tokens == sum(point.tokens for point in reached)
        assert trial.usd == pytest.approx(sum(point.usd for point in reached))
        assert trial.wall_s == pytest.approx(sum(point.wall_s for point in reached))
        assert trial.score == pytest.approx(sum(p.score or 0 for p in points) / 3)
        picked = {point.picked for point in reached}
        assert picked == ({"none"} if arm == "routed" else {None})
    shown = tables.steps(found).text
    assert "2 go-on" in shown
    assert "none (3)" in shown
    assert "not routed" in shown
    figure = plots.steps(found)
    assert figure.svg.count("not reached, counts 0") == 1
    assert "not reached" in figure.table.text


def test_steps_not_reached_are_drawn_as_such_and_a_run_without_chains_says_so(
    chain, proven_root, tmp_path
):
    run = realroot.carry_out(chain, chainroot.plan(repeats=4))
    found = loading.load(run).analysis
    lost = [p for row in found.steps for p in row.points if p.score is None]
    assert {point.tokens for point in lost} == {None}
    last = [row for row in found.steps if row.step == "end"]
    assert all(row.n_reached < row.n_trials for row in last if row.score < 1)
    root = Path(shutil.copytree(proven_root, tmp_path / "plain"))
    plain = realroot.carry_out(root, tinyroot.plan(repeats=1, arms=("baseline",)))
    one = loading.load(plain).analysis
    assert plots.steps(one).text == "No case of this run is a chain of steps."
    assert tables.steps(one).text == ""


def test_with_one_arm_the_report_says_that_no_effect_can_be_read(chain):
    run = realroot.carry_out(chain, chainroot.plan(arms=("full",)))
    found = loading.load(run).analysis
    sentence = "There is one arm, so no effect can be read."
    assert found.contrasts == ()
    assert found.status == "synthetic-only"
    assert sentence in tables.answer(found).text
    assert sentence in plots.forest(found).text
    assert sentence in found.limits
    assert "differ" not in found.sentence


def test_killed_in_mid_chain_the_trial_starts_anew_and_the_run_goes_on(chain, tmp_path):
    plan = chainroot.plan(arms=("full",), repeats=1, seed=2)
    run = realroot.seal(chain, plan)
    told = crashes.tell("kill", chain, run.name, tmp_path / "k", 1, STRIDE)
    assert [line["died"] for line in told] == [True] * (len(told) - 1) + [False]
    lost_steps = set()
    for line in told:
        after = tmp_path / "k" / str(line["step"]) / "runs" / run.name
        assert (line["again"], line["orphans"]) == (0, []), line
        (result,) = realroot.results(after)
        assert scores(result) == [1.0, 1.0, 1.0]
        assert result.attempt == 1 + line["n_lost"]
        trial = after / "trials" / str(result.key)
        assert len(list((trial / str(result.attempt)).glob("0*"))) == 3
        if line["n_lost"]:
            lost_steps.add(len(list((trial / "1").glob("0*"))))
    assert {2, 3} <= lost_steps


def test_a_proof_grades_every_step_whatever_its_least_score(proven_chain):
    found = {
        (row.overlay, row.step): row.got.score
        for row in reference.load_proof(proven_chain, load_case(proven_chain)).rows
    }
    assert found["stops", "go-on"] == found["stops", "end"] == 0.25


def test_overlays_that_are_the_same_up_to_a_step_are_graded_once(proven_chain):
    rows = reference.load_proof(proven_chain, load_case(proven_chain)).rows
    graded_as = {(row.overlay, row.step): row.graded_as for row in rows}
    assert len(rows) == 12
    assert graded_as["correct", "begin"] == graded_as["stops", "begin"] == "correct"
    assert graded_as["stops", "end"] == "stops"
    assert graded_as["forgets", "begin"] == "forgets"
    assert len(set(graded_as.values())) == 4
