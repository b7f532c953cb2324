"""What became of planned trials, and its frames."""

from __future__ import annotations

import json
import subprocess
import sys

import oddities
import pandas as pd
import pytest
import synthetic
from synthetic import attempts, infrastructure, record, register, result, step

import evalkit
from evalkit import facts, files, frames, scoring
from evalkit.errors import InputError
from evalkit.frames.kept import Kept
from evalkit.journal import Writer
from evalkit.records import AttemptStarted, Ended, Regraded, TrialKey
from evalkit.standing import JOURNAL

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


def none_to_na(values):
    return [None if pd.isna(value) else value for value in values]


def column(frame, name):
    return none_to_na(frame[name])


@pytest.fixture
def odd(tmp_path):
    _, registration, journal = oddities.run(tmp_path)
    found = facts.gather(registration, journal.events)
    return found, frames.tidy(found)


def test_the_odd_run_holds_every_way_a_trial_can_go(odd):
    found, _ = odd
    assert {trial.status for trial in found.trials} == {
        "scored", "agent_limit", "grader_died", "infrastructure", "interrupted",
        "not_run", facts.VOID,
    }  # fmt: skip
    assert any(trial.counts and not trial.analysed for trial in found.trials)
    assert any(trial.counts and trial.tokens is None for trial in found.trials)
    assert any(trial.regraded for trial in found.trials)


def test_a_row_of_trials_says_what_the_facts_say(odd):
    found, made = odd
    for name in (
        "place", "status", "counts", "analysed", "n_started", "score", "passed",
        "tokens", "wall_s", "regraded",
    ):  # fmt: skip
        wanted = [getattr(trial, name) for trial in found.trials]
        assert column(made.trials, name) == wanted, name
    for name in ("case", "arm", "repeat"):
        assert column(made.trials, name) == [getattr(t.key, name) for t in found.trials]


def test_a_row_of_steps_and_checks_says_what_the_facts_say(odd):
    found, made = odd
    steps = [
        (trial, step)
        for trial in found.trials
        if trial.counts
        for step in trial.result.steps
    ]
    assert [(r.case, r.arm, r.repeat, r.step) for r in made.steps.itertuples()] == [
        (t.key.case, t.key.arm, t.key.repeat, s.slug) for t, s in steps
    ]
    assert column(made.steps, "score") == [
        scoring.grade_score(step.grade) for _, step in steps
    ]
    assert column(made.steps, "died") == [s.grade and s.grade.died for _, s in steps]
    assert column(made.steps, "picked") == [
        s.selection and s.selection.picked for _, s in steps
    ]
    checks = [(t, s, c) for t, s in steps if s.grade for c in s.grade.checks]
    assert [
        (r.case, r.arm, r.repeat, r.step, r.check, r.weight, r.passed, r.reason)
        for r in made.checks.itertuples()
    ] == [
        (
            t.key.case, t.key.arm, t.key.repeat, s.slug,
            c.id, c.weight, c.passed, c.reason,
        )
        for t, s, c in checks
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["requests", "calls"])
def test_a_row_of_requests_and_calls_says_what_the_facts_say(odd, name):
    found, made = odd
    parts = [
        (attempt, step, part)
        for attempt in found.attempts
        for step in facts.steps_of(attempt.result)
        for part in getattr(step, name)
    ]
    frame = getattr(made, name)
    assert [
        (r.case, r.arm, r.repeat, r.attempt, r.counts, r.step)
        for r in frame.itertuples()
    ] == [
        (a.key.case, a.key.arm, a.key.repeat, a.attempt, a.counts, s.slug)
        for a, s, _ in parts
    ]
    own = [c.name for c in frames.COLUMNS[name] if c.path.startswith("part.")]
    for field in own:
        assert column(frame, field) == [getattr(part, field) for *_, part in parts]


def test_the_dictionary_tells_type_unit_and_meaning_of_every_column(odd):
    _, made = odd
    told = evalkit.columns().set_index(["frame", "column"])
    for name, frame in made._asdict().items():
        assert list(told.loc[name].index) == list(frame.columns)
        assert list(told.loc[name].dtype) == [str(kind) for kind in frame.dtypes]
    assert (told.meaning != "").all()
    assert {"tokens", "s", "usd", "0..1"} <= set(told.unit)


def test_a_whole_run_is_had_in_one_line(tmp_path):
    folder, registration, journal = oddities.run(tmp_path)
    run = evalkit.load(folder)
    made = frames.tidy(facts.gather(registration, journal.events))
    for name, frame in made._asdict().items():
        pd.testing.assert_frame_equal(getattr(run, name), frame)
    assert list(run.arms.arm) == ["full", "baseline"]
    assert list(run.contrasts.measure) == [c.measure for c in run.analysis.contrasts]
    assert run.columns.equals(evalkit.columns())


def test_frames_are_read_from_the_cache_the_second_time(tmp_path):
    folder, registration, _ = oddities.run(tmp_path)
    first = evalkit.load(folder)
    score = first.trials.score
    assert sorted(path.stem for path in (folder / "cache").glob("*.parquet")) == sorted(
        frames.COLUMNS
    )
    planted = frames.frame_of(Kept(folder, registration).table("trials"))
    planted["score"] = planted.score * 0 + 0.125
    stamp = folder / "cache/stamp-parquet.json"
    planted.to_parquet(folder / "cache/trials.parquet")
    _stamp_anew(stamp, folder / "cache/trials.parquet")
    again = evalkit.load(folder).trials.score
    assert set(again.dropna()) == {0.125}
    assert set(score.dropna()) != {0.125}


def _stamp_anew(stamp, path):
    told = json.loads(stamp.read_bytes())
    told["files"][path.name] = files.sha256(path.read_bytes())
    stamp.write_text(json.dumps(told))


def test_a_cache_of_an_older_journal_is_not_read(tmp_path):
    folder, registration, _ = oddities.run(tmp_path)
    assert evalkit.load(folder).trials.status.iloc[-1] == "not_run"
    with Writer(folder / JOURNAL, now=lambda: "2026-11-30T07:00:00Z") as writer:
        key = registration.schedule[-1]
        for body in attempts(result(key, step(*ALL, slug="first"))):
            writer.append(body)
    assert evalkit.load(folder).trials.status.iloc[-1] == "scored"


def test_a_run_keeps_to_the_journal_it_was_loaded_with(tmp_path):
    folder, registration, journal = oddities.run(tmp_path)
    _ = evalkit.load(folder).trials
    run = evalkit.load(folder)
    with Writer(folder / JOURNAL, now=lambda: "2026-11-30T07:00:00Z") as writer:
        writer.append(AttemptStarted(registration.schedule[-1], 1))
    assert run.journal == journal
    assert run.trials.status.iloc[-1] == "not_run"


def test_an_edited_journal_is_refused_beside_a_cache_with_its_head(tmp_path):
    folder, _, _ = oddities.run(tmp_path)
    _ = evalkit.load(folder).trials
    path = folder / JOURNAL
    path.write_bytes(path.read_bytes().replace(b'"passed":false', b'"passed":true ', 1))
    with pytest.raises(InputError, match="was edited"):
        evalkit.load(folder)


@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_a_cache_that_is_not_whole_is_made_anew_and_said(tmp_path, harm):
    folder, _, _ = oddities.run(tmp_path)
    good = evalkit.load(folder).calls
    path = folder / "cache/calls.parquet"
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    harmed = {"flip": flipped, "cut": whole[:middle], "remove": None}[harm]
    path.unlink()
    if harmed is not None:
        path.write_bytes(harmed)
    run = evalkit.load(folder)
    with pytest.warns(UserWarning, match="made anew from the journal"):
        pd.testing.assert_frame_equal(run.calls, good)
    assert path.read_bytes() == whole


def test_a_cache_made_by_other_source_is_not_read(tmp_path):
    folder, registration, _ = oddities.run(tmp_path)
    _ = evalkit.load(folder).trials
    stamp = folder / "cache/stamp-parquet.json"
    told = json.loads(stamp.read_bytes())
    told["origin"]["analysis_source"] = "0" * 64
    stamp.write_text(json.dumps(told))
    assert Kept(folder, registration).origin.analysis_source != "0" * 64


def test_frames_of_a_torn_journal_are_not_kept(tmp_path):
    folder, _, _ = oddities.run(tmp_path)
    with (folder / JOURNAL).open("ab") as opened:
        opened.write(b'{"n":')
    run = evalkit.load(folder)
    assert len(run.trials) == 8
    assert run.analysis.integrity.torn
    assert not (folder / "cache").exists()


def test_a_run_that_may_not_be_written_has_its_frames(tmp_path):
    folder, _, _ = oddities.run(tmp_path)
    (folder / "cache").write_text("in the way")
    assert len(evalkit.load(folder).trials) == 8


def test_a_report_is_made_without_what_only_frames_or_plans_need():
    """Each takes a second to import, in two processes of every report."""
    said = (
        "import sys, evalkit.publish, evalkit.plots, evalkit.tables\n"
        "print({'pandas', 'bm25s', 'rfc3987_syntax', 'evalkit.audit'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", said], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
