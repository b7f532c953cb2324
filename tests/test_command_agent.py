"""Any command line as an agent, through whole trials."""

import re
import sys
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest
import realroot
from typer.testing import CliRunner

from evalkit.cli import app
from evalkit.explore.trial import find_trial
from evalkit.journal import read_journal
from evalkit.records import (
    AttemptEnded,
    AttemptStarted,
    Dialect,
    Ended,
    Outcome,
    Output,
    Plan,
    Program,
)
from evalkit.registration import load_registration
from evalkit.standing import met_provider_fault

pytestmark = pytest.mark.needs_sandbox

ASKS = """
import json, os, sys, urllib.request
from pathlib import Path

body = {"model": sys.argv[2], "max_tokens": 99,
        "messages": [{"role": "user", "content": sys.argv[1]}]}
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
    {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "x-session": os.urandom(8).hex()})
with urllib.request.urlopen(request) as answered:
    said = json.load(answered)
Path("greet.py").write_text(said["content"][0]["text"])
"""
MINDS_NOTHING = """
import os
from pathlib import Path

assert not any("API_KEY" in name or "BASE_URL" in name for name in os.environ)
Path("greet.py").write_text("def greet(name):\\n    return f'hello {name}'\\n")
"""
TELLS_ALL = (
    ASKS
    + """
token = os.environ["ANTHROPIC_API_KEY"]
secrets = f"{token} or {OPERATORS!r}"
with Path("greet.py").open("a") as opened:
    opened.write(f"# {secrets}\\n")
call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": secrets}}
content = [{"type": "text", "text": f"I found {secrets}."}, call]
print(json.dumps({"type": "assistant", "session_id": "s",
                  "message": {"id": "m", "content": content}}))
"""
)
"""Says, does and writes what it was given to hide, and what is the operator's."""
OPERATORS = "correct horse battery staple"
CORRECT = "def greet(name):\n    return f'hello {name}'\n"


def _plan(folder: Path, source: str, url: str, dialect: Dialect | None) -> Plan:
    program = folder / "agent.py"
    program.write_text(source)
    argv = (sys.executable, "-I", str(program), "{prompt}", "{model}")
    return realroot.plan(
        url,
        agent="command",
        provider_url=url if dialect else None,
        program=Program(argv, binds=(str(program),), dialect=dialect),
        arms=("canonical", "baseline"),
    )


def test_a_program_that_asks_a_model_is_counted_by_the_gateway(
    own_root, tmp_path, monkeypatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", realroot.CREDENTIAL)
    script = realroot.always({"text": CORRECT, "usage": realroot.USED})
    with realroot.provider(tmp_path / "stub", script) as stub:
        plan = _plan(tmp_path, ASKS, stub.url, Dialect.ANTHROPIC)
        run = realroot.carry_out(own_root, plan)
        assert realroot.used(run) == stub.served()
    found = realroot.results(run)
    assert [result.outcome for result in found] == [Outcome.SCORED] * 2
    for result in found:
        (step,) = result.steps
        assert all(check.passed for check in step.grade.checks)
        assert step.treatment.carried == step.treatment.injected
    assert load_registration(run).agent.simulated
    for path, data in realroot.everything(own_root):
        assert realroot.CREDENTIAL.encode() not in data, path


def test_a_program_that_asks_nothing_gets_no_way_and_no_credential(
    own_root, tmp_path, monkeypatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", realroot.CREDENTIAL)
    run = realroot.carry_out(own_root, _plan(tmp_path, MINDS_NOTHING, "", None))
    found = realroot.results(run)
    assert [result.outcome for result in found] == [Outcome.SCORED] * 2
    for result in found:
        (step,) = result.steps
        assert (step.requests, step.treatment.listed) == ((), None)
        assert all(check.passed for check in step.grade.checks)
    assert not load_registration(run).agent.simulated
    assert not (run / "gateway.jsonl").exists()


def test_a_fault_of_a_programs_provider_is_tried_again(own_root, tmp_path):
    script = realroot.in_turn(
        [{"status": 529}], [{"text": CORRECT}], [{"text": CORRECT}]
    )
    with realroot.provider(tmp_path / "stub", script) as stub:
        plan = _plan(tmp_path, ASKS, stub.url, Dialect.ANTHROPIC)
        run = realroot.carry_out(own_root, plan)
    ended = [result.steps[0].calls[0].ended for result in realroot.results(run)]
    assert ended == [Ended.PROVIDER_FAULT, Ended.FINISHED, Ended.FINISHED]


def test_no_page_of_a_run_tells_its_keys_or_those_of_the_operator(
    own_root, tmp_path, monkeypatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", realroot.CREDENTIAL)
    script = realroot.always({"text": CORRECT, "usage": realroot.USED})
    with realroot.provider(tmp_path / "stub", script) as stub:
        source = TELLS_ALL.replace("{OPERATORS!r}", OPERATORS)
        plan = _plan(tmp_path, source, stub.url, Dialect.ANTHROPIC)
        told = msgspec.structs.replace(plan.program, output=Output.CLAUDE)
        run = realroot.carry_out(own_root, msgspec.structs.replace(plan, program=told))
    (said,) = find_trial(run, "greet.baseline.r1").evidence.folder.glob(
        "*/agent.stdout*"
    )
    (token,) = re.findall(r"I found (\S+) or", said.read_text())
    monkeypatch.setenv("OPERATORS_TOKEN", OPERATORS)
    shown = ["show", str(run), "greet.baseline.r1", "--html"]
    for words in (shown, [*shown, "--beside", "canonical"]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
    pages = {
        str(path.relative_to(run / "transcripts")): path.read_text()
        for path in (run / "transcripts").rglob("*.html")
    }
    for page in pages.values():
        assert token not in page
        assert OPERATORS not in page
    hiding = {name for name, page in pages.items() if "[redacted: Planted Key]" in page}
    pair = "greet.baseline.r1-beside-canonical"
    assert hiding == {
        "greet.baseline.r1/index.html",
        "greet.baseline.r1/01-task/page-1.html",
        f"{pair}/index.html",
        f"{pair}/01-task/page-1.html",
    }
    assert hiding == {
        n for n, page in pages.items() if "[redacted: Known Secret]" in page
    }


def test_after_a_fault_of_the_providers_no_worker_begins_for_the_registered_wait(
    own_root, tmp_path
):
    script = realroot.in_turn([{"status": 500}], *[[{"text": CORRECT}]] * 9)
    wait_ms = 400
    with realroot.provider(tmp_path / "stub", script) as stub:
        plan = msgspec.structs.replace(
            _plan(tmp_path, ASKS, stub.url, Dialect.ANTHROPIC),
            repeats=3,
            limits=realroot.limits(retry_wait_ms=wait_ms),
        )
        run = realroot.carry_out(own_root, plan, n_workers=2)
    events = read_journal(run / "journal.jsonl").events
    (failed,) = [e for e in events if _is_provider_fault(e.body)]
    later = [e for e in events[failed.n :] if isinstance(e.body, AttemptStarted)]
    assert len(later) >= 3
    until = datetime.fromisoformat(failed.at) + timedelta(milliseconds=wait_ms - 1)
    assert all(datetime.fromisoformat(event.at) >= until for event in later)


def _is_provider_fault(body) -> bool:
    return isinstance(body, AttemptEnded) and met_provider_fault(body.result)
