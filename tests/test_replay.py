"""A recorded run of the real Claude Code, played again after its provider is gone."""

import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import realroot
from typer.testing import CliRunner

from evalkit import estimate, loading, tables
from evalkit.audit import audit
from evalkit.cli import app
from evalkit.errors import DriftError, InputError
from evalkit.plan import load_plan
from evalkit.records import AttemptStarted, Ended, Outcome
from evalkit.registration import load_registration
from evalkit.replay import replay
from evalkit.run import run_plan, utc_now

pytestmark = pytest.mark.needs_claude

ARMS = ("full", "baseline")
FULL, FAULTY = "greet.full.r1", "greet.baseline.r1"
NO_REPLAYS = shutil.ignore_patterns("*-replay")


@pytest.fixture(scope="module")
def recorded(proven_root, tmp_path_factory):
    """A root with a run of two trials, whose second began with a fault of the provider.

    One trial is solved and the other is not; the provider is gone.
    """
    folder = tmp_path_factory.mktemp("recorded")
    root = Path(shutil.copytree(proven_root, folder / "root"))
    script = realroot.in_turn(
        realroot.greets(root),
        [{"status": 529}],
        realroot.greets(root, "naive"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_API_KEY", realroot.CREDENTIAL)
        with realroot.provider(folder / "stub", script) as stub:
            plan = realroot.plan(stub.url, arms=ARMS, record=True)
            return root, realroot.carry_out(root, plan)


@pytest.fixture(scope="module")
def played(recorded):
    """The root, the run, its replay, and what the replay said."""
    root, run = recorded
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ANTHROPIC_API_KEY", raising=False)
        before = dict(realroot.everything(run))
        found = replay(run, root, now=utc_now)
        assert dict(realroot.everything(run)) == before
    return root, run, run.with_name(f"{run.name}-replay"), found


@pytest.fixture
def copied(recorded, tmp_path):
    """A copy of the root, and of the run in it."""
    root, run = recorded
    copy = Path(shutil.copytree(root, tmp_path / "root", ignore=NO_REPLAYS))
    return copy, copy / "runs" / run.name


# --- the same again ---------------------------------------------------------


def test_verdicts_faults_and_usage_come_out_as_they_were(played):
    _, run, again, found = played
    assert not found.differs, found
    assert found.analysis == ()
    first, second = realroot.results(run), realroot.results(again)
    assert [(r.key, r.attempt, r.outcome) for r in second] == [
        (r.key, r.attempt, r.outcome) for r in first
    ]
    assert Counter(r.outcome for r in second) == {
        Outcome.SCORED: 2,
        Outcome.INFRASTRUCTURE: 1,
    }
    assert realroot.used(again) == realroot.used(run)
    assert {one.name for one in found.varied} == {"ids of sessions and turns"}


def test_it_is_sealed_on_the_recorded_run_and_spends_nothing(played):
    _, run, again, found = played
    sealed = load_registration(again)
    assert sealed.replay.registration == load_registration(run).digest
    status = found.status
    assert (status.n_tokens, status.usd, status.stamp) == (0, 0.0, "REPLAY, SIMULATED")
    assert status.replayed.n_tokens == sum(realroot.used(run).values())


def test_it_is_stamped_and_supports_no_claim(played):
    _, run, again, _ = played
    analysis = loading.load(again).analysis
    assert analysis.status == "replay-only"
    assert tables.answer(analysis).text.startswith("REPLAY, SIMULATED: the recording")
    assert run.name in tables.answer(analysis).text
    assert "ids of sessions and turns" in tables.fragility(analysis).text
    assert "REPLAY" in tables.agent(analysis).text


def test_its_usage_is_not_observed_a_second_time(played):
    root, run, _, _ = played
    n_calls = sum(bool(step.requests) for step in realroot.steps(run))
    seen = list(estimate._observed(load_registration(run), root))
    assert len(seen) == n_calls


def test_it_can_be_audited(played):
    root, _, again, _ = played
    found = audit(again, root)
    assert {one.verdict for one in found.findings if one.check != "report"} == {"pass"}
    assert found.stamp == "REPLAY, SIMULATED"


def test_no_recording_holds_the_credential(recorded):
    _, run = recorded
    for path, data in realroot.everything(run / "recordings"):
        assert realroot.CREDENTIAL.encode() not in data, path


# --- otherwise --------------------------------------------------------------


def test_a_changed_prompt_is_named_and_nothing_is_guessed(copied):
    root, run = copied
    prompt = root / "cases" / "greet" / "prompt.md"
    prompt.write_text(prompt.read_text().replace("the person", "the user"))
    done = CliRunner().invoke(app, ["replay", run.name, FULL, "--root", str(root)])
    assert done.exit_code == 1, done.output
    for told in (
        f"OTHERWISE {FULL}, attempt 1:",
        "departed in 01-task/task, request 1: body.messages.0.content.1.text:",
        'recorded "...e greet() greet the person by name.',
        '-> asked "...e greet() greet the user by name.',
        "cases[greet].digests.case: registered",
        "tokens 0 (no cap), dollars $0.00",
    ):
        assert told in done.stdout, done.stdout
    (result,) = realroot.results(run.with_name(f"{run.name}-replay"))
    assert result.outcome is Outcome.INFRASTRUCTURE
    assert result.steps[0].calls[0].ended is Ended.DEPARTED


def test_another_verdict_on_the_same_work_is_named(copied):
    root, run = copied
    readme = root / "cases" / "greet" / "fixture" / "README.md"
    readme.write_text("# greet\n")
    found = replay(run, root, trials=[FULL], now=utc_now)
    (attempt,) = found.attempts
    assert not attempt.departures
    assert [(one.what, one.first, one.again) for one in attempt.differences] == [
        ("keeps-readme", "passed, weight 1", "failed, weight 1")
    ]
    assert found.analysis is None


# --- refused ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("recordings/**/0001.request.json", r"0001\.\*: expected the recorded request"),
        ("trials/**/agent.requests.jsonl", "others at 01-task/agent.requests.jsonl"),
    ],
)
def test_what_was_edited_is_refused_by_place_before_anything_runs(
    copied, pattern, said
):
    root, run = copied
    path = next(run.glob(pattern))
    path.write_text(path.read_text().replace("claude-opus-5-5", "claude-opus-5-6", 1))
    with pytest.raises(InputError, match=said):
        replay(run, root, now=utc_now)
    assert not run.with_name(f"{run.name}-replay").exists()


@pytest.mark.parametrize(
    ("suffix", "trials", "said"),
    [
        ("-replay", [], "replay that run"),
        ("", [FULL], "name another folder with --out"),
    ],
)
def test_a_replay_is_neither_replayed_nor_taken_for_another(
    played, suffix, trials, said
):
    root, run, _, _ = played
    with pytest.raises(InputError, match=said):
        replay(run.with_name(run.name + suffix), root, trials=trials, now=utc_now)


@pytest.mark.parametrize("where", ["file", "file/below", "full"])
def test_a_replay_goes_nowhere_but_into_a_folder_of_its_own(recorded, tmp_path, where):
    root, run = recorded
    (tmp_path / "full").mkdir()
    for name in ("file", "full/journal.jsonl"):
        (tmp_path / name).write_text("kept")
    with pytest.raises(InputError, match=re.escape(str(tmp_path / where))):
        replay(run, root, out=tmp_path / where, now=utc_now)
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["journal.jsonl"]


def test_a_replay_is_gone_on_with_by_what_holds_it_against_its_run(played):
    root, run, again, _ = played
    done = CliRunner().invoke(app, ["run", again.name, "--root", str(root)])
    assert isinstance(done.exception, InputError), done.output
    assert f"evalkit replay {run.name}" in str(done.exception)


def test_a_trial_that_never_ended_is_refused_and_those_that_did_are_named(copied):
    root, run = copied
    with pytest.raises(InputError, match=r"expected trials that ended: greet\."):
        replay(run, root, trials=["greet.full.r9"], now=utc_now)


def test_a_run_without_a_recording_says_how_to_get_one(own_root):
    run = realroot.seal(own_root, realroot.plan("http://127.0.0.1:9"))
    with pytest.raises(InputError, match="--record"):
        replay(run, own_root, now=utc_now)


def test_a_plan_file_cannot_ask_for_a_replay(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('corpus = "tiny"\nreplay_run = "some"\n')
    with pytest.raises(InputError, match="evalkit replay some"):
        load_plan(path)


def test_a_replay_whose_run_was_edited_since_does_not_go_on(copied, played):
    root, run = copied
    again = run.with_name(f"{run.name}-replay")
    shutil.copytree(played[2], again, dirs_exist_ok=True)
    journal = run / "journal.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises((InputError, DriftError)):
        run_plan(again, root)


# --- ended by force ---------------------------------------------------------


def test_a_replay_that_is_killed_goes_on_and_plays_each_attempt_once(copied):
    root, run = copied
    again = run.with_name(f"{run.name}-replay")
    words = ["replay", run.name, FAULTY, "--root", root]
    argv = [sys.executable, "-m", "evalkit.cli", *words]
    killed = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _await_requests(again / "gateway.jsonl", 2, killed)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    begun = [one for one in realroot.bodies(again) if isinstance(one, AttemptStarted)]
    assert [one.attempt for one in begun] == [1, 2]
    found = replay(run, root, trials=[FAULTY], now=utc_now)
    assert not found.differs, found
    assert [(one.attempt, one.played) for one in found.attempts] == [(1, 1), (2, 3)]


def _await_requests(gateway, n, running):
    """Wait until a run's gateway has noted this many requests."""
    patience = time.monotonic() + realroot.PATIENCE_S
    while not gateway.exists() or gateway.read_text().count('"event":"request"') < n:
        assert running.poll() is None
        assert time.monotonic() < patience
        time.sleep(0.005)
