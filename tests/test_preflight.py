"""Before a main run on injected knowledge: each condition, passed by its evidence."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import tinyroot

from evalkit import ambiguity, plan, proof, readiness, sandbox
from evalkit.corpus import load_corpus
from evalkit.errors import InputError
from evalkit.preflight import preflight
from evalkit.records import Kind, Layout, Plan, Program
from evalkit.registration import load_registration
from evalkit.run import run_plan, utc_now
from evalkit.scaffold import new_case

pytestmark = pytest.mark.xdist_group("preflight")
CASE, CORPUS = "house-rule", "rules@1"
PROGRAM = """
\"\"\"Does as the team says, where it is told what that is; else what is usual.\"\"\"

import shutil, sys

print("at work", flush=True)
told = "What the team knows" in sys.argv[1]
shutil.copytree({right!r} if told else {usual!r}, ".", dirs_exist_ok=True)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A root with one case about knowledge, proven and audited, and a real gate run."""
    root = tmp_path_factory.mktemp("rules")
    new_case(root, CASE, kind=Kind.KNOWLEDGE, into=CORPUS)
    level = tinyroot.isolation()
    box = sandbox.open_box(level, allow_unsandboxed=level == "none")
    (found,) = proof.verify(root, [CASE], box=box, n_workers=2, seed=1)
    assert found.holds, found
    verdict = ambiguity.audit_corpus(root, CORPUS, box=box, n_workers=2, seed=1)
    assert not verdict.flagged, verdict
    return root


def planned(**changes):
    level = tinyroot.isolation()
    return Plan(CORPUS, isolation=level, allow_unsandboxed=level == "none", **changes)


def gate_plan(root, **changes):
    """A gate run by a program that follows the rule where it is told of it."""
    overlays = root / "reference" / CASE
    program = root / "program.py"
    program.write_text(
        PROGRAM.format(right=str(overlays / "correct"), usual=str(overlays / "naive"))
    )
    binds = (str(program), str(overlays / "correct"), str(overlays / "naive"))
    argv = (sys.executable, "-I", str(program), "{prompt}")
    return planned(
        agent="command",
        model="none",
        allow_real_provider=True,
        program=Program(argv, binds=binds, dialect=None),
        design=Layout.GATE,
        **changes,
    )


@pytest.fixture(scope="module")
def gated(made):
    """The folder of the gate run."""
    run = plan.seal_plan(gate_plan(made), made, now=utc_now)
    run_plan(run, made)
    return run


def verdicts(root):
    return {line.name: line.verdict for line in preflight(root, CORPUS).lines}


def test_everything_in_place_is_passed_by_evidence(made, gated):
    found = preflight(made, CORPUS)
    assert found.clear, found
    evidence = {line.name: line.evidence for line in found.lines}
    assert gated.name in evidence["real pilot shows the signal"]
    assert "none of 1 cases flagged" in evidence["fixes audited"]


def test_a_gate_run_shows_the_signal_that_its_program_has(gated):
    found = readiness.judge_run(gated)
    assert found.satisfies
    (case,) = found.cases
    assert (case.baseline.k, case.injected.k, case.injected.n) == (0, 2, 2)


def test_the_gate_command_says_so_and_ends_with_its_verdict(made, gated):
    def asked(*words):
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "evalkit.cli",
                *words,
                "--root",
                str(made),
                "--json",
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    done = asked("gate", gated.name)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "ready"
    simulated = plan.seal_plan(planned(design=Layout.GATE), made, now=utc_now)
    run_plan(simulated, made)
    done = asked("gate", simulated.name)
    assert done.returncode == 1
    assert json.loads(done.stdout)["simulated"] is True
    assert asked("preflight", CORPUS).returncode == 0


def test_a_main_run_seals_the_gate_run_it_rests_on(made, gated):
    main = plan.seal_plan(
        planned(design=Layout.PASS3, gate_run=gated.name), made, now=utc_now
    )
    sealed = load_registration(main)
    verdict = readiness.judge_run(gated)
    assert sealed.gate.run == gated.name
    assert sealed.gate.verdict == "ready"
    assert sealed.gate.journal_head == verdict.journal_head
    assert {key.repeat for key in sealed.schedule} == {1, 2, 3}
    assert {key.arm for key in sealed.schedule} == {"baseline", "injected", "placebo"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gate_run": "nowhere"}, "id of a gate run"),
        ({"design": Layout.PASS3, "repeats": 2}, "3 with the design pass3"),
        ({"design": Layout.GATE, "repeats": 4}, "2 or 3 with the design gate"),
        ({"design": Layout.GATE, "arms": ("baseline", "placebo")}, "injects knowledge"),
        ({"design": Layout.GATE, "arms": ("injected", "placebo")}, "one of baseline"),
    ],
)
def test_a_plan_that_its_design_does_not_allow_is_refused(made, changes, message):
    with pytest.raises(InputError, match=message):
        plan.draft(planned(**changes), made, now=utc_now)


def test_a_run_of_another_design_is_no_gate_run(made):
    main = plan.seal_plan(planned(repeats=1), made, now=utc_now)
    with pytest.raises(InputError, match="--design gate"):
        plan.draft(planned(gate_run=main.name), made, now=utc_now)


DAMAGES = {
    "graders proven both ways": ("graders/{case}/grade.py", "a", "# more\n"),
    "injections short": (
        "cases/{case}/case.toml",
        "injection",
        'injection = "First open a.py, then b.py. Then close it. And go."\n',
    ),
    "rule told nowhere else": ("cases/{case}/prompt.md", "a", "A day and a hyphen.\n"),
}


@pytest.mark.parametrize("condition", DAMAGES)
def test_what_is_not_in_place_is_not_passed(made, condition):
    path, how, text = DAMAGES[condition]
    path = made / path.format(case=CASE)
    before = path.read_text()
    kept = before.splitlines(keepends=True)
    if how == "a":
        path.write_text(before + text)
    else:
        path.write_text(
            "".join(text if line.startswith(how) else line for line in kept)
        )
    try:
        found = verdicts(made)
    finally:
        path.write_text(before)
    assert found[condition] == "fail"
    # Whatever an agent or a grader sees has changed, so no older evidence holds.
    assert found["fixes audited"] == "fail"
    assert verdicts(made)[condition] == "pass"


def test_a_gate_run_on_other_cases_counts_for_nothing(made, gated):
    path = made / "cases" / CASE / "prompt.md"
    before = path.read_text()
    path.write_text(before + "Thank you.\n")
    try:
        assert verdicts(made)["real pilot shows the signal"] == "fail"
        with pytest.raises(InputError, match="run the gate again"):
            readiness.seal_of(made, gated.name, load_corpus(made, CORPUS))
    finally:
        path.write_text(before)
