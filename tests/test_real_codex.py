"""The real Codex CLI through whole trials, with a program here in its provider's place."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import realroot
from messages_stub import digest

from evalkit import run as running
from evalkit import standing
from evalkit.agents import open_agent
from evalkit.errors import InfrastructureError, InputError
from evalkit.records import Ended, Outcome, Plan
from evalkit.registration import load_registration

pytestmark = pytest.mark.needs_codex

ARMS = ("full", "canonical", "baseline")
OPERATORS = "canary-of-the-operator-41fa"


def _plan(url: str, **changes: object) -> Plan:
    return realroot.plan(url, agent="codex", model="gpt-5.5-codex", **changes)


@pytest.fixture(scope="module")
def carried(proven_root, tmp_path_factory):
    """One trial of each arm: root, run and provider."""
    folder = tmp_path_factory.mktemp("codex")
    root = Path(shutil.copytree(proven_root, folder / "root"))
    operators = folder / "operator" / ".codex"
    operators.mkdir(parents=True)
    (operators / "AGENTS.md").write_text(OPERATORS)
    (operators / "config.toml").write_text(f'model = "{OPERATORS}"\n')
    turns = realroot.greets(root, dialect="openai")
    for turn in turns:  # its protocol tells of one kind of cache writes alone
        turn["usage"]["write_1h"] = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", realroot.CREDENTIAL)
        patch.setenv("HOME", str(operators.parent))
        patch.setenv("CODEX_HOME", str(operators))
        with realroot.provider(folder / "stub", realroot.always(*turns)) as stub:
            yield root, realroot.carry_out(root, _plan(stub.url, arms=ARMS)), stub


def test_each_arm_is_scored_and_graded_by_what_the_cli_wrote(carried):
    _, run, _ = carried
    found = realroot.results(run)
    assert {result.key.arm for result in found} == set(ARMS)
    for result in found:
        (step,) = result.steps
        assert result.outcome is Outcome.SCORED, result.reason
        assert all(check.passed for check in step.grade.checks), step.grade
    assert load_registration(run).agent.version.startswith("codex-cli")


def test_usage_in_the_journal_is_what_was_served_and_nobody_disagrees(carried):
    _, run, stub = carried
    assert realroot.used(run) == stub.served()
    assert {step.disagreement for step in realroot.steps(run)} == {None}


def test_its_own_account_of_each_request_is_kept(carried):
    _, run, _ = carried
    kept = list(run.glob("trials/*/1/01-task/session/**/rollout-*.jsonl"))
    assert len(kept) == len(ARMS)


@pytest.mark.needs_root
def test_it_connects_to_its_provider_and_to_nothing_else(tmp_path):
    argv = ["unshare", "--net", sys.executable, realroot.__file__, "reached", tmp_path]
    said = subprocess.run(argv, check=True, capture_output=True)
    told = json.loads(said.stdout)
    assert told["reached"] == [told["url"]]


def test_each_arm_is_told_of_the_skills_of_its_home_and_no_others(carried):
    _, run, _ = carried
    told = {r.key.arm: r.steps[0].treatment for r in realroot.results(run)}
    assert {arm: one.listed for arm, one in told.items()} == {
        "full": ("greeting", "guide"),
        "canonical": ("guide",),
        "baseline": (),
    }
    assert {arm: one.carried for arm, one in told.items()} == {
        "full": (),
        "canonical": ("greeting",),
        "baseline": (),
    }


def test_neither_the_operators_own_nor_the_credential_shows_up(carried):
    root, _, stub = carried
    keys = {tuple(line["credential"].items()) for line in stub.lines("asked")}
    assert keys == {(("authorization", digest(realroot.CREDENTIAL)),)}
    for secret in (OPERATORS, realroot.CREDENTIAL):
        assert secret not in stub.log()
        for path, data in realroot.everything(root):
            assert secret.encode() not in data, path


def test_a_plan_with_the_early_library_is_refused(tmp_path):
    plan = _plan("http://127.0.0.1:9", arms=("baseline", "ecc-legacy"))
    with pytest.raises(InputError, match="ecc-legacy"):
        open_agent(plan, tmp_path)


def test_a_refused_login_stops_the_run_until_it_is_mended(own_root, tmp_path):
    whole = realroot.greets(own_root, dialect="openai")
    script = realroot.in_turn([{"status": 401, "times": 99}], whole)
    with realroot.provider(tmp_path / "stub", script) as stub:
        run = realroot.seal(own_root, _plan(stub.url))
        with pytest.raises(InfrastructureError, match="nothing was scored"):
            running.run_plan(run, own_root)
        (stopped,) = realroot.results(run)
        assert stopped.steps[0].calls[0].ended is Ended.LOGIN_FAILED
        assert standing.status(run).n_done == 0
        running.run_plan(run, own_root)
    assert realroot.results(run)[1].outcome is Outcome.SCORED


def test_a_fault_of_the_provider_is_tried_again(own_root, tmp_path):
    whole = realroot.greets(own_root, dialect="openai")
    cut = [{"text": "Hi", "cut_after": 2}]
    script = realroot.in_turn([{"status": 500, "times": 99}], cut, whole)
    with realroot.provider(tmp_path / "stub", script) as stub:
        run = realroot.carry_out(own_root, _plan(stub.url))
    found = realroot.results(run)
    assert [result.attempt for result in found] == [1, 2, 3]
    assert [result.steps[0].calls[0].ended for result in found] == [
        Ended.PROVIDER_FAULT,
        Ended.PROVIDER_FAULT,
        Ended.FINISHED,
    ]
