"""Before a main run on injected knowledge: each condition, passed by its evidence."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import msgspec
import pytest
import tinyroot

from evalkit import ambiguity, plan, proof, readiness, sandbox
from evalkit.audit import audit
from evalkit.corpus import load_case
from evalkit.errors import InputError, ProofError
from evalkit.preflight import not_short, preflight
from evalkit.records import GateRule, Kind, Layout, Plan, Program
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


def heeding(root, **changes):
    """A plan with a program that follows the rule where it is told of it."""
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
        **changes,
    )


@pytest.fixture(scope="module")
def gated(made):
    """The folder of the gate run."""
    run = plan.seal_plan(heeding(made, design=Layout.GATE), made, now=utc_now)
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
        heeding(made, design=Layout.PASS3, gate_run=gated.name), made, now=utc_now
    )
    sealed = load_registration(main)
    verdict = readiness.judge_run(gated)
    assert sealed.gate.run == gated.name
    assert sealed.gate.verdict == "ready"
    assert sealed.gate.journal_head == verdict.journal_head
    assert {key.repeat for key in sealed.schedule} == {1, 2, 3}
    assert {key.arm for key in sealed.schedule} == {"baseline", "injected", "placebo"}


def test_a_run_by_another_agent_cannot_rest_on_a_gate_run(made, gated):
    with pytest.raises(InputError, match="with the agent of this plan, scripted"):
        plan.draft(planned(gate_run=gated.name), made, now=utc_now)


def finding(made, run):
    found = audit(run, made, allow_unsandboxed=tinyroot.isolation() == "none")
    return next(one for one in found.findings if one.check == "gate run"), found


def test_an_audit_judges_the_gate_run_again(made, gated, tmp_path):
    root = shutil.copytree(made, tmp_path / "root")
    main = plan.seal_plan(
        heeding(root, repeats=1, gate_run=gated.name), root, now=utc_now
    )
    assert finding(root, main)[0].verdict == "pass"
    journal = root / "runs" / gated.name / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    cut, whole = finding(root, main)
    assert (cut.verdict, whole.verdict) == ("fail", "fail")
    assert "journal head" in cut.evidence[0]
    shutil.rmtree(root / "runs" / gated.name)
    gone, whole = finding(root, main)
    assert (gone.verdict, whole.verdict) == ("unknown", "unknown")


def test_a_journal_of_another_run_gives_no_verdict(made, gated, tmp_path):
    root = shutil.copytree(made, tmp_path / "root")
    never_run = plan.seal_plan(
        heeding(root, design=Layout.GATE, seed=2), root, now=utc_now
    )
    shutil.copy(gated / "journal.jsonl", never_run)
    with pytest.raises(InputError, match="journal that names registration"):
        readiness.judge_run(never_run)
    shutil.rmtree(root / "runs" / gated.name)
    (line,) = (one for one in preflight(root, CORPUS).lines if "pilot" in one.name)
    assert line.verdict == "fail"
    assert f"not read: {never_run.name}" in line.evidence


def test_a_gate_run_is_not_repeated_until_it_is_ready(made, gated, tmp_path):
    root = shutil.copytree(made, tmp_path / "root")
    assert preflight(root, CORPUS).clear
    overlay = root / "reference" / CASE
    knowing = heeding(root, design=Layout.GATE, seed=3)
    argv = tuple(
        word.replace("{prompt}", "What the team knows") for word in knowing.program.argv
    )
    told = msgspec.structs.replace(
        knowing, program=msgspec.structs.replace(knowing.program, argv=argv)
    )
    assert overlay.is_dir()
    run_plan(plan.seal_plan(told, root, now=utc_now), root)
    (line,) = (one for one in preflight(root, CORPUS).lines if "pilot" in one.name)
    assert line.verdict == "fail"
    assert "stop-and-redesign" in line.evidence
    assert f"{gated.name}: ready" in line.evidence


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gate_run": "nowhere"}, "id of a gate run"),
        ({"design": Layout.PASS3, "repeats": 2}, "3 with the design pass3"),
        ({"design": Layout.GATE, "repeats": 4}, "2 or 3 with the design gate"),
        ({"design": Layout.GATE, "arms": ("baseline", "placebo")}, "injects knowledge"),
        ({"design": Layout.GATE, "arms": ("injected", "placebo")}, "one of baseline"),
        ({"design": Layout.GATE, "gate_rule": GateRule(2, 1)}, "fewer passes of the"),
        ({"design": Layout.GATE, "gate_rule": GateRule(1, 3)}, "fewer passes of the"),
        ({"gate_run": "../elsewhere"}, "id of a gate run"),
        ({"gate_run": "x" * 5000}, "id of a gate run"),
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
    "cases about knowledge": ("cases/{case}/case.toml", "principle", ""),
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
    sealed = load_registration(gated)
    other = msgspec.structs.replace(sealed, corpus_digest="0" * 64)
    path = made / "cases" / CASE / "prompt.md"
    before = path.read_text()
    path.write_text(before + "Thank you.\n")
    try:
        assert verdicts(made)["real pilot shows the signal"] == "fail"
        with pytest.raises(InputError, match="with the corpus of this plan"):
            readiness.seal_of(made, gated.name, other)
    finally:
        path.write_text(before)


@pytest.mark.parametrize(
    ("injection", "said"),
    [
        ("One. Two.", None),
        ("One, e.g. this, i.e. that. Two.", None),
        ("One. Two. And this has no full stop", "3 sentences"),
        ('One. "Two." Three!', "3 sentences"),
        ("First this; then that; then another.", "3 sentences"),
        ("Do `a()`, `b()` and `c()`.", "3 words of code"),
        ("x" * 451, "451 characters"),
        ("One.\n2) Two.", "step by step"),
    ],
)
def test_an_injection_is_knowledge_and_no_walk_through(made, injection, said):
    case = msgspec.structs.replace(load_case(made, CASE), injection=injection)
    found = "; ".join(not_short(case))
    assert (said in found) if said else not found


SPOILT = {
    "graders proven both ways": "runs/proofs/*.json",
    "fixes audited": "runs/audits/*.json",
    "real pilot shows the signal": "runs/*/registration.json",
}


@pytest.mark.parametrize("condition", SPOILT)
def test_evidence_that_cannot_be_read_fails_its_line_and_no_other(
    gated, tmp_path, condition
):
    root = shutil.copytree(gated.parent.parent, tmp_path / "root")
    for path in root.glob(SPOILT[condition]):
        path.write_text("{}")
    found = verdicts(root)
    assert [name for name, verdict in found.items() if verdict == "fail"] == [condition]


def test_a_verdict_on_other_fixes_is_no_verdict(made, tmp_path):
    root = shutil.copytree(made, tmp_path / "root")
    (path,) = root.glob("runs/audits/*.json")
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"cases": []}))
    assert verdicts(root)["fixes audited"] == "fail"
    kept["cases"][0]["reference"] = "0" * 64
    path.write_text(json.dumps(kept))
    assert verdicts(root)["fixes audited"] == "fail"


def test_a_proof_that_was_cut_is_no_proof(made, tmp_path):
    root = shutil.copytree(made, tmp_path / "root")
    (path,) = root.glob("runs/proofs/*.json")
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"rows": kept["rows"][:2]}))
    assert verdicts(root)["graders proven both ways"] == "fail"
    with pytest.raises(ProofError):
        plan.draft(planned(), root, now=utc_now)
