"""The audit as a page: it says what holds, and every kind of damage shows in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import nbformat
import pytest
import tinyroot
from forging import Forger
from test_ambiguity import BRACED, EXPECTED, KNOWLEDGE, PLAIN, VISIBLE
from test_audit import report_beside
from typer.testing import CliRunner

from evalkit import (
    ambiguity,
    auditing,
    dossier,
    executing,
    files,
    publish,
    sandbox,
    strength,
)
from evalkit import plan as planning
from evalkit import run as running
from evalkit.cli import app
from evalkit.dossier.fixes import fixes_and_verdicts
from evalkit.dossier.pilot import pilot_gate
from evalkit.errors import InputError, NotebookError
from evalkit.parameters import AuditParameters
from evalkit.records import GateRule, Kind, Layout
from evalkit.registration import load_registration
from evalkit.sanitise import faults

LEVEL = tinyroot.isolation()
UNSANDBOXED = LEVEL == "none"
RIGHT = """def greet(name):
    unused = 1
    words = []
    words.append('hel')
    words.append('lo')
    words.append(' ')
    words.append(name)
    words.append('.')
    said = ''
    for n in range(0, 5):
        said += words[n]
    return said
"""
"""Nine of its ten mutants are noticed."""
MUTANTS = """files = ["greet.py"]

[[equivalent]]
mutant = "greet.py:2: `1` becomes `2`"
reason = "nobody reads it"
"""
GATE = {"design": Layout.GATE, "gate_rule": GateRule(1, 2), "repeats": 2}
SECTIONS = [
    "The answer",
    "Graders proven",
    "Mutants survived",
    "Fixes and verdicts",
    "Pilot gate",
    "The run again from its evidence",
]


def know(root: Path) -> None:
    """Let the case of the tiny root be about a rule that stands in nobody's file."""
    rewrite(root / "graders/greet/grade.py", 'f"hello {name}"', 'f"hello {name}."')
    rewrite(root / "cases/greet/case.toml", '"feature"', '"knowledge"')
    rewrite(root / "cases/corpora.toml", '"full", "routed", "baseline"', ARMS)
    case = root / "cases/greet/case.toml"
    case.write_text(KNOWLEDGE + case.read_text())
    with (root / "cases/arms.toml").open("a") as arms:
        arms.write('\n[injected]\nhome = "none"\nprompt = "injection"\n')
    for path, text in {
        "cases/greet/fixture/tests/__init__.py": "",
        "cases/greet/fixture/tests/test_greet.py": VISIBLE,
        "reference/greet/correct/greet.py": RIGHT,
        "reference/greet/naive/greet.py": PLAIN,
        "reference/greet/fix-braces/greet.py": BRACED,
        "reference/greet/expected.toml": EXPECTED,
        "reference/greet/mutants.toml": MUTANTS,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


ARMS = '"baseline", "injected"'


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, (path, old)
    path.write_text(text.replace(old, new))


def carried_out(root: Path, **changes: object) -> Path:
    run = planning.seal_plan(tinyroot.plan(**changes), root, now=running.utc_now)
    running.run_plan(run, root)
    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A root with all that an auditor reads, its gate run, and the run upon it."""
    root = tinyroot.make(tmp_path_factory.mktemp("dossier") / "root")
    know(root)
    box = sandbox.open_box(LEVEL, allow_unsandboxed=UNSANDBOXED)
    assert not ambiguity.audit_corpus(
        root, "tiny", box=box, n_workers=2, seed=1
    ).flagged
    (measured,) = strength.measure(root, ["greet"], box=box, n_workers=2, seed=1)
    assert measured.holds, measured
    gate = carried_out(root, **GATE)
    run = carried_out(root, gate_run=gate.name)
    report_beside(run)
    return root, gate.name, run.name


class Own:
    """A copy of the finished root that a test may damage."""

    def __init__(self, root: Path, gate: str, run: str) -> None:
        self.root = root
        self.gate = root / "runs" / gate
        self.run = root / "runs" / run

    def one(self, pattern: str) -> Path:
        (path,) = self.root.glob(pattern)
        return path


@pytest.fixture
def own(finished, tmp_path, monkeypatch):
    root, gate, run = finished
    copied = Path(shutil.copytree(root, tmp_path / "root"))
    monkeypatch.chdir(copied)
    return Own(copied, gate, run)


def parameters(run: Path | str, **changes: object) -> AuditParameters:
    name = run if isinstance(run, str) else run.name
    return AuditParameters(name, allow_unsandboxed=UNSANDBOXED, **changes)


def examined(run: Path) -> dossier.Dossier:
    return dossier.examine(parameters(run))


def ill(found: dossier.Dossier) -> dict[str, str]:
    """Verdicts of all that is not passed."""
    return {f.check: f.verdict for f in found.found.findings if f.verdict != "pass"}


def answer(found: dossier.Dossier) -> str:
    return dossier.answer(found).text


def test_all_holds_where_nothing_was_touched_and_looking_touches_nothing(own):
    watched = files.Watch([own.root])
    found = examined(own.run)
    assert not watched.touched()
    assert ill(found) == {}
    n = len(found.found.findings)
    assert f"Yes, as far as its record can show it: all {n} things" in answer(found)
    assert found.found.verdict == "pass"
    assert "9 of 10 killed (90%); 1 survivor" in found.survivors.text
    assert "nobody reads it" in found.survivors.text
    assert "fix-braces" in found.fixes.text
    assert "Judged again from its own record" in found.pilot.text
    assert "4 saved workspaces questioned again" in found.again.text
    assert len(found.again.parts[0].rows) == len(found.again.findings)
    assert "sections of their own: proofs, gate run." in found.again.text


def test_a_simulated_gate_run_is_as_sealed_and_allows_no_claim(own):
    said = answer(examined(own.run))
    assert said.startswith("SIMULATED")
    assert "no claim about injected knowledge can rest on it" in said


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"replayed": true', '"replayed": false', "does not hold"),
        ('"case": "greet"', '"case": "other"', "is of something else"),
        ("{", "[", "greet-"),
    ],
)
def test_an_edited_proof_fails(own, old, new, told):
    rewrite(own.one("runs/proofs/greet-*.json"), old, new)
    found = examined(own.run)
    assert ill(found) == {"grader of greet": "fail"}
    assert told in found.proven.text
    assert "evalkit verify greet" in answer(found)


@pytest.mark.parametrize(
    "kept",
    [
        {"fixture", "correct", "fix-braces", "wrong-shouts"},
        {"fixture", "correct"},
        {"correct"},
    ],
)
def test_a_proof_without_some_of_its_deliveries_fails(own, kept):
    path = own.one("runs/proofs/greet-*.json")
    proof = json.loads(path.read_text())
    proof["rows"] = [row for row in proof["rows"] if row["overlay"] in kept]
    assert len(proof["rows"]) == len(kept)
    path.write_text(json.dumps(proof))
    found = examined(own.run)
    assert ill(found) == {"grader of greet": "fail"}
    assert "naive, task: demanded 0.5 failing says-name, proven against nothing" in (
        found.proven.text
    )


def test_a_missing_proof_is_unknown_and_says_what_to_do(own):
    own.one("runs/proofs/greet-*.json").unlink()
    found = examined(own.run)
    assert ill(found) == {"grader of greet": "unknown"}
    assert answer(found).count("Not yet:") == 1
    assert "evalkit verify greet" in answer(found)


def test_a_grader_changed_since_is_neither_proven_nor_measured_here(own):
    rewrite(own.root / "graders/greet/grade.py", "greets by name", "greets by its name")
    found = examined(own.run)
    assert ill(found) == {
        "grader of greet": "unknown",
        "answers": "unknown",
        "workspaces": "unknown",
        "drift": "fail",
    }
    assert "grader: registered" in found.proven.text
    assert "ANOTHER" in found.proven.text


def test_a_table_of_mutants_of_another_grader_is_named(own):
    path = own.root / "reference/greet/mutants.json"
    table = json.loads(path.read_text())
    path.write_text(json.dumps({**table, "grader": "0" * 64}))
    found = examined(own.run)
    assert ill(found) == {"mutants of greet": "unknown"}
    assert "of another grader: made with 000000000000" in found.survivors.text
    assert "OF ANOTHER GRADER" in found.survivors.text


@pytest.mark.parametrize(
    ("change", "verdict", "told"),
    [
        ({"case": "other"}, "unknown", "of another case"),
        ({"sources": "0" * 64}, "unknown", "of other sources"),
        ({"rows": []}, "fail", "0 of 0 killed"),
        ({"rows": 7}, "fail", "cannot be read"),
        (None, "unknown", "no table of mutants"),
    ],
)
def test_a_table_of_mutants_that_says_nothing_of_the_grader(own, change, verdict, told):
    path = own.root / "reference/greet/mutants.json"
    table = json.loads(path.read_text())
    path.unlink()
    if change is not None:
        path.write_text(json.dumps({**table, **change}))
    found = examined(own.run)
    assert ill(found) == {"mutants of greet": verdict}
    assert told in found.survivors.text
    assert "--mutants" in found.survivors.text


def test_a_survivor_without_a_reason_fails(own):
    path = own.root / "reference/greet/mutants.json"
    rewrite(path, '"nobody reads it"', "null")
    found = examined(own.run)
    assert ill(found) == {"mutants of greet": "fail"}
    assert "NOT EXPLAINED" in found.survivors.text


@pytest.mark.parametrize(
    ("old", "new", "verdict", "told"),
    [
        (None, None, "unknown", "not made"),
        ("{", "[", "fail", "cannot be read"),
        ('"case": "greet"', '"case": "other"', "fail", "about other, registered greet"),
        ('"flags": []', '"flags": ["it leaks"]', "fail", "greet: it leaks"),
        ('"digest": "', '"digest": "0', "fail", "registered"),
    ],
)
def test_a_verdict_on_the_corpus_that_does_not_stand(own, old, new, verdict, told):
    path = own.one("runs/audits/tiny-*.json")
    if old is None:
        path.unlink()
    else:
        rewrite(path, old, new)
    found = examined(own.run)
    assert ill(found) == {"fixes and verdicts": verdict}
    assert told in found.fixes.text
    assert str(own.root) not in found.fixes.text


def test_cases_about_other_things_need_no_verdict_and_no_gate_run(own):
    sealed = load_registration(own.run)
    cases = tuple(
        msgspec.structs.replace(seal, kind=Kind.FEATURE) for seal in sealed.cases
    )
    other = msgspec.structs.replace(sealed, cases=cases, gate=None)
    part = fixes_and_verdicts(other, own.root)
    assert part.findings == ()
    assert "does not apply" in part.text
    assert pilot_gate(other, own.run, own.root).text == (
        "This run was sealed without a gate run to rest on."
    )


def test_an_edited_gate_journal_fails(own):
    rewrite(own.gate / "journal.jsonl", '"detail":""', '"detail":"all went well"')
    forger = Forger(own.gate)
    forger.lines[1]["at"] = forger.lines[0]["at"]
    forger.write(chained=False)
    found = examined(own.run)
    assert ill(found) == {"pilot gate": "fail"}
    assert "restore it from a copy" in answer(found)


def test_a_gate_journal_forged_as_a_whole_has_another_head(own):
    forger = Forger(own.gate)
    for result in forger.results():
        forger.check(result).update(passed=True, reason="")
    forger.write(chained=True)
    found = examined(own.run)
    assert ill(found) == {"pilot gate": "fail"}
    assert "journal head: registered" in found.pilot.text


def test_lines_added_to_a_gate_run_since_are_no_forgery(own):
    forger = Forger(own.gate)
    forger.add(forger.lines[-1]["body"])
    forger.write(chained=True)
    found = examined(own.run)
    assert ill(found) == {"pilot gate": "unknown"}
    assert "Lines were added" in found.pilot.text


def test_a_gate_run_that_is_gone_is_only_claimed(own):
    shutil.rmtree(own.gate)
    found = examined(own.run)
    assert ill(found) == {"pilot gate": "unknown"}
    assert "is not kept here" in found.pilot.text
    assert "no claim" in answer(found)


def test_a_gate_run_that_is_another_run_fails(own):
    shutil.rmtree(own.gate)
    shutil.copytree(own.run, own.gate)
    found = examined(own.run)
    assert ill(found) == {"pilot gate": "fail"}
    assert "is of another run" in found.pilot.text


def test_a_gate_run_itself_is_judged_from_its_own_record(own):
    part = examined(own.gate).pilot
    assert "This run is itself a gate run" in part.text
    assert "Gate run:" in part.text
    (own.gate / "journal.jsonl").write_text("no line\n")
    assert ill(examined(own.gate))["pilot gate"] == "unknown"


def test_a_forged_answer_fails_and_the_rest_can_still_be_read(own):
    forger = Forger(own.run)
    result = forger.ended()
    forger.write_answers(result, forger.answers(result)[1:])
    found = examined(own.run)
    assert ill(found)["evidence"] == "fail"
    assert "01-task/answers.jsonl" in found.again.text
    assert "No, not as it stands: " in answer(found)
    assert "What does not hold: evidence" in answer(found)
    assert {one.verdict for one in found.proven.findings} == {"pass"}


def test_an_audit_that_cannot_be_made_leaves_the_rest(own):
    rewrite(own.run / "registration.json", '"agent": "scripted"', '"agent": "nobody"')
    found = examined(own.run)
    assert ill(found)["audit"] == "fail"
    assert "nobody" in found.again.text
    assert {one.verdict for one in found.survivors.findings} == {"pass"}


def test_a_run_in_another_root_says_what_is_missing_there(
    own, proven_root, monkeypatch
):
    other = Path(shutil.copytree(proven_root, own.root.parent / "other"))
    shutil.rmtree(other / "reference")
    monkeypatch.chdir(other)
    found = dossier.examine(parameters(str(own.run)))
    assert {"grader of greet", "mutants of greet", "pilot gate", "drift"} <= set(
        ill(found)
    )
    assert "fixes and verdicts" in ill(found)
    assert str(other) not in answer(found) + found.proven.text + found.pilot.text


def test_nothing_is_questioned_at_none_without_consent(own):
    with pytest.raises(InputError, match="isolation"):
        dossier.examine(AuditParameters(own.run.name, isolation="none"))


def published(own: Own) -> auditing.PublishedAudit:
    return auditing.publish_audit(own.run, own.root, allow_unsandboxed=UNSANDBOXED)


def spoilt(path: Path, how: str) -> None:
    """Put something else in the place of a file or folder."""
    away = path.with_name(f"{path.name}-away")
    if path.exists():
        path.rename(away)
    if how == "folder":
        path.mkdir()
        (path / "x").write_text("x")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "file":
        path.write_text("x")
    elif how == "link":
        path.symlink_to(away)


@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        ("journal.jsonl", "folder"),
        ("journal.jsonl", "pipe"),
        ("journal.jsonl", "link"),
        ("trials", "file"),
        ("trials/*/1", "file"),
        ("trials/*/1/evidence.json", "pipe"),
        ("trials/*/1/evidence.json", "folder"),
        ("trials/*/1/evidence.json", "link"),
        ("trials/*/1/*/answers.jsonl", "pipe"),
        ("trials/*/1/*/answers.jsonl", "folder"),
    ],
)
def test_what_is_in_the_place_of_a_record_fails_and_keeps_nobody_waiting(
    own, pattern, how
):
    spoilt(next(own.run.glob(pattern)), how)
    assert examined(own.run).found.verdict == "fail"


@pytest.mark.parametrize("how", ["folder", "pipe", "link"])
def test_no_report_is_made_of_a_journal_that_is_no_file(own, how):
    spoilt(own.run / "journal.jsonl", how)
    with pytest.raises(InputError, match=r"journal\.jsonl"):
        publish.publish_report(own.run)


@pytest.mark.parametrize("kind", ["audit", "report"])
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("notebooks", "file"),
        ("notebooks", "link"),
        ("notebooks/{}.ipynb", "folder"),
        ("notebooks/{}.ipynb", "pipe"),
        ("notebooks/{}.ipynb", "link"),
        ("{}.html", "folder"),
        ("{}.html", "pipe"),
        ("{}.html", "link"),
        ("registration.json", "folder"),
        ("registration.json", "pipe"),
        ("registration.json", "link"),
    ],
)
def test_nothing_is_written_over_what_is_no_file_of_the_run(own, kind, name, how):
    (own.run / "notebooks").mkdir(exist_ok=True)
    (own.run / "notebooks-away").mkdir()
    path = own.run / name.format(kind)
    if name == "notebooks":
        (own.run / "notebooks").rmdir()
    spoilt(path, how)
    away = own.run / "notebooks-away"
    with pytest.raises(InputError):
        published(own) if kind == "audit" else publish.publish_report(own.run)
    assert list(away.iterdir()) == []


@pytest.mark.parametrize("how", ["folder", "pipe"])
def test_an_analysis_in_whose_place_is_something_else_is_not_written(own, how):
    spoilt(own.run / "analysis.json", how)
    with pytest.raises(InputError, match=r"analysis\.json"):
        publish.publish_report(own.run)


class Told(HTMLParser):
    """The text of a page as a browser takes it, and its tags with their attributes."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.n_headings = 0
        self.feed(page.read_text())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(f"{tag} {[name for name, _ in attrs]}")
        self.n_headings += tag == "h2"

    def handle_data(self, data: str) -> None:
        self.text += data


PAYLOADS = [
    "<img src=x onerror=alert(1)>",
    "<style>*{display:none",
    "</td></table></main><script>alert(1)</script>",
    "<!-- and no end",
    "<textarea>",
]


def test_reasons_of_a_grade_are_text_on_both_pages(own):
    plain = "no such thing, as it said"

    def told(reason: str) -> dict[str, Told]:
        forger = Forger(own.run)
        if not forger.regraded():
            again = {"type": "regraded", "result": forger.ended(), "how": "answers"}
            forger.add(again)
        again = [body["result"] for body in forger.regraded()]
        for result in (*forger.results(), *again):
            for check in forger.grade_of(result)["checks"]:
                check.update(passed=result in again, reason=reason)
        forger.write(chained=True)
        pages = publish.publish_report(own.run), published(own).page
        return {page.name: Told(page) for page in pages}

    before = told(plain)
    for name, found in told(" ".join(PAYLOADS)).items():
        assert plain in before[name].text, name
        assert all(payload in found.text for payload in PAYLOADS), name
        assert found.tags == before[name].tags, name
        assert found.n_headings == before[name].n_headings


def outputs(path: Path) -> list[object]:
    cells = nbformat.read(path, as_version=4).cells
    return [o["data"] for c in cells for o in c.get("outputs", ())]


def test_the_page_stands_alone_is_safe_and_says_what_the_command_line_does(own):
    made = published(own)
    page = made.page.read_text()
    assert made.page == own.run / "audit.html"
    assert faults(page) == []
    assert re.search(r"<head>\s*<meta [^>]*default-src 'none'", page)
    assert re.findall(r"<h[12][^>]*>(.*?)<", page) == ["Would I believe it?", *SECTIONS]
    assert "SIMULATED" in page
    assert "Traceback" not in page
    assert str(own.root) not in page
    assert f"all {len(made.found.findings)} things checked hold" in page
    assert made.found.verdict == "pass"
    executed = own.run / "notebooks" / "audit.ipynb"
    told = nbformat.read(executed, as_version=4).metadata.papermill.parameters
    assert told["run"] == f"runs/{own.run.name}"
    by_hand = own.root / "by-hand.ipynb"
    words = ["-p", "run", own.run.name, "-p", "allow_unsandboxed", str(UNSANDBOXED)]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "papermill",
            executing.source_of("audit"),
            by_hand,
            *words,
        ],
        check=True,
        capture_output=True,
        cwd=own.root,
    )
    assert outputs(by_hand) == outputs(executed)


def test_without_consent_no_page_is_made_and_the_exit_code_is_that_of_bad_input(own):
    with pytest.raises(NotebookError, match="isolation") as raised:
        auditing.publish_audit(own.run, own.root, isolation="none")
    assert raised.value.exit_code == 2
    assert not (own.run / "audit.html").exists()


def test_the_command_writes_the_page_only_when_asked_and_ends_with_1(own):
    own.one("runs/audits/tiny-*.json").write_text("damaged")
    words = ["audit", str(own.run), "--root", str(own.root)]
    words += ["--allow-unsandboxed"] if UNSANDBOXED else []
    plain = CliRunner().invoke(app, words)
    assert plain.exit_code == 0
    assert not (own.run / "audit.html").exists()
    asked = CliRunner().invoke(app, [*words, "--page", "--json"])
    assert asked.exit_code == 1
    document = json.loads(asked.stdout)
    assert document["verdict"] == "fail"
    assert document["page"] == str(own.run / "audit.html")
    assert "The saved verdict cannot be read" in Path(document["page"]).read_text()


def test_a_corpus_has_no_page(own):
    words = ["audit", "tiny", "--root", str(own.root), "--page"]
    assert CliRunner().invoke(app, words).exit_code == 2
