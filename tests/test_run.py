"""plan, run, resume: registered or not run, and nothing finished is ever lost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest
import tinyroot

from evalkit import plan as planning
from evalkit import run as running
from evalkit import standing
from evalkit.errors import (
    DriftError,
    InputError,
    ProofError,
    RunLockedError,
    StoppedEarlyError,
)
from evalkit.journal import Writer, read_journal
from evalkit.records import (
    AttemptEnded,
    AttemptStarted,
    Deviation,
    RunEnded,
    TrialKey,
)
from evalkit.registration import load_registration
from evalkit.schedule import blocks_of

N_PLANNED = 6


def _seal(root: Path, **changes) -> Path:
    return planning.seal_plan(tinyroot.plan(**changes), root, now=running.utc_now)


def _results(run: Path):
    events = read_journal(run / "journal.jsonl").events
    return [e.body.result for e in events if isinstance(e.body, AttemptEnded)]


def _assert_each_trial_once(run: Path) -> None:
    planned = Counter(str(key) for key in load_registration(run).schedule)
    assert Counter(str(result.key) for result in _results(run)) == planned


@pytest.fixture(scope="module")
def finished(proven_root, tmp_path_factory):
    """A root whose tiny run was carried out once."""
    import shutil

    root = Path(shutil.copytree(proven_root, tmp_path_factory.mktemp("f") / "root"))
    run = _seal(root)
    running.run_plan(run, root)
    return root, run


def test_a_run_carries_out_every_planned_trial_once(finished):
    _, run = finished
    found = standing.status(run)
    assert (found.state, found.n_done, found.n_attempts) == ("complete", 6, 6)
    assert found.outcomes == {"scored": N_PLANNED}
    _assert_each_trial_once(run)


def test_trials_follow_the_registered_order(finished):
    _, run = finished
    events = read_journal(run / "journal.jsonl").events
    started = [e.body.key for e in events if isinstance(e.body, AttemptStarted)]
    assert tuple(started) == load_registration(run).schedule


def test_running_a_finished_run_again_changes_nothing(finished):
    root, run = finished
    before = (run / "journal.jsonl").read_bytes()
    assert running.run_plan(run, root).n_done == N_PLANNED
    assert (run / "journal.jsonl").read_bytes() == before


def test_everything_a_scripted_agent_made_is_stamped_simulated(finished):
    _, run = finished
    assert load_registration(run).agent.simulated
    assert all(result.simulated for result in _results(run))


def test_a_result_names_isolation_usage_and_checks(finished):
    _, run = finished
    for result in _results(run):
        (step,) = result.steps
        assert result.isolation == tinyroot.isolation()
        assert [check.id for check in step.grade.checks] == [
            "says-hello",
            "says-name",
            "keeps-readme",
        ]
        assert sum(request.output for request in step.requests) > 0


def test_a_plan_without_a_proof_is_refused(root):
    with pytest.raises(ProofError, match="evalkit verify greet"):
        _seal(root)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"arms": ("nobody",)}, "nobody"),
        ({"arms": ("full", "full")}, "each arm once"),
        ({"repeats": 0}, "at least one repeat"),
        ({"agent": "nobody"}, "nobody"),
        ({"library": "nowhere-at-all"}, "nowhere-at-all"),
        ({"outcome": "banana"}, "banana"),
        ({"accounting": "nope"}, "nope"),
    ],
)
def test_a_plan_that_names_what_is_not_there_is_refused(own_root, changes, said):
    with pytest.raises(InputError, match=said):
        _seal(own_root, **changes)


def test_a_recording_of_an_agent_that_calls_no_model_is_refused(own_root):
    with pytest.raises(InputError, match="calls a model"):
        _seal(own_root, record=True)


def test_a_plan_over_its_own_budget_is_refused(own_root):
    from evalkit.records import Budget

    with pytest.raises(InputError, match="6 planned calls"):
        _seal(own_root, budget=Budget(max_calls=5))


def test_a_plan_file_fills_the_same_plan(own_root):
    file = own_root / "plan.toml"
    file.write_text('corpus = "tiny"\nrepeats = 3\n[budget]\nmax_calls = 9\n')
    loaded = planning.load_plan(file)
    assert (loaded.repeats, loaded.budget.max_calls) == (3, 9)
    file.write_text('corpus = "tiny"\nrepeat = 3\n')
    with pytest.raises(InputError, match="repeat"):
        planning.load_plan(file)


TOUCHED = {
    "fixture": ("cases/greet/fixture/README.md", "cases[greet].digests.fixture"),
    "prompt": ("cases/greet/prompt.md", "cases[greet].digests.case"),
    "skill": ("cases/_skills/guide/SKILL.md", "skill_digests.guide"),
    "policy": ("reference/scripted.toml", "agent.policy"),
}


@pytest.mark.parametrize("part", TOUCHED)
def test_drift_is_refused_naming_what_changed(own_root, part):
    run = _seal(own_root)
    name, said = TOUCHED[part]
    path = own_root / name
    path.write_text(path.read_text() + "\n# changed\n")
    with pytest.raises(DriftError) as caught:
        running.run_plan(run, own_root)
    assert said in str(caught.value)
    assert "->" in str(caught.value)
    assert not (run / "journal.jsonl").exists()


def test_drift_between_trials_ends_the_run_at_the_next_block(own_root):
    run = _seal(own_root)
    guide = own_root / "cases/_skills/guide/SKILL.md"

    def touch(status):
        if status.n_done == 1:
            guide.write_text(guide.read_text() + "\nchanged\n")

    with pytest.raises(DriftError, match=r"skill_digests\.guide"):
        running.run_plan(run, own_root, progress=touch)
    assert len(_results(run)) == 3
    last = read_journal(run / "journal.jsonl").events[-1].body
    assert isinstance(last, RunEnded)
    assert last.reason == "drift"


def test_an_edited_registration_is_refused(own_root):
    run = _seal(own_root)
    path = run / "registration.json"
    path.write_text(path.read_text().replace('"seed": 1', '"seed": 2'))
    with pytest.raises(DriftError, match="edited after sealing"):
        running.run_plan(run, own_root)


def test_the_deadline_stops_at_a_block_boundary_and_resume_goes_on(own_root):
    run = _seal(own_root)
    ticks = iter([0.0, 0.0, 1e9])
    with pytest.raises(StoppedEarlyError, match="deadline after 3 of 6"):
        running.run_plan(run, own_root, monotonic=lambda: next(ticks))
    assert running.run_plan(run, own_root).n_done == N_PLANNED
    _assert_each_trial_once(run)


def test_lost_attempts_count_against_the_budget(own_root):
    from evalkit.records import Budget

    run = _seal(own_root, budget=Budget(max_calls=7))
    first = load_registration(run).schedule[0]
    with Writer(run / "journal.jsonl", now=running.utc_now) as journal:
        for attempt in (1, 2):
            journal.append(AttemptStarted(first, attempt))
    with pytest.raises(StoppedEarlyError, match="budget after 3 of 6"):
        running.run_plan(run, own_root)


def test_whole_evidence_without_a_line_is_concluded_not_run_again(finished, tmp_path):
    import shutil

    root, run = finished
    copy = Path(shutil.copytree(root, tmp_path / "root"))
    journal = copy / "runs" / run.name / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-2]) + lines[-2][: len(lines[-2]) // 2])
    found = running.run_plan(journal.parent, copy)
    assert (found.n_done, found.n_attempts) == (N_PLANNED, N_PLANNED)
    _assert_each_trial_once(journal.parent)


def test_damaged_evidence_is_noted_and_the_trial_runs_again(finished, tmp_path):
    import shutil

    root, run = finished
    copy = Path(shutil.copytree(root, tmp_path / "root"))
    folder = copy / "runs" / run.name
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-2]))
    last = load_registration(folder).schedule[-1]
    answers = folder / "trials" / str(last) / "1" / "01-task" / "answers.jsonl"
    answers.write_text("{}\n")
    found = running.run_plan(folder, copy)
    assert (found.n_done, found.n_attempts) == (N_PLANNED, N_PLANNED + 1)


def test_a_second_process_on_the_same_run_is_refused(own_root):
    run = _seal(own_root)
    with (
        Writer(run / "journal.jsonl", now=running.utc_now),
        pytest.raises(RunLockedError, match="lock"),
    ):
        running.run_plan(run, own_root)


def test_nothing_of_the_operator_reaches_the_agent(own_root, tmp_path, monkeypatch):
    canary = "canary-7f3a9"
    home = tmp_path / "operator"
    skill = home / ".claude" / "skills" / canary
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {canary}\ndescription: d\n---\nx")
    (home / ".claude" / "CLAUDE.md").write_text(canary)
    (home / "CLAUDE.md").write_text(canary)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", canary)
    run = _seal(own_root, repeats=1)
    running.run_plan(run, own_root)
    seen = [path for path in run.rglob("*") if path.is_file()]
    assert len(seen) > 10
    for path in seen:
        assert canary.encode() not in path.read_bytes(), path


def test_each_arm_finds_its_own_skills_and_no_others(finished):
    _, run = finished
    listed = {}
    for key in load_registration(run).schedule:
        stdout = run / "trials" / str(key) / "1" / "01-task" / "agent.stdout.jsonl"
        init = json.loads(stdout.read_text().splitlines()[0])
        listed.setdefault(key.arm, set()).update(init["skills"])
    assert listed == {
        "full": {"greeting", "guide"},
        "routed": {"guide"},
        "baseline": set(),
    }


def test_a_routed_arm_records_what_was_picked(finished):
    _, run = finished
    for result in _results(run):
        (step,) = result.steps
        if result.key.arm == "routed":
            assert step.selection.picked == "greeting"
            assert step.treatment.injected == ("greeting",)
        else:
            assert step.selection is None


def test_a_trial_key_is_safe_in_a_path():
    assert str(TrialKey("a-case", "an-arm", 2)) == "a-case.an-arm.r2"


def test_inputs_are_untouched_until_a_file_changes(own_root):
    opened = planning.open_plan(tinyroot.plan(), own_root)
    assert not opened.touched()
    os.utime(own_root / "graders/greet/grade.py")
    assert opened.touched()


def test_a_fixture_is_read_once_and_only_as_it_was_loaded(own_root):
    first, second = (planning.open_plan(tinyroot.plan(), own_root) for _ in range(2))
    laid = first.fixture(first.cases["greet"])
    (own_root / "cases/greet/fixture/greet.py").write_text("")
    assert first.fixture(first.cases["greet"]) == laid
    with pytest.raises(DriftError, match="greet/fixture: loaded with digest"):
        second.fixture(second.cases["greet"])


def _start(root: Path, run: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "evalkit.cli", "run", run.name, "--root", str(root)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _wait_for_lines(journal: Path, n: int, process: subprocess.Popen) -> None:
    while process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") >= n:
            return
        time.sleep(0.005)


@pytest.mark.parametrize("n_lines", [1, 2, 3, 5, 8])
def test_a_run_killed_at_any_line_finishes_without_losing_or_repeating(
    own_root, n_lines
):
    run = _seal(own_root)
    process = _start(own_root, run)
    _wait_for_lines(run / "journal.jsonl", n_lines, process)
    process.kill()
    process.wait()
    process.stderr.close()
    before = {str(r.key): msgspec.json.encode(r) for r in _results(run)}
    found = running.run_plan(run, own_root)
    assert found.n_done == N_PLANNED
    _assert_each_trial_once(run)
    after = {str(r.key): msgspec.json.encode(r) for r in _results(run)}
    assert {key: after[key] for key in before} == before


def test_ctrl_c_stops_with_its_exit_code_and_resume_goes_on(own_root):
    run = _seal(own_root)
    process = _start(own_root, run)
    _wait_for_lines(run / "journal.jsonl", 3, process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 5, said
    assert b"interrupted" in said
    assert running.run_plan(run, own_root).n_done == N_PLANNED
    _assert_each_trial_once(run)


@pytest.mark.needs_sandbox
def test_a_run_folder_that_cannot_be_written_is_named(own_root):
    run = _seal(own_root)
    done = subprocess.run(
        [
            "bwrap",
            "--dev-bind", "/", "/",
            "--ro-bind", str(run), str(run),
            sys.executable, "-m", "evalkit.cli", "run", run.name,
            "--root", str(own_root),
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "a run folder that can be written" in done.stderr


def test_blocks_stay_whole_when_a_run_stops_early(own_root):
    run = _seal(own_root)
    ticks = iter([0.0, 0.0, 1e9])
    with pytest.raises(StoppedEarlyError):
        running.run_plan(run, own_root, monotonic=lambda: next(ticks))
    done = {str(result.key) for result in _results(run)}
    for block in blocks_of(load_registration(run).schedule):
        assert len({str(key) for key in block} & done) in {0, 3}


def test_a_lost_journal_loses_no_finished_trial(finished, tmp_path):
    import shutil

    root, run = finished
    copy = Path(shutil.copytree(root, tmp_path / "root"))
    folder = copy / "runs" / run.name
    (folder / "journal.jsonl").unlink()
    found = running.run_plan(folder, copy)
    assert (found.n_done, found.n_attempts, found.n_calls) == (N_PLANNED, 0, N_PLANNED)
    _assert_each_trial_once(folder)
    bodies = [e.body for e in read_journal(folder / "journal.jsonl").events]
    assert sum(isinstance(body, Deviation) for body in bodies) == N_PLANNED


def test_a_run_without_its_last_line_is_called_complete_again(finished, tmp_path):
    import shutil

    root, run = finished
    copy = Path(shutil.copytree(root, tmp_path / "root"))
    journal = copy / "runs" / run.name / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    assert running.run_plan(journal.parent, copy).state == "complete"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[limits]\ncall_timeout_ms = 0", "call_timeout_ms"),
        ("[budget]\ndeadline_ms = -1", "deadline_ms"),
        ("confidence = 7", "confidence"),
    ],
)
def test_a_plan_file_with_a_senseless_number_is_refused(own_root, text, said):
    (own_root / "plan.toml").write_text(f'corpus = "tiny"\n{text}\n')
    with pytest.raises(InputError, match=said):
        planning.load_plan(own_root / "plan.toml")


def test_a_design_far_over_budget_is_refused_at_once(own_root):
    with pytest.raises(InputError, match="planned calls"):
        _seal(own_root, repeats=10**9)
