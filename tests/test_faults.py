"""Faults of a provider, met by the real Claude Code: what they end as, and count as."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
import realroot
from messages_stub import DONE

from evalkit import run as running
from evalkit import standing
from evalkit.agents import reach
from evalkit.errors import InfrastructureError
from evalkit.journal import read_journal
from evalkit.outcomes import RETRY_GROWTH
from evalkit.records import (
    AttemptEnded,
    AttemptStarted,
    Ended,
    Limits,
    Outcome,
    TrialResult,
)

pytestmark = pytest.mark.needs_claude

WAIT_MS, ROUNDED_MS = 200, 1
LONG = {"status": 400, "message": "prompt is too long: 250000 tokens > 200000 maximum"}


class Fault(NamedTuple):
    """What the provider does to the requests of one call, and what must come of it."""

    turns: list[dict]
    ended: Ended
    outcome: Outcome
    n_requests: int


def _refused(status: int, **more: object) -> list[dict]:
    return [{"status": status, "times": 99, **more}]


CUT, RESET = {"text": "Hi", "cut_after": 3}, {"text": "Hi", "reset_after": 3}
PROVIDERS = (Ended.PROVIDER_FAULT, Outcome.INFRASTRUCTURE)
FINISHED = (Ended.FINISHED, Outcome.SCORED)
LIMIT = (Ended.AGENT_LIMIT, Outcome.AGENT_LIMIT)
FAULTS = {
    "overloaded": Fault(_refused(529), *PROVIDERS, 1),
    "rate-limited": Fault(_refused(429), *PROVIDERS, 1),
    "rate-limited-long": Fault(_refused(429, retry_after=120), *PROVIDERS, 1),
    "server-error": Fault(_refused(500), *PROVIDERS, 1),
    "bad-request": Fault(_refused(400), *PROVIDERS, 6),
    "garbage": Fault([{"garbage": "<html>", "times": 99}], *PROVIDERS, 2),
    "cut": Fault([CUT, *_refused(529)], *PROVIDERS, 2),
    "reset": Fault([RESET, *_refused(529)], *PROVIDERS, 2),
    "cut-once": Fault([CUT], *FINISHED, 2),
    "reset-once": Fault([RESET], *FINISHED, 2),
    "prompt-too-long": Fault([LONG], Ended.AGENT_ERROR, Outcome.SCORED, 1),
    "refusal": Fault(
        [{"text": "No.", "stop": "refusal", "times": 99}],
        *(Ended.REFUSED, Outcome.SCORED),
        2,
    ),
    "token-maximum": Fault(
        [{"text": "And so", "stop": "max_tokens", "times": 99}], *LIMIT, 4
    ),
    "nothing-said": Fault([{"empty": True, "times": 99}], *FINISHED, 2),
}
"""A cut stream is asked for once more by the CLI itself, in one piece."""
STOPPING = {
    "login": (401, Ended.LOGIN_FAILED),
    "forbidden": (403, Ended.LOGIN_FAILED),
    "no-such-model": (404, Ended.MODEL_MISSING),
}


class Met(NamedTuple):
    """What came of a call that met a fault, and the attempt after it."""

    result: TrialResult
    after: TrialResult
    n_requests: int


@pytest.fixture(scope="module")
def met(proven_root, tmp_path_factory):
    """One run in which every other call meets a fault."""
    folder = tmp_path_factory.mktemp("faults")
    root = Path(shutil.copytree(proven_root, folder / "root"))
    whole, usage = realroot.greets(root), {"usage": realroot.USED}
    calls = [
        turns
        for fault in FAULTS.values()
        for turns in ([turn | usage for turn in fault.turns], whole)
    ]
    n_retried = sum(f.outcome is Outcome.INFRASTRUCTURE for f in FAULTS.values())
    with realroot.provider(folder / "stub", realroot.in_turn(*calls)) as stub:
        plan = realroot.plan(stub.url, repeats=len(calls) - n_retried)
        run = realroot.carry_out(root, plan)
        sessions: dict[str, int] = {}
        for line in stub.lines("asked"):
            sessions[line["session"]] = sessions.get(line["session"], 0) + 1
    found, counts = realroot.results(run), list(sessions.values())
    return {
        name: Met(found[2 * n], found[2 * n + 1], counts[2 * n])
        for n, name in enumerate(FAULTS)
    }


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_ends_and_counts_as_registered(met, name):
    fault, (result, _, _) = FAULTS[name], met[name]
    (step,) = result.steps
    (call,) = step.calls
    assert (call.ended, result.outcome) == (fault.ended, fault.outcome), call


@pytest.mark.parametrize("name", FAULTS)
def test_the_cli_asks_no_more_often_than_known(met, name):
    assert met[name].n_requests == FAULTS[name].n_requests


@pytest.mark.parametrize("name", FAULTS)
def test_what_counts_is_graded_and_what_does_not_is_tried_again(met, name):
    result, after, _ = met[name]
    assert after.outcome is Outcome.SCORED
    if FAULTS[name].outcome is Outcome.INFRASTRUCTURE:
        assert (after.key, after.attempt) == (result.key, result.attempt + 1)
    else:
        assert after.key != result.key
        assert result.steps[0].grade.died is None


def test_output_before_a_maximum_of_tokens_is_all_counted(met):
    (step,) = met["token-maximum"].result.steps
    n_output = sum(request.output for request in step.requests)
    assert n_output == FAULTS["token-maximum"].n_requests * realroot.USED["output"]


@pytest.mark.parametrize("name", ["cut", "reset"])
def test_of_a_cut_answer_what_was_told_before_is_counted(met, name):
    (step,) = met[name].result.steps
    (request,) = step.requests
    assert (request.status, request.read) == ("truncated", realroot.USED["read"])


@pytest.mark.parametrize("name", ["cut-once", "reset-once"])
def test_what_the_cli_does_not_say_of_a_cut_answer_is_told(met, name):
    (step,) = met[name].result.steps
    assert [one.status for one in step.requests] == ["truncated", "complete"]
    assert "by gateway" in step.disagreement


# --- what stops a run -------------------------------------------------------


@pytest.mark.parametrize("name", STOPPING)
def test_a_refused_login_stops_the_run_and_scores_nothing(own_root, tmp_path, name):
    status, ended = STOPPING[name]
    whole = realroot.greets(own_root)
    script = realroot.in_turn(_refused(status), whole)
    with realroot.provider(tmp_path / "stub", script) as stub:
        run = realroot.seal(own_root, realroot.plan(stub.url))
        with pytest.raises(InfrastructureError, match="nothing was scored") as raised:
            running.run_plan(run, own_root)
        assert raised.value.exit_code == 4
        (stopped,) = realroot.results(run)
        assert stopped.steps[0].calls[0].ended is ended
        assert stopped.outcome is Outcome.INFRASTRUCTURE
        assert standing.status(run).n_done == 0
        running.run_plan(run, own_root)
    (_, scored) = realroot.results(run)
    assert (scored.outcome, scored.attempt) == (Outcome.SCORED, 2)


def test_without_a_credential_no_trial_begins(own_root, monkeypatch):
    for name in reach.ANTHROPIC.credentials:
        monkeypatch.delenv(name, raising=False)
    plan = realroot.plan("https://models.invalid", allow_real_provider=True)
    run = realroot.seal(own_root, plan)
    with pytest.raises(InfrastructureError, match="credential"):
        running.run_plan(run, own_root)
    assert realroot.bodies(run) == []


@pytest.fixture(scope="module")
def unreachable(proven_root, tmp_path_factory):
    """A run whose provider is not there."""
    folder = tmp_path_factory.mktemp("unreachable")
    root = Path(shutil.copytree(proven_root, folder / "root"))
    with realroot.provider(folder / "stub") as stub:
        url = stub.url
    limits = realroot.limits(retry_wait_ms=WAIT_MS)
    return realroot.carry_out(root, realroot.plan(url, limits=limits))


def test_a_provider_that_is_not_there_excludes_the_block(unreachable):
    found = realroot.results(unreachable)
    assert [result.attempt for result in found] == [1, 2, 3]
    assert {r.steps[0].calls[0].ended for r in found} == {Ended.PROVIDER_FAULT}
    assert standing.status(unreachable).n_done == 0


def test_the_registered_wait_passes_before_each_further_try(unreachable):
    told = read_journal(unreachable / "journal.jsonl").events
    at = {
        kind: [datetime.fromisoformat(e.at) for e in told if isinstance(e.body, kind)]
        for kind in (AttemptStarted, AttemptEnded)
    }
    gaps = [
        begun - ended
        for ended, begun in zip(at[AttemptEnded], at[AttemptStarted][1:], strict=False)
    ]
    for gap, growth in zip(gaps, (1, RETRY_GROWTH), strict=True):
        assert gap / timedelta(milliseconds=1) >= WAIT_MS * growth - ROUNDED_MS


# --- limits of ours ---------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [
        realroot.limits(max_requests=1),
        realroot.limits(max_tokens=1000),
        realroot.limits(max_usd=0.01),
    ],
    ids=["requests", "tokens", "dollars"],
)
def test_a_trials_cap_ends_it_as_a_limit_that_is_graded(own_root, tmp_path, limits):
    script = realroot.always(*realroot.greets(own_root))
    with realroot.provider(tmp_path / "stub", script) as stub:
        run = realroot.carry_out(own_root, realroot.plan(stub.url, limits=limits))
        assert len(stub.lines("asked")) == 1
        assert realroot.used(run) == stub.served()
    (result,) = realroot.results(run)
    (step,) = result.steps
    assert result.outcome is Outcome.AGENT_LIMIT
    assert "cap" in step.calls[0].detail
    assert all(check.passed for check in step.grade.checks)


def _bash(command: str) -> list[dict]:
    return realroot.priced(
        [{"tools": [{"name": "Bash", "input": {"command": command}}]}, DONE]
    )


def _running(word: str) -> list[psutil.Process]:
    """Processes in whose command line a word stands."""
    found = []
    for one in psutil.process_iter():
        with suppress(psutil.Error):
            found += [one] * any(word in part for part in one.cmdline())
    return found


def _sleeps(word: str) -> str:
    return f"python3 -c 'import time; time.sleep(600)' {word}"


HELD = {
    "stalled-stream": lambda folder, _: [DONE | {"gate": str(folder / "never")}],
    "long-command": lambda _, word: _bash(_sleeps(word)),
}


@pytest.mark.parametrize("how", HELD)
def test_a_call_whose_time_is_up_is_graded_as_a_limit(own_root, tmp_path, how):
    word = f"held-{os.getpid()}-{how}"
    script = realroot.always(*HELD[how](tmp_path, word))
    with realroot.provider(tmp_path / "stub", script) as stub:
        plan = realroot.plan(stub.url, limits=Limits(call_timeout_ms=4_000))
        run = realroot.carry_out(own_root, plan)
    (result,) = realroot.results(run)
    (step,) = result.steps
    assert (step.calls[0].ended, result.outcome) == (
        Ended.TIMED_OUT,
        Outcome.AGENT_LIMIT,
    )
    assert step.grade.died is None
    assert _running(word) == []


def test_a_call_whose_time_ran_out_over_an_unanswered_request_is_no_score(
    own_root, tmp_path
):
    script = realroot.always(DONE | {"wait_for": str(tmp_path / "never")})
    limits = Limits(call_timeout_ms=4_000, retry_wait_ms=1)
    with realroot.provider(tmp_path / "stub", script) as stub:
        run = realroot.carry_out(own_root, realroot.plan(stub.url, limits=limits))
    told = [result.steps[0].calls[0] for result in realroot.results(run)]
    assert [call.ended for call in told] == [Ended.PROVIDER_FAULT] * 3
    assert all("left a request unanswered" in call.detail for call in told)


LEFT = {
    "background-task": lambda word: {
        "command": _sleeps(word),
        "run_in_background": True,
    },
    "background-job": lambda word: {"command": f"{_sleeps(word)} >/dev/null 2>&1 &"},
    "daemon": lambda word: {
        "command": f"setsid nohup {_sleeps(word)} >/dev/null 2>&1 & echo begun"
    },
}


@pytest.mark.parametrize("how", ["background-job", "daemon"])
def test_what_an_agent_leaves_running_does_not_outlive_its_call(
    own_root, tmp_path, how
):
    word = f"left-{os.getpid()}-{how}"
    begins = {"tools": [{"name": "Bash", "input": LEFT[how](word)}]}
    ends = DONE | {"wait_for": str(tmp_path / "seen")}
    with realroot.provider(tmp_path / "stub", realroot.always(begins, ends)) as stub:
        run = realroot.seal(own_root, realroot.plan(stub.url))
        argv = [sys.executable, "-c", realroot.RUNS, str(run), str(own_root)]
        runner = subprocess.Popen(argv)
        stub.await_lines("asked", 2)
        patience = time.monotonic() + realroot.PATIENCE_S
        while not (seen := _running(word)):
            assert time.monotonic() < patience
        (tmp_path / "seen").touch()
        assert runner.wait() == 0
    assert seen
    assert _running(word) == []
    (result,) = realroot.results(run)
    assert result.outcome is Outcome.SCORED


def test_a_task_in_the_background_is_not_to_be_had(own_root, tmp_path):
    word = f"left-{os.getpid()}-task"
    begins = {"tools": [{"name": "Bash", "input": LEFT["background-task"](word)}]}
    with realroot.provider(tmp_path / "stub", realroot.always(begins, DONE)) as stub:
        run = realroot.carry_out(own_root, realroot.plan(stub.url))
        told = stub.lines("asked")[-1]["body"]["messages"][-1]["content"]
    assert "unexpected parameter `run_in_background`" in json.dumps(told)
    (result,) = realroot.results(run)
    assert result.outcome is Outcome.SCORED
    assert _running(word) == []


def test_an_agent_that_ends_all_of_python_does_not_end_its_own_call(own_root, tmp_path):
    script = realroot.always(*_bash("pkill -f '/opt/way/for[w]ard'; echo done"))
    with realroot.provider(tmp_path / "stub", script) as stub:
        run = realroot.carry_out(own_root, realroot.plan(stub.url))
    (result,) = realroot.results(run)
    assert result.outcome is Outcome.SCORED, result.reason
    assert len(result.steps[0].requests) == 2
