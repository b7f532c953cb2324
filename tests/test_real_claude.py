"""The real Claude Code through whole trials: what it is told, uses and leaves behind.

A program on this machine answers in its provider's place, so each run is stamped
SIMULATED; all else is as with a key: sandbox, gateway, adapter, graders.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
import realroot
from messages_stub import DONE, digest, overlay_turns, told_at_first

from evalkit import registration as sealing
from evalkit import run as running
from evalkit import skills
from evalkit.errors import DriftError, InputError
from evalkit.files import file_digest
from evalkit.records import Access, AttemptStarted, Outcome
from evalkit.registration import load_registration

pytestmark = pytest.mark.needs_claude

CASE = "incident-triage"
ARMS = ("full", "manual-lean", "auto-lean", "ecc-legacy", "baseline")
TINY_ARMS = ("full", "routed", "canonical", "baseline")
HEADING = "The following skills are available for use with the Skill tool:"
OPERATORS = "canary-of-the-operator-9c2e"
"""Stands in all that the operator has of their own, and may show up nowhere."""
LONG_LINE = 30


@dataclass(frozen=True)
class Carried:
    """A run, its root, and what its provider logged."""

    root: Path
    run: Path
    stub: realroot.StubProcess

    def asked(self) -> dict[str, list[dict]]:
        """Bodies of the requests of each trial; made one after the other."""
        sessions: dict[str, list[dict]] = {}
        for line in self.stub.lines("asked"):
            sessions.setdefault(line["session"], []).append(line["body"])
        groups = iter(sessions.values())
        return {
            result.key.arm: [
                body
                for step in result.steps
                for _ in step.calls
                for body in next(groups)
            ]
            for result in realroot.results(self.run)
        }


def _operators_things(home: Path, patch: pytest.MonkeyPatch) -> None:
    """What an operator has of their own, in home and environment."""
    config = home / ".claude"
    hook = {"type": "command", "command": f"touch /workspace/{OPERATORS}"}
    settings = {
        "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]},
        "env": {"OPERATOR": OPERATORS},
        "model": OPERATORS,
    }
    for name, text in {
        "CLAUDE.md": f"Always say {OPERATORS}.",
        "skills/operators/SKILL.md": f"---\nname: {OPERATORS}\n"
        f"description: {OPERATORS}\n---\n{OPERATORS}\n",
        "settings.json": json.dumps(settings),
        "../.claude.json": json.dumps({"operator": OPERATORS}),
        "../.bashrc": f"echo {OPERATORS}",
        "../notes.txt": OPERATORS,
    }.items():
        path = config / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    patch.setenv("HOME", str(home))
    patch.setenv("CLAUDE_CONFIG_DIR", str(config))
    patch.setenv("ANTHROPIC_BASE_URL", f"http://{OPERATORS}.invalid")
    patch.setenv("ANTHROPIC_MODEL", OPERATORS)
    patch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"x-operator: {OPERATORS}")
    patch.setenv("ANTHROPIC_API_KEY", realroot.CREDENTIAL)


def _answers(skill: str | None) -> list[dict]:
    """Turns of a model that chooses this."""
    answer = {"name": "StructuredOutput", "input": {"skill": skill}}
    return realroot.priced([{"tools": [answer]}])


@pytest.fixture(scope="module")
def patch():
    with pytest.MonkeyPatch.context() as found:
        yield found


@pytest.fixture(scope="module")
def tiny(proven_root, tmp_path_factory, patch):
    """One trial of each arm of the tiny case."""
    folder = tmp_path_factory.mktemp("tiny")
    root = Path(shutil.copytree(proven_root, folder / "root"))
    _operators_things(folder / "operator", patch)
    told = realroot.always(*realroot.greets(root))
    with realroot.provider(folder / "stub", told) as stub:
        run = realroot.carry_out(root, realroot.plan(stub.url, arms=TINY_ARMS))
        yield Carried(root, run, stub)


@pytest.fixture(scope="module")
def real(tmp_path_factory, patch):
    """One trial of each arm of a real case."""
    folder = tmp_path_factory.mktemp("real")
    root = realroot.real_root(folder / "root", CASE, ARMS)
    _operators_things(folder / "operator", patch)
    turns = realroot.priced(overlay_turns(root / "reference" / CASE / "correct"))
    choice = {"match": [realroot.CHOOSES], "turns": _answers("orch-fix-defect")}
    with realroot.provider(folder / "stub", choice, realroot.always(*turns)) as stub:
        plan = realroot.plan(stub.url, corpus="one", arms=ARMS)
        yield Carried(root, realroot.carry_out(root, plan), stub)


@pytest.fixture(
    params=["tiny", pytest.param("real", marks=pytest.mark.needs_history)],
)
def carried(request) -> Carried:
    """Both."""
    return request.getfixturevalue(request.param)


# --- what a trial is --------------------------------------------------------


def test_each_arm_is_scored_and_graded_by_what_the_cli_wrote(carried):
    planned = {key.arm for key in load_registration(carried.run).schedule}
    found = realroot.results(carried.run)
    assert {result.key.arm for result in found} == planned
    for result in found:
        (step,) = result.steps
        assert (result.outcome, result.attempt) == (Outcome.SCORED, 1), result.reason
        assert step.grade.died is None
        assert all(check.passed for check in step.grade.checks), step.grade


def test_usage_in_the_journal_is_what_was_served_to_the_token(carried):
    assert realroot.used(carried.run) == carried.stub.served()
    n_asked = len(carried.stub.lines("asked"))
    requests = [r for step in realroot.steps(carried.run) for r in step.requests]
    assert len(requests) == n_asked
    assert {request.source for request in requests} == {"gateway"}


def test_gateway_cli_and_transcript_agree_on_usage(carried):
    assert [step.disagreement for step in realroot.steps(carried.run)] == [None] * len(
        realroot.steps(carried.run)
    )


def test_what_a_program_on_this_machine_answered_is_stamped_simulated(carried):
    sealed = load_registration(carried.run).agent
    assert sealed.simulated
    assert sealed.provider == carried.stub.url
    assert all(result.simulated for result in realroot.results(carried.run))


def test_version_and_digest_of_the_executable_are_registered(tiny):
    sealed = load_registration(tiny.run).agent
    assert re.match(r"\d+\.\d+\.\d+ ", sealed.version)
    assert re.fullmatch(r"[0-9a-f]{64}", sealed.sha256)


# --- what arms are told -----------------------------------------------------


def _listed(bodies: list[dict]) -> dict[str, str]:
    """Skills, with their descriptions, that requests tell of; read for itself."""
    found = {}
    for body in bodies:
        told = told_at_first(body)
        listing = told.partition(HEADING)[2].partition("</system-reminder>")[0]
        for line in listing.splitlines():
            if match := re.match(r"- ([\w-]+): (.*)", line):
                found[match[1]] = match[2]
    return found


@pytest.mark.needs_history
def test_each_arm_lists_the_skills_of_its_home_and_no_others(real):
    current = skills.open_library(real.root, None, name="full")
    legacy = skills.load_legacy(real.root, arm="ecc-legacy")
    lean = {"configure-ecc", "context-budget", "ecc-guide"}
    found = {arm: set(_listed(bodies)) for arm, bodies in real.asked().items()}
    assert found == {
        "full": {skill.name for skill in current.skills},
        "manual-lean": lean,
        "auto-lean": lean,
        "ecc-legacy": {skill.name for skill in legacy.skills},
        "baseline": set(),
    }


@pytest.mark.needs_history
@pytest.mark.parametrize(("arm", "source"), [("full", None), ("ecc-legacy", "legacy")])
def test_descriptions_are_listed_whole_and_of_the_arms_own_library(real, arm, source):
    library = skills.open_library(real.root, source, name=arm)
    assert _listed(real.asked()[arm]) == {
        skill.name: " ".join(skill.description.split()) for skill in library.skills
    }


@pytest.mark.needs_history
def test_bodies_are_carried_by_the_arm_that_injects_them(real):
    library = skills.open_library(real.root, None, name="full")
    bodies = {skill.name: skill.body.strip() for skill in library.skills}
    carried = {
        arm: {name for name, body in bodies.items() if body in told_at_first(asked[-1])}
        for arm, asked in real.asked().items()
    }
    assert carried == {
        "full": set(),
        "manual-lean": {"orch-fix-defect"},
        "auto-lean": {"orch-fix-defect"},
        "ecc-legacy": set(),
        "baseline": set(),
    }


def test_the_recorded_treatment_is_what_the_requests_show(carried):
    asked = carried.asked()
    for result in realroot.results(carried.run):
        (step,) = result.steps
        listed = set(_listed(asked[result.key.arm]))
        assert set(step.treatment.listed) == listed == set(step.treatment.offered)
        assert step.treatment.carried == step.treatment.injected


@pytest.mark.needs_history
def test_the_routed_arm_records_candidates_and_what_it_picked(real):
    (found,) = [r for r in realroot.results(real.run) if r.key.arm == "auto-lean"]
    (step,) = found.steps
    assert (step.selection.picked, step.selection.how) == ("orch-fix-defect", "model")
    assert "orch-fix-defect" in {one.skill for one in step.selection.candidates}
    assert [call.purpose for call in step.calls] == ["select", "task"]


def test_a_skill_put_to_use_is_recorded(proven_root, tmp_path):
    root = Path(shutil.copytree(proven_root, tmp_path / "root"))
    uses = [
        {"tools": [{"name": "Skill", "input": {"skill": "greeting"}}]},
        {"tools": [{"name": "Read", "input": {"file_path": "/home/agent/.claude/skills/"
                                              "guide/SKILL.md"}}]},
        DONE,
    ]  # fmt: skip
    told = realroot.always(*realroot.priced(uses))
    with realroot.provider(tmp_path / "stub", told) as stub:
        run = realroot.carry_out(root, realroot.plan(stub.url))
        assert "Say hello, then the name." in stub.log()
    (step,) = realroot.steps(run)
    assert (step.treatment.invoked, step.treatment.read) == (("greeting",), ("guide",))
    assert step.disagreement is None


# --- what shows up nowhere --------------------------------------------------


def test_nothing_of_the_operators_own_shows_up_anywhere(carried):
    assert OPERATORS not in carried.stub.log()
    for path, data in realroot.everything(carried.run):
        assert OPERATORS.encode() not in data, path
        assert OPERATORS not in path.name


def test_the_credential_is_seen_by_the_provider_alone(carried):
    keys = {json.dumps(line["credential"]) for line in carried.stub.lines("asked")}
    assert keys == {json.dumps({"x-api-key": digest(realroot.CREDENTIAL)})}
    assert realroot.CREDENTIAL not in carried.stub.log()
    for path, data in realroot.everything(carried.root):
        assert realroot.CREDENTIAL.encode() not in data, path


def _lines_of(*folders: Path) -> set[str]:
    """The lines of all files below, without what stands around them."""
    return {
        line.strip()
        for folder in folders
        for _, data in realroot.everything(folder)
        for line in data.decode(errors="replace").splitlines()
    }


@pytest.mark.needs_history
def test_no_request_holds_text_of_graders_or_references(real):
    hidden = _lines_of(real.root / "graders", real.root / "reference" / CASE)
    hidden -= _lines_of(real.root / "cases")
    distinctive = {line for line in hidden if len(line) >= LONG_LINE}
    assert len(distinctive) > 100
    told = "\n".join(told_at_first(line["body"]) for line in real.stub.lines("asked"))
    assert [line for line in distinctive if line in told] == []


# --- choosing a skill by a call ---------------------------------------------


@pytest.fixture(scope="module")
def chosen(proven_root, tmp_path_factory, patch):
    """Five trials whose skill a call chooses: each answers in another way."""
    folder = tmp_path_factory.mktemp("chosen")
    root = Path(shutil.copytree(proven_root, folder / "root"))
    triggers = root / "cases" / "_skills" / "triggers.toml"
    triggers.write_text('[greeting]\nphrases = ["welcome them"]\n')
    _operators_things(folder / "operator", patch)
    choice = realroot.in_turn(
        _answers("greeting"),
        _answers(None),
        [{"text": "Whatever you like best.", "times": 9, "usage": realroot.USED}],
        [{"status": 529}],
        _answers("greeting"),
        match=(realroot.CHOOSES,),
    )
    told = realroot.always(*realroot.greets(root))
    with realroot.provider(folder / "stub", choice, told) as stub:
        plan = realroot.plan(stub.url, arms=("routed",), repeats=4, min_rank_score=0.01)
        yield Carried(root, realroot.carry_out(root, plan), stub)


def test_a_call_picks_a_skill_or_none_and_nonsense_stops_nothing(chosen):
    found = realroot.results(chosen.run)
    by_trial = [
        (step.selection.how, step.selection.picked, step.treatment.carried)
        for result in found
        if result.outcome is Outcome.SCORED
        for step in result.steps
    ]
    assert by_trial == [
        ("model", "greeting", ("greeting",)),
        ("none", None, ()),
        ("failed", None, ()),
        ("model", "greeting", ("greeting",)),
    ]


def test_a_providers_fault_in_the_choosing_call_gives_a_new_attempt(chosen):
    faulty, after = realroot.results(chosen.run)[-2:]
    assert (faulty.key, faulty.attempt + 1) == (after.key, after.attempt)
    assert faulty.outcome is Outcome.INFRASTRUCTURE
    (step,) = faulty.steps
    assert [(c.purpose, c.ended.value) for c in step.calls] == [
        ("select", "provider_fault")
    ]
    assert after.outcome is Outcome.SCORED


def test_choosing_calls_are_counted_apart_with_their_usage(chosen):
    *whole, _, _ = realroot.results(chosen.run)
    for result in whole:
        (step,) = result.steps
        assert [call.purpose for call in step.calls] == ["select", "task"]
        assert {request.call for request in step.requests} == {0, 1}
        assert step.disagreement is None
    assert realroot.used(chosen.run) == chosen.stub.served()


def test_a_choosing_call_has_no_tool_but_the_answer(chosen):
    choosing = [
        line["body"]
        for line in chosen.stub.lines("asked")
        if realroot.CHOOSES in told_at_first(line["body"])
    ]
    assert choosing
    for body in choosing:
        names = {tool["name"] for tool in body["tools"]}
        assert names - {"DeferredToolPlaceholder"} == {"StructuredOutput"}
        assert HEADING not in json.dumps(body)


# --- consent, and the way without a gateway ---------------------------------


def test_a_real_provider_needs_consent_when_planned_and_when_run(own_root):
    plan = realroot.plan("https://models.invalid")
    with pytest.raises(InputError, match="--allow-real-provider"):
        realroot.seal(own_root, plan)
    agreed = msgspec.structs.replace(plan, allow_real_provider=True)
    sealed = load_registration(realroot.seal(own_root, agreed))
    run = sealing.write_registration(
        own_root, sealing.seal(msgspec.structs.replace(sealed, plan=plan))
    )
    with pytest.raises(InputError, match="--allow-real-provider"):
        running.run_plan(run, own_root)


def test_direct_access_needs_consent(own_root):
    plan = realroot.plan("http://127.0.0.1:9", access=Access.DIRECT)
    with pytest.raises(InputError, match="--allow-credentialed-tools"):
        realroot.seal(own_root, plan)


@pytest.mark.needs_root
def test_without_a_gateway_usage_is_the_clis_own_account(own_root):
    argv = ["unshare", "--net", sys.executable, realroot.__file__, "direct", own_root]
    env = os.environ | {"ANTHROPIC_API_KEY": realroot.CREDENTIAL}
    said = subprocess.run(argv, check=True, capture_output=True, env=env)
    told = json.loads(said.stdout)
    (step,) = realroot.steps(Path(told["run"]))
    assert realroot.used(Path(told["run"])) == told["served"]
    assert {request.source for request in step.requests} != {"gateway"}
    assert step.treatment.listed is None
    assert all(check.passed for check in step.grade.checks)
    assert load_registration(Path(told["run"])).agent.access is Access.DIRECT


# --- the executable ---------------------------------------------------------


def test_a_changed_executable_is_drift(own_root, tmp_path):
    from evalkit.agents import claude

    copy = Path(shutil.copy(claude.find().path, tmp_path / "claude"))
    plan = realroot.plan("http://127.0.0.1:9", executable=str(copy))
    run = realroot.seal(own_root, plan)
    assert load_registration(run).agent.sha256 == file_digest(copy)
    with copy.open("ab") as opened:
        opened.write(b"\n")
    with pytest.raises(DriftError, match="agent"):
        running.run_plan(run, own_root)
    assert realroot.results(run) == []


# --- ended by force ---------------------------------------------------------


def test_a_run_that_is_killed_goes_on_and_does_each_trial_once(own_root, tmp_path):
    told = realroot.greets(own_root)
    stuck = [told[0], DONE | {"wait_for": str(tmp_path / "never")}]
    script = realroot.in_turn(told, told, stuck, told, told, told, told)
    with realroot.provider(tmp_path / "stub", script) as stub:
        plan = realroot.plan(stub.url, arms=("full", "routed", "baseline"), repeats=2)
        run = realroot.seal(own_root, plan)
        argv = [sys.executable, "-c", realroot.RUNS, str(run), str(own_root)]
        killed = subprocess.Popen(argv)
        stub.await_lines("asked", 6)
        killed.send_signal(signal.SIGKILL)
        assert killed.wait() == -signal.SIGKILL
        stub.await_lines("answered", 6)
        assert len(realroot.results(run)) == 2
        subprocess.run(argv, check=True)
        answered = stub.lines("answered")
    planned = Counter(load_registration(run).schedule)
    found = realroot.results(run)
    assert Counter(result.key for result in found) == planned
    assert {result.outcome for result in found} == {Outcome.SCORED}
    begun = [one for one in realroot.bodies(run) if isinstance(one, AttemptStarted)]
    assert len(begun) == 7
    assert Counter(one["ended"] for one in answered) == {
        "complete": 13,
        "client-gone": 1,
    }
    whole = [one["usage"] for one in answered if one["ended"] == "complete"]
    lost = told[0]["usage"]
    assert realroot.used(run) == {
        name: sum(one[name] for one in whole) - lost[name] for name in lost
    }
