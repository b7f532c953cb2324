"""regrade: the same evidence, the graders of now; first verdicts stay."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import tinyroot
from forging import Forger
from typer.testing import CliRunner

from evalkit import files, gates, prices, sandbox, scoring, standing, tables
from evalkit import plan as planning
from evalkit import run as running
from evalkit.analysis import analyse
from evalkit.audit import audit
from evalkit.cli import app
from evalkit.errors import DriftError, InputError, RunLockedError
from evalkit.evidence import attempts_kept
from evalkit.facts import gather
from evalkit.grading import read_verdict
from evalkit.journal import Writer, read_journal
from evalkit.records import AttemptEnded, CheckResult, Deviation, Regraded
from evalkit.registration import load_registration
from evalkit.regrade import ANSWERS, WORKSPACE, regrade
from evalkit.regrade.again import UNGRADED

LEVEL = tinyroot.isolation()
CONSENT = {"allow_unsandboxed": LEVEL == "none"}
RATES = prices.rates()
N_TRIALS = 6


@pytest.fixture(scope="module")
def finished(proven_root, tmp_path_factory):
    root = Path(shutil.copytree(proven_root, tmp_path_factory.mktemp("r") / "root"))
    run = planning.seal_plan(tinyroot.plan(), root, now=running.utc_now)
    running.run_plan(run, root)
    return root, run


@pytest.fixture
def own(finished, tmp_path):
    """A copy of the finished run that a test may change, and its root."""
    root, run = finished
    copied = Path(shutil.copytree(root, tmp_path / "root"))
    return copied, copied / "runs" / run.name


def given_again(own, **options):
    root, run = own
    box = sandbox.open_box(LEVEL, **CONSENT)
    return regrade(run, root, box=box, now=running.utc_now, **options)


def mend(own, old, new):
    """Change the grader."""
    path = own[0] / "graders/greet/grade.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def forgive(own):
    """The grader takes `helloNAME` too, and asks what it asked."""
    mend(own, 'said == f"hello {name}"', 'said in {f"hello {name}", f"hello{name}"}')


def ask_otherwise(own):
    """The grader asks with another name, and wants what it wanted."""
    mend(own, "name = subject.random.word()", "name = subject.random.word() + 'x'")


def events(own):
    return read_journal(own[1] / "journal.jsonl").events


def lines(own, kind):
    return [event.body for event in events(own) if isinstance(event.body, kind)]


def analysed(own):
    journal = read_journal(own[1] / "journal.jsonl")
    return gates.judge(analyse(load_registration(own[1]), journal, RATES))


def ways(found):
    return {step.how for attempt in found.attempts for step in attempt.steps}


def test_an_unchanged_grader_gives_every_verdict_again_from_the_answers(own):
    found = given_again(own, n_workers=2)
    assert ways(found) == {ANSWERS}
    assert len(found.attempts) == N_TRIALS
    assert (found.differs, found.deviations) == (False, ())
    first = {str(b.result.key): b.result for b in lines(own, AttemptEnded)}
    for body in lines(own, Regraded):
        told = first[str(body.result.key)].steps[0].grade.checks
        assert body.result.steps[0].grade.checks == told
        assert (body.how, body.answers) == (ANSWERS, {})
    assert not (own[1] / "regrades").exists()


def test_a_regrade_that_would_only_repeat_the_last_adds_no_line(own):
    given_again(own)
    before = (own[1] / "journal.jsonl").read_bytes()
    found = given_again(own)
    assert not any(attempt.journaled for attempt in found.attempts)
    assert (own[1] / "journal.jsonl").read_bytes() == before


def test_a_regrade_changes_neither_the_state_of_a_run_nor_what_is_left_to_do(own):
    root, run = own
    before = standing.status(run)
    given_again(own)
    assert standing.status(run) == before
    written = (run / "journal.jsonl").read_bytes()
    assert running.run_plan(run, root).state == "complete"
    assert (run / "journal.jsonl").read_bytes() == written


def test_a_mended_grader_that_asks_the_same_judges_the_recorded_answers(own):
    forgive(own)
    found = given_again(own)
    assert ways(found) == {ANSWERS}
    others = [attempt for attempt in found.attempts if attempt.differences]
    failed = [
        b.result
        for b in lines(own, AttemptEnded)
        if not all(check.passed for check in b.result.steps[0].grade.checks)
    ]
    assert {a.trial for a in others} == {str(result.key) for result in failed}
    (one,) = others[0].differences
    assert (one.step, one.what) == ("task", "says-name")
    assert (one.first, one.again) == ("failed, weight 2", "passed, weight 2")
    assert "greets by name" in one.reason


def test_a_mended_grader_is_a_departure_named_once(own):
    forgive(own)
    given_again(own)
    found = given_again(own)
    (noted,) = lines(own, Deviation)
    assert found.deviations == (noted,)
    assert noted.what == "grader of greet, when graded again"
    (sealed,) = load_registration(own[1]).cases
    assert noted.registered == sealed.digests.grader != noted.found


def test_the_first_verdict_counts_and_the_report_shows_both(own):
    before = analysed(own)
    forgive(own)
    found = given_again(own)
    after = analysed(own)
    assert [a.score for a in after.arms] == [a.score for a in before.arms]
    differing = [row for row in after.regrades if row.differences]
    assert len(differing) == sum(bool(a.differences) for a in found.attempts)
    assert (differing[0].score_before, differing[0].score_after) == (0.5, 1.0)
    told = tables.fragility(after).text
    assert "task says-name | failed, weight 2 | passed, weight 2" in told
    assert "The first verdicts count." in told
    assert "grader of greet" in told
    gate = next(g for g in after.gates if g.name == "verdicts repeat")
    assert gate.verdict == "fail"
    trials = gather(load_registration(own[1]), events(own)).trials
    trial = next(t for t in trials if str(t.key) == differing[0].trial)
    assert (trial.score, trial.regraded) == (0.5, ANSWERS)
    assert trial.again is not None


def test_a_report_says_whether_verdicts_were_given_again_alike(own):
    never = analysed(own)
    given_again(own)
    after = analysed(own)

    def gate(found):
        return next(g for g in found.gates if g.name == "verdicts repeat").verdict

    assert (gate(never), gate(after)) == ("unknown", "pass")
    assert "no verdict was given again" in tables.fragility(never).text
    assert f"6 verdicts were given again (6 {ANSWERS})" in tables.fragility(after).text


def test_a_grader_that_asks_otherwise_questions_the_saved_workspace_again(own):
    ask_otherwise(own)
    found = given_again(own, n_workers=2)
    assert ways(found) == {WORKSPACE}
    assert "says-name, question 1" in found.attempts[0].steps[0].why
    assert not found.differs
    assert [body.how for body in lines(own, Regraded)] == [WORKSPACE] * N_TRIALS


def test_new_answers_are_kept_beside_the_attempt_whose_seal_stays_true(own):
    ask_otherwise(own)
    given_again(own)
    run = own[1]
    for body in lines(own, Regraded):
        key = str(body.result.key)
        path = f"regrades/1/{key}/1/01-task/answers.jsonl"
        assert body.answers[path] == files.file_digest(run / path)
        assert read_verdict(run / path) == body.result.steps[0].grade
        assert attempts_kept(run, body.result.key) == [1]
    found = audit(run, own[0], **CONSENT)
    fine = {f.check for f in found.findings if f.verdict == "pass"}
    assert {"evidence", "conclusions", "trials", "journal chain", "regrades"} <= fine


def test_answers_of_a_regrade_that_were_edited_are_named_by_an_audit(own):
    ask_otherwise(own)
    given_again(own)
    path = next((own[1] / "regrades").rglob("answers.jsonl"))
    path.write_bytes(path.read_bytes() + b"\n")
    found = audit(own[1], own[0], **CONSENT)
    regrades = next(f for f in found.findings if f.check == "regrades")
    assert regrades.verdict == "fail"
    assert len(regrades.evidence) == 1


def held(own):
    """What an audit says of the verdicts given again."""
    found = audit(own[1], own[0], **CONSENT)
    return next(one for one in found.findings if one.check == "regrades")


def turned(result):
    """A copy of a result whose check of the name came out the other way."""
    other = json.loads(json.dumps(result))
    for check in other["steps"][0]["grade"]["checks"]:
        if check["id"] == "says-name":
            check.update(passed=not check["passed"], reason="")
    return other


@pytest.mark.parametrize("how", [ANSWERS, WORKSPACE, UNGRADED, "by looking hard"])
def test_verdicts_given_again_that_nothing_gave_are_each_named(own, how):
    forger = Forger(own[1])
    for result in forger.results():
        forger.add({"type": "regraded", "result": turned(result), "how": how})
    forger.write(chained=True)
    told = held(own)
    assert told.verdict == "fail"
    text = "\n".join(told.evidence)
    for result in lines(own, AttemptEnded):
        assert f"{result.result.key}, attempt 1, graded again: " in text
    fault = {
        ANSWERS: "task: from the answers: says-name: journaled passed of weight 2, now "
        "failed of weight 2",
        WORKSPACE: "task: its workspace, questioned again: says-name: journaled passed",
    }.get(how, f"says {how!r}, which is no way of grading its steps")
    assert fault in text
    assert ("no answers are kept" in text) is (how == WORKSPACE)


def test_a_regrade_that_names_the_answers_of_another_place_is_named(own):
    forger = Forger(own[1])
    result = forger.ended()
    path = forger.step(result) / "answers.jsonl"
    kept = {path.relative_to(own[1]).as_posix(): files.file_digest(path)}
    body = {"type": "regraded", "result": result, "how": WORKSPACE, "answers": kept}
    forger.add(body)
    forger.write(chained=True)
    assert any("is no place for its answers" in one for one in held(own).evidence)


def test_kept_answers_that_do_not_give_their_verdict_are_named(own):
    ask_otherwise(own)
    given_again(own)
    forger = Forger(own[1])
    body = forger.regraded()[0]
    (name,) = [n for n in body["answers"] if n.endswith("answers.jsonl")]
    body["result"] = turned(body["result"])
    *rows, verdict = (own[1] / name).read_text().splitlines()
    checks = [CheckResult(**c) for c in forger.grade_of(body["result"])["checks"]]
    line = {**json.loads(verdict), "verdict": scoring.score_line(checks)}
    (own[1] / name).write_text("\n".join([*rows, json.dumps(line)]) + "\n")
    body["answers"][name] = files.file_digest(own[1] / name)
    forger.write(chained=True)
    told = held(own)
    assert told.verdict == "fail"
    assert "task: from the answers kept: says-name: journaled" in told.evidence[0]
    assert "task: its workspace, questioned again: says-name" in told.evidence[1]


def test_anything_but_the_grade_that_a_regrade_tells_otherwise_is_named(own):
    given_again(own)
    forger = Forger(own[1])
    one, two, *_ = forger.regraded()
    one["result"]["steps"][0]["requests"][0]["output"] += 1
    two["result"]["outcome"] = "infrastructure"
    forger.write(chained=True)
    told = held(own)
    assert told.verdict == "fail"
    assert "requests[0].output" in told.evidence[0]
    assert "result.outcome" in told.evidence[1]
    assert len(told.evidence) == 2


def test_a_verdict_by_a_grader_that_is_not_here_is_unknown_and_named(own):
    path = own[0] / "graders/greet/grade.py"
    was = path.read_text()
    forgive(own)
    given_again(own)
    assert held(own).verdict == "pass"
    path.write_text(was)
    told = held(own)
    assert told.verdict == "unknown"
    assert len(told.evidence) == N_TRIALS
    assert "a grader that is not here" in told.evidence[0]


def test_another_grader_without_a_line_that_tells_of_it_is_named(own):
    given_again(own)
    forger = Forger(own[1])
    forger.grade_of(forger.regraded()[0]["result"])["grader_digest"] = "f" * 64
    forger.write(chained=True)
    told = held(own)
    assert told.verdict == "fail"
    assert "no line tells of that departure" in told.evidence[0]


def test_of_verdicts_by_several_graders_only_those_by_others_are_unknown(own):
    given_again(own)
    ask_otherwise(own)
    given_again(own)
    (own[0] / "graders/greet/grade.py").write_text(
        tinyroot.FILES["graders/greet/grade.py"].lstrip("\n")
    )
    given_again(own)
    told = held(own)
    assert told.verdict == "unknown"
    assert len(told.evidence) == N_TRIALS


def test_questioning_again_alike_keeps_no_second_set_of_answers(own):
    ask_otherwise(own)
    given_again(own)
    before = {*own[1].rglob("*")}
    assert not any(a.journaled for a in given_again(own).attempts)
    assert {*own[1].rglob("*")} == before


def test_a_grader_that_dies_now_is_a_difference_and_mending_it_another_line(own):
    mend(own, "checks = Checks(", "checks = Nothing(")
    died = given_again(own)
    assert ways(died) == {WORKSPACE}
    told = {d.what: (d.first, d.again) for d in died.attempts[0].differences}
    assert told["grader"] == ("gave a verdict", "died")
    assert told["outcome"] == ("scored", "grader_died")
    mend(own, "checks = Nothing(", "checks = Checks(")
    mended = given_again(own)
    assert not mended.differs
    assert all(attempt.journaled for attempt in mended.attempts)
    assert len(lines(own, Regraded)) == 2 * N_TRIALS


def test_a_grade_whose_grader_had_died_is_made_by_questioning_again(own):
    forger = Forger(own[1])
    result = forger.ended(says_name=True)
    *rows, verdict = forger.answers(result)
    dead = {**verdict, "verdict": None, "died": "killed"}
    forger.write_answers(result, [*rows, dead])
    forger.grade_of(result).update(checks=[], died="killed")
    result.update(outcome="grader_died", reason="task: killed")
    forger.reseal(result)
    forger.write(chained=True)
    found = given_again(own)
    (other,) = [a for a in found.attempts if a.differences]
    assert other.steps[0].how == WORKSPACE
    assert other.steps[0].why == "the grader had died: killed"
    assert {d.what for d in other.differences} == {"grader", "outcome"}


@pytest.mark.parametrize(
    ("path", "part"),
    [("cases/greet/fixture/README.md", "fixture"), ("cases/greet/prompt.md", "case")],
)
def test_a_changed_case_or_fixture_is_refused_and_nothing_written(own, path, part):
    before = (own[1] / "journal.jsonl").read_bytes()
    (own[0] / path).write_text("other\n")
    with pytest.raises(DriftError, match=f"greet {part}: registered"):
        given_again(own)
    assert (own[1] / "journal.jsonl").read_bytes() == before


def test_damaged_evidence_is_refused_by_name(own):
    path = next((own[1] / "trials").rglob("workspace.tar"))
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"others at 01-task/workspace\.tar"):
        given_again(own)


def test_evidence_sealed_otherwise_than_journaled_is_refused(own):
    forger = Forger(own[1])
    result = forger.ended()
    (forger.step(result) / "agent.stderr").write_text("changed")
    forger.reseal(result)
    with pytest.raises(InputError, match="as journaled"):
        given_again(own)


@pytest.mark.parametrize("left", [None, b""])
def test_a_run_that_no_journal_says_was_begun_is_refused_and_nothing_written(own, left):
    journal = own[1] / "journal.jsonl"
    journal.unlink()
    journal.with_suffix(".lock").unlink(missing_ok=True)
    if left is not None:
        journal.write_bytes(left)
    watched = files.Watch([own[1]])
    with pytest.raises(InputError, match="when the run was started") as refused:
        given_again(own)
    assert "restore the journal" in str(refused.value)
    assert f"evalkit run {own[1].name}" in str(refused.value)
    assert not watched.touched()


def test_a_journal_without_a_start_is_refused(own):
    forger = Forger(own[1])
    forger.lines = [x for x in forger.lines if x["body"]["type"] != "run-started"]
    forger.write(chained=True)
    with pytest.raises(InputError, match=r"found 13 lines, none of a start"):
        given_again(own)


def test_only_one_process_works_on_a_run(own):
    journal = own[1] / "journal.jsonl"
    with Writer(journal, now=running.utc_now), pytest.raises(RunLockedError):
        given_again(own)


def test_the_command_ends_with_1_where_verdicts_differ(own):
    root, run = own
    words = ["regrade", run.name, "--root", str(root)]
    words += ["--allow-unsandboxed"] if LEVEL == "none" else []
    same = CliRunner().invoke(app, [*words, "--json"])
    assert same.exit_code == 0
    assert {a["trial"] for a in json.loads(same.stdout)["attempts"]}
    forgive(own)
    other = CliRunner().invoke(app, words)
    assert other.exit_code == 1
    assert "OTHERWISE greet." in other.stdout
    assert "says-name: failed, weight 2 -> passed, weight 2" in other.stdout
    assert "departure: grader of greet" in other.stdout


def test_isolation_none_needs_consent_and_is_a_departure(own):
    root, run = own
    words = ["regrade", run.name, "--root", str(root), "--isolation", "none"]
    refused = CliRunner().invoke(app, words)
    assert isinstance(refused.exception, InputError)
    assert "--allow-unsandboxed" in str(refused.exception)
    done = CliRunner().invoke(app, [*words, "--allow-unsandboxed"])
    assert done.exit_code == 0
    noted = [d for d in lines(own, Deviation) if "isolation" in d.what]
    assert [(d.registered, d.found) for d in noted] == (
        [] if LEVEL == "none" else [(LEVEL, "none")]
    )


JUDGE = """
import json, runpy, sys
said = runpy.run_path(sys.argv[1] + "/greet.py")["greet"]("ada")
checks = [
    {"id": "says-hello", "weight": 1, "passed": said.startswith("hello")},
    {"id": "says-name", "weight": 2, "passed": said == "hello ada"},
    {"id": "keeps-readme", "weight": 1, "passed": True},
]
won = sum(c["weight"] for c in checks if c["passed"])
print("ECC_EVAL_SCORE", json.dumps({"score": won / 4, "checks": checks}))
"""


def test_a_foreign_grader_judges_the_saved_workspace_again(tmp_path):
    root = tinyroot.make(tmp_path / "root")
    (root / "graders/greet/grade.py").unlink()
    (root / "graders/greet/judge.py").write_text(JUDGE)
    case = root / "cases/greet/case.toml"
    command = 'command = ["python3", "-B", "{grader}/judge.py", "{workspace}"]'
    case.write_text(f"{command}\n{case.read_text()}")
    tinyroot.prove(root)
    run = planning.seal_plan(tinyroot.plan(repeats=1), root, now=running.utc_now)
    running.run_plan(run, root)
    found = given_again((root, run))
    assert ways(found) == {WORKSPACE}
    assert not found.differs
    assert (run / "regrades/1").is_dir()
    told = audit(run, root, **CONSENT)
    assert not [one for one in told.findings if one.verdict == "fail"]
    path = root / "graders/greet/judge.py"
    path.write_text(JUDGE.replace('== "hello ada"', '== "hello, ada"'))
    assert given_again((root, run)).differs
