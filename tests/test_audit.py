"""audit: every forgery is caught by name, and nothing is changed by looking."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path

import msgspec
import pytest
import tinyroot
from forging import Forger
from typer.testing import CliRunner

from evalkit import files, gates, prices, tables
from evalkit import plan as planning
from evalkit import run as running
from evalkit.analysis import analyse
from evalkit.audit import audit
from evalkit.cli import app
from evalkit.errors import StoppedEarlyError
from evalkit.journal import read_journal
from evalkit.records import Budget
from evalkit.registration import load_registration, seal

LEVEL = tinyroot.isolation()
CONSENT = {"allow_unsandboxed": LEVEL == "none"}
RATES = prices.rates()
N_TRIALS = 6
READINGS = {"drift", "report", "proofs"}
"""Findings about what lies beside the run."""


def report_beside(run: Path) -> None:
    """What a report states, without carrying out its notebook."""
    journal = read_journal(run / "journal.jsonl")
    found = gates.judge(analyse(load_registration(run), journal, RATES))
    (run / "analysis.json").write_bytes(files.encode_json(found))
    (run / "report.html").write_text(tables.seals(found).html)


@pytest.fixture(scope="module")
def finished(proven_root, tmp_path_factory):
    root = Path(shutil.copytree(proven_root, tmp_path_factory.mktemp("a") / "root"))
    run = planning.seal_plan(tinyroot.plan(), root, now=running.utc_now)
    running.run_plan(run, root)
    report_beside(run)
    return root, run


@pytest.fixture
def own(finished, tmp_path):
    """A copy of the finished run that a test may forge, and its root."""
    root, run = finished
    copied = Path(shutil.copytree(root, tmp_path / "root"))
    return copied, copied / "runs" / run.name


@pytest.fixture
def forger(own):
    return Forger(own[1])


def audited(own):
    root, run = own
    return audit(run, root, **CONSENT)


def failing(own) -> set[str]:
    """Checks that fail; the report beside the run is left to its own tests."""
    found = audited(own)
    return {f.check for f in found.findings if f.verdict == "fail"} - {"report"}


def finding(found, check):
    return next(one for one in found.findings if one.check == check)


def test_a_run_as_it_was_carried_out_passes_and_nothing_is_touched(own):
    root, run = own
    watched = files.Watch([root])
    found = audited(own)
    wrong = [one for one in found.findings if one.verdict != "pass"]
    assert not wrong
    assert (found.verdict, found.ended) == ("pass", "complete")
    assert found.journal_head == read_journal(run / "journal.jsonl").head
    assert "6 saved workspaces" in finding(found, "workspaces").evidence[0]
    assert not watched.touched()


def test_a_score_edited_in_a_line_breaks_the_chain(own, forger):
    forger.check(forger.ended(says_name=False))["passed"] = True
    forger.write(chained=False)
    assert {"journal chain", "conclusions"} <= failing(own)


def test_a_score_edited_in_a_line_of_a_fitting_chain_does_not_follow(own, forger):
    forger.check(forger.ended(says_name=False))["passed"] = True
    forger.write(chained=True)
    found = audited(own)
    assert finding(found, "journal chain").verdict == "pass"
    assert "passed" in finding(found, "conclusions").evidence[0]
    assert finding(found, "conclusions").verdict == "fail"


def test_a_head_stated_by_a_report_shows_any_edit_of_the_lines_before(own, forger):
    forger.lines[-1]["body"]["detail"] = "all went well"
    forger.write(chained=True)
    found = audited(own)
    (wrong,) = [one for one in found.findings if one.verdict == "fail"]
    assert wrong.check == "report"
    assert {told.partition(":")[0] for told in wrong.evidence} == {
        "analysis.json",
        "report.html",
    }


def test_lines_added_after_a_report_do_not_contradict_it(own, forger):
    last = forger.lines[-1]
    forger.lines.append(json.loads(json.dumps(last)))
    forger.lines[-1]["n"] += 1
    journal = own[1] / "journal.jsonl"
    raw = journal.read_bytes()
    forger.lines[-1]["previous"] = read_journal(journal).head
    journal.write_bytes(raw + json.dumps(forger.lines[-1]).encode() + b"\n")
    assert finding(audited(own), "report").verdict == "pass"


def test_edited_answers_differ_from_their_seal(own, forger):
    result = forger.ended(says_name=False)
    forger.write_answers(result, forger.answers(result)[1:])
    found = audited(own)
    assert finding(found, "evidence").verdict == "fail"
    assert "01-task/answers.jsonl" in finding(found, "evidence").evidence[0]


def _forge_a_pass(forger):
    """Answers, verdict, result, seal, chain: all say that a wrong program is right."""
    result = forger.ended(says_name=False)
    *rows, verdict = forger.answers(result)
    for row in rows:
        if row["check"] == "says-name" and row["q"]["op"] == "call":
            (call,) = row["q"]["calls"]
            row["a"]["answer"][0]["result"] = f"hello {call['args'][0]}"
    forger.write_answers(result, [*rows, verdict])
    forger.check(result).update(passed=True, reason="")
    forger.fit_verdict(result)
    return result


def test_answers_forged_with_every_digest_are_caught_by_questioning_again(own, forger):
    result = _forge_a_pass(forger)
    forger.reseal(result)
    forger.write(chained=True)
    assert failing(own) == {"workspaces"}
    (told,) = finding(audited(own), "workspaces").evidence
    assert "says-name: journaled passed of weight 2, now failed" in told


def test_a_workspace_forged_with_every_digest_is_caught_by_questioning_it(own, forger):
    result = forger.ended(says_name=False)
    path = forger.step(result) / "workspace.tar"
    with tarfile.open(path) as tar:
        held = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
    held["greet.py"] = b"def greet(name):\n    return f'hello {name}'\n"
    with tarfile.open(path, "w") as tar:
        for name, data in held.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    forger.reseal(result)
    forger.write(chained=True)
    assert failing(own) == {"workspaces"}


def test_a_workspace_that_is_no_archive_is_named(own, forger):
    result = forger.ended()
    (forger.step(result) / "workspace.tar").write_bytes(b"no archive")
    forger.reseal(result)
    forger.write(chained=True)
    (told,) = finding(audited(own), "workspaces").evidence
    assert "cannot be questioned" in told


def test_answers_that_are_no_rows_are_named(own, forger):
    result = forger.ended()
    forger.write_answers(result, [1, {"check": []}, *forger.answers(result)[-1:]])
    forger.reseal(result)
    forger.write(chained=True)
    assert failing(own) == {"answers"}


@pytest.mark.parametrize("whole", [True, False])
def test_a_verdict_taken_from_another_trial_does_not_follow_from_the_answers(
    own, forger, whole
):
    bad, good = (forger.ended(says_name=passed) for passed in (False, True))
    *rows, verdict = forger.answers(bad)
    *others, other = forger.answers(good)
    if whole:
        other, verdict = verdict, other
        grades = forger.grade_of(good), forger.grade_of(bad)
        bad["steps"][0]["grade"], good["steps"][0]["grade"] = grades
    else:
        checks = forger.grade_of(good)["checks"], forger.grade_of(bad)["checks"]
        forger.grade_of(bad)["checks"], forger.grade_of(good)["checks"] = checks
        lines = other["verdict"], verdict["verdict"]
        verdict["verdict"], other["verdict"] = lines
    forger.write_answers(bad, [*rows, verdict])
    forger.write_answers(good, [*others, other])
    for result in (bad, good):
        forger.reseal(result)
    forger.write(chained=True)
    assert failing(own) == {"answers", "workspaces"}
    told = "\n".join(finding(audited(own), "answers").evidence)
    if whole:
        assert "graded with seed" in told
    else:
        assert "says-name: journaled passed of weight 2, now failed" in told


def test_an_edited_registration_does_not_have_its_digest(own):
    path = own[1] / "registration.json"
    path.write_text(path.read_text().replace('"margin": 0.1', '"margin": 0.5'))
    assert failing(own) == {"registration"}


def test_a_registration_sealed_anew_is_not_the_one_the_run_followed(own):
    _, run = own
    sealed = load_registration(run)
    other = msgspec.structs.replace(sealed.plan, margin=0.5)
    forged = seal(msgspec.structs.replace(sealed, plan=other))
    (run / "registration.json").write_bytes(files.encode_json(forged))
    assert load_registration(run) == forged
    told = finding(audited(own), "registration")
    assert told.verdict == "fail"
    assert f"the run followed {sealed.digest}" in told.evidence[0]


def test_an_order_that_its_seed_does_not_give_is_named(own):
    _, run = own
    sealed = load_registration(run)
    other = tuple(reversed(sealed.schedule))
    forged = seal(msgspec.structs.replace(sealed, schedule=other))
    (run / "registration.json").write_bytes(files.encode_json(forged))
    found = audited(own)
    assert "seed 1 gives" in finding(found, "registration").evidence[-1]
    assert finding(found, "trials").verdict == "fail"


@pytest.mark.parametrize("folder", [True, False])
def test_a_deleted_trial_is_missing(own, forger, folder):
    result = forger.ended(says_name=False)
    forger.drop(result, folder=folder)
    forger.write(chained=True)
    assert failing(own) == {"trials"}
    told = finding(audited(own), "trials").evidence
    assert any("planned, but no result" in line for line in told)
    assert any("no line tells of it" in line for line in told) is not folder


def test_a_trial_carried_out_twice_is_named(own, forger):
    result = forger.ended(says_name=False)
    key = result["key"]
    again = json.loads(json.dumps(result)) | {"attempt": 2}
    shutil.copytree(forger.folder(result), forger.folder(again))
    forger.reseal(again, attempt=2)
    started = {"type": "attempt-started", "key": key, "attempt": 2}
    for body in (started, {"type": "attempt-ended", "result": again}):
        forger.lines.insert(-1, {**forger.lines[-1], "body": body})
    forger.write(chained=True)
    assert failing(own) == {"trials"}
    told = finding(audited(own), "trials").evidence
    assert any("2 results that count" in line for line in told)


def test_the_same_attempt_told_twice_is_named(own, forger):
    line = next(x for x in forger.lines if x["body"]["type"] == "attempt-ended")
    forger.lines.insert(-1, json.loads(json.dumps(line)))
    forger.write(chained=True)
    told = finding(audited(own), "trials").evidence
    assert any("attempt 1 ended 2 times" in one for one in told)


def test_trials_begun_in_another_order_are_named(own, forger):
    trials = forger.lines[1:-1]
    forger.lines[1:-1] = [*trials[-2:], *trials[:-2]]
    forger.write(chained=True)
    assert failing(own) == {"trials"}


def _other_level():
    return "none" if LEVEL == "bwrap" else "bwrap"


def test_an_edited_isolation_is_named(own, forger):
    forger.ended()["isolation"] = _other_level()
    forger.write(chained=True)
    assert failing(own) == {"isolation", "conclusions"}


def test_an_isolation_edited_in_the_evidence_too_is_named(own, forger):
    result = forger.ended()
    result["isolation"] = _other_level()
    forger.reseal(result, isolation=_other_level())
    forger.write(chained=True)
    assert failing(own) == {"isolation"}


def test_an_edited_stream_of_the_agent_differs_from_its_seal(own, forger):
    path = forger.step(forger.ended()) / "agent.stdout.jsonl"
    path.write_text(path.read_text().replace("output_tokens", "other_tokens"))
    assert "evidence" in failing(own)


def test_usage_that_the_stream_does_not_tell_does_not_follow(own, forger):
    result = forger.ended()
    result["steps"][0]["requests"][0]["output"] += 1000
    forger.write(chained=True)
    assert failing(own) == {"conclusions"}
    (told,) = finding(audited(own), "conclusions").evidence
    assert "requests[0].output" in told


def test_a_stream_edited_with_every_digest_tells_other_usage_than_the_line(own, forger):
    result = forger.ended()
    for path in forger.step(result).rglob("*.jsonl"):
        if path.name != "answers.jsonl":
            text = path.read_text().replace('"input_tokens": 10', '"input_tokens": 99')
            path.write_text(text)
    forger.reseal(result)
    forger.write(chained=True)
    assert failing(own) == {"conclusions"}


def test_a_grader_changed_since_is_drift_and_its_verdicts_are_unknown(own):
    root, _ = own
    path = root / "graders/greet/grade.py"
    path.write_text(path.read_text().replace("hello {name}", "hello{name}"))
    found = audited(own)
    assert finding(found, "drift").verdict == "fail"
    assert "greet grader: registered" in finding(found, "drift").evidence[0]
    assert finding(found, "answers").verdict == "unknown"
    assert finding(found, "workspaces").verdict == "unknown"


def test_another_reference_is_a_departure_but_no_failure(own):
    root, _ = own
    path = root / "reference/greet/naive/greet.py"
    path.write_text(path.read_text() + "\n")
    found = audited(own)
    assert finding(found, "drift").verdict == "unknown"
    assert any("reference" in told for told in finding(found, "drift").evidence)
    assert found.verdict == "unknown"


def test_a_case_that_is_gone_leaves_its_verdicts_unknown(own):
    root, _ = own
    shutil.rmtree(root / "graders/greet")
    found = audited(own)
    assert finding(found, "drift").verdict == "fail"
    for check in ("conclusions", "answers", "workspaces"):
        assert finding(found, check).verdict == "unknown"
    assert finding(found, "evidence").evidence[0].startswith("6 attempts")


def test_a_proof_that_does_not_hold_fails_and_a_missing_one_is_unknown(own):
    root, _ = own
    (path,) = (root / "runs/proofs").glob("greet-*.json")
    path.write_text(path.read_text().replace('"replayed": true', '"replayed": false'))
    assert failing(own) == {"proofs"}
    path.unlink()
    assert finding(audited(own), "proofs").verdict == "unknown"


def test_a_torn_journal_is_unknown_and_stays_torn(own):
    path = own[1] / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b'{"n":')
    found = audited(own)
    assert finding(found, "journal chain").verdict == "unknown"
    assert path.read_bytes().endswith(b'{"n":')


def test_an_unfinished_run_can_be_audited_and_says_so(own_root):
    run = planning.seal_plan(
        tinyroot.plan(budget=Budget(max_calls=6)), own_root, now=running.utc_now
    )
    ticks = iter([0.0, 0.0, 1e9])
    with pytest.raises(StoppedEarlyError):
        running.run_plan(run, own_root, monotonic=lambda: next(ticks))
    found = audit(run, own_root, **CONSENT)
    assert not [one for one in found.findings if one.verdict == "fail"]
    (told,) = finding(found, "trials").evidence
    assert told == "unfinished: 3 of 6 planned trials have a result; last: deadline"


def test_a_run_that_has_not_begun_has_nothing_that_fails(own_root):
    run = planning.seal_plan(tinyroot.plan(), own_root, now=running.utc_now)
    found = audit(run, own_root, **CONSENT)
    assert (found.verdict, found.journal_head) == ("unknown", None)


@pytest.mark.parametrize("folder", ["trials", None])
def test_evidence_without_any_journal_fails_by_name(own, folder):
    _, run = own
    (run / "journal.jsonl").unlink()
    (run / "analysis.json").unlink()
    (run / "report.html").unlink()
    if folder is None:
        shutil.rmtree(run / "trials")
    told = finding(audited(own), "journal chain")
    assert (told.verdict == "fail") is (folder is not None)
    if folder:
        assert len(told.evidence) == N_TRIALS
        assert told.evidence[0].startswith(
            "greet.baseline.r1: evidence, but no journal"
        )


def test_lines_without_a_start_fail_by_name(own, forger):
    forger.lines = [x for x in forger.lines if x["body"]["type"] != "run-started"]
    forger.write(chained=True)
    told = finding(audited(own), "journal chain")
    assert (told.verdict, told.evidence[0]) == (
        "fail",
        "13 lines, none of a start of the run",
    )


def _try_twice_before(forger, result, *, told):
    """Two tries without a result before the one that counts; `told` has lines."""
    old = forger.folder(result)
    key, first = result["key"], {"type": "attempt-started", "key": result["key"]}
    at = next(
        n
        for n, line in enumerate(forger.lines)
        if line["body"] == {**first, "attempt": 1}
    )
    shutil.move(old, old.with_name("3"))
    result["attempt"] = 3
    forger.reseal(result, attempt=3)
    begun = [{**first, "attempt": n} for n in ((1, 2, 3) if told else (3,))]
    line = forger.lines[at]
    forger.lines[at : at + 1] = [{**line, "body": body} for body in begun]
    forger.write(chained=True)
    return f"{key['case']}.{key['arm']}.r{key['repeat']}"


@pytest.mark.parametrize("told", [True, False])
def test_attempts_that_left_no_result_are_unknown_and_named(own, forger, told):
    name = _try_twice_before(forger, forger.ended(), told=told)
    found = audited(own)
    attempts = finding(found, "attempts")
    assert (attempts.verdict, attempts.evidence) == (
        "unknown",
        (
            f"2 attempts of {name} left no result (1, 2); why cannot be seen from the "
            f"record",
        ),
    )
    trials = finding(found, "trials")
    assert trials.verdict == "pass"
    assert "carried out once" not in trials.evidence[0]
    n_begun = N_TRIALS + (2 if told else 0)
    assert f"6 with one result that counts; {n_begun} attempts" in trials.evidence[0]


def test_attempts_that_all_left_a_result_pass(own):
    found = audited(own)
    assert finding(found, "attempts").verdict == "pass"
    assert finding(found, "attempts").evidence == (
        "6 attempts begun, each with a result",
    )
    assert "each carried out once" in finding(found, "trials").evidence[0]


def test_the_command_ends_with_1_where_a_finding_fails(own, forger):
    root, run = own
    words = ["audit", str(run), "--root", str(root), "--json"]
    words += ["--allow-unsandboxed"] if LEVEL == "none" else []
    good = CliRunner().invoke(app, words)
    assert good.exit_code == 0
    assert json.loads(good.stdout)["verdict"] == "pass"
    _forge_a_pass(forger)
    bad = CliRunner().invoke(app, words[:-1] if words[-1] == "--json" else words)
    assert bad.exit_code == 1
    assert "audit: fail" in bad.stdout
    assert "journal head" in bad.stdout
