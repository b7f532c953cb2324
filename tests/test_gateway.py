"""gateway: what passes it, what it counts, and what never leaves it."""

import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import psutil
import pytest
from conftest import REPOSITORY
from messages_stub import digest, message_events, message_of, response_events
from realroot import StubProcess

from evalkit import prices, process, sandbox
from evalkit.errors import InfrastructureError, InputError
from evalkit.gateway import Caps, Gateway, Header, Provider, Trial, contents
from evalkit.gateway.accounts import Account, Taking
from evalkit.gateway.meter import Meter
from evalkit.gateway.withheld import Secret, Stream
from evalkit.records import Dialect, Exchange, Network, Passage
from evalkit.sandbox import Mount
from evalkit.transcript.rows import Tokens

CANARY = "sk-canary-4b1d9e"
MODEL = "claude-opus-5-5"
USED = {"input": 35, "write_5m": 100, "write_1h": 200, "read": 28_173, "output": 308}
TOKENS = Tokens(35, 100, 200, 28_173, 308)
PATIENCE_S = 60.0
TURN = {"text": "Hello.", "usage": USED}
TRIAL = Trial("case.arm.r1/1/01-task/task", "case.arm.r1/1")


@pytest.fixture
def stub(tmp_path):
    """Starts a stub that follows a script."""
    made = []

    def start(*conversations):
        found = StubProcess(tmp_path / f"stub{len(made)}", list(conversations))
        made.append(found)
        return found

    yield start
    for one in made:
        one.end()


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def _provider(url, dialect=Dialect.ANTHROPIC, header=Header.API_KEY):
    return Provider(dialect, url, CANARY, header)


def _gateway(run, url, **options):
    return Gateway(run, _provider(url), (MODEL, "claude-haiku-4-5"), **options)


def _always(*turns):
    return {"match": [], "turns": list(turns)}


def _body(text="Do it.", *, stream=True, model=MODEL, **more):
    messages = [{"role": "user", "content": text}]
    return {"model": model, "stream": stream, "messages": messages, **more}


def _connect(endpoint):
    parts = urlsplit(endpoint.url)
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)


def _ask(endpoint, body=None, *, path="/v1/messages?beta=true", **headers):
    """Status, headers and body of an answer."""
    connection = _connect(endpoint)
    data = json.dumps(_body() if body is None else body)
    connection.request(
        "POST", path, data, {"x-api-key": endpoint.token} | _dashed(headers)
    )
    reply = connection.getresponse()
    try:
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


def _dashed(headers):
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _error(reply):
    return json.loads(reply[2])["error"]


def _tokens(row):
    return Tokens(row.input, row.write_5m, row.write_1h, row.read, row.output)


def _notes(run):
    return [
        json.loads(line) for line in (run / "gateway.jsonl").read_text().splitlines()
    ]


# --- usage ------------------------------------------------------------------


def _sse(events):
    return b"".join(
        f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events
    )


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_usage_of_a_stream_is_the_same_at_every_cut_of_its_bytes(ends):
    data = _sse(message_events(TURN | {"thinking": "é"}, 1, MODEL))
    data = data.replace(b"\n", ends)
    for cut in range(len(data) + 1):
        meter = Meter(Dialect.ANTHROPIC)
        meter.take_stream(data[:cut])
        meter.take_stream(data[cut:])
        assert (meter.tokens, meter.is_whole, meter.served) == (TOKENS, True, MODEL)


def test_usage_of_a_stream_is_the_same_byte_by_byte():
    meter = Meter(Dialect.ANTHROPIC)
    for byte in _sse(message_events(TURN, 1, MODEL)):
        meter.take_stream(bytes([byte]))
    assert (meter.tokens, meter.is_whole) == (TOKENS, True)


def test_a_count_that_a_later_event_lacks_is_kept_and_the_last_one_wins():
    meter = Meter(Dialect.ANTHROPIC)
    start, *_ = message_events(TURN, 1, MODEL)
    deltas = [
        {"type": "message_delta", "usage": {"output_tokens": n, **more}}
        for n, more in ((5, {"input_tokens": 40}), (9, {"input_tokens": None}))
    ]
    meter.take_stream(_sse([start, *deltas]))
    assert meter.tokens == Tokens(40, 100, 200, 28_173, 9)


def test_what_is_read_from_a_cache_is_no_fresh_input_where_the_provider_adds_it():
    meter = Meter(Dialect.OPENAI)
    used = {"input": 9_000, "read": 400, "write_5m": 30, "output": 20}
    for byte in _sse(response_events({"text": "Hi", "usage": used}, 1, "gpt-5.5")):
        meter.take_stream(bytes([byte]))
    assert meter.tokens == Tokens(9_000, 30, 0, 400, 20)
    assert (meter.is_whole, meter.served) == (True, "gpt-5.5")


def test_an_answer_that_is_no_json_has_no_usage():
    meter = Meter(Dialect.ANTHROPIC)
    meter.take_stream(b"data: {oops\n\ndata: [1]\n\ndata: [DONE]\n\n")
    meter.take_whole(b"\xff")
    assert meter.tokens is None


# --- what a request told the model ------------------------------------------


def _listing(*lines):
    return "\n".join(
        [
            "Hints.",
            "",
            "The following skills are available for use with the Skill tool:",
            "",
            *lines,
        ]
    )


LISTED = _listing(
    "- one-skill: Use it when: always.", "more of it", "- two (Two words)", "- p:three"
)


@pytest.mark.parametrize(
    "where",
    [
        {"messages": [{"role": "system", "content": LISTED}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": LISTED}]}]},
        {"system": [{"type": "text", "text": LISTED + "\n\nToday:\n\n- no: entry"}]},
    ],
    ids=["system-message", "user-block", "system"],
)
def test_listed_skills_are_found_wherever_a_client_puts_them(where):
    body = json.dumps(_body() | where).encode()
    found = contents.read(body, {})
    assert found.listed == ("one-skill", "two", "p:three")


def test_a_list_that_the_agent_printed_itself_does_not_count_as_listed():
    printed = {"type": "tool_result", "tool_use_id": "t", "content": LISTED}
    said = {"role": "assistant", "content": LISTED}
    body = _body() | {"messages": [said, {"role": "user", "content": [printed]}]}
    assert contents.read(json.dumps(body).encode(), {}).listed == ()


def test_marks_are_found_behind_json_escapes_and_in_tool_results():
    mark = 'Say "é"\nthen\tstop \\ here'
    printed = {"type": "tool_result", "tool_use_id": "t", "content": f"a {mark} b"}
    body = _body() | {"messages": [{"role": "user", "content": [printed]}]}
    found = contents.read(json.dumps(body).encode(), {"in": mark, "out": "absent"})
    assert found.carried == ("in",)


def test_skills_that_codex_lists_end_at_its_next_heading():
    text = "## Skills\n### Available skills\n- a: b (file: r0/a/SKILL.md)\n### How\n- no: x"
    item = {"role": "developer", "content": [{"type": "input_text", "text": text}]}
    body = {"model": "gpt-5.5", "input": [item]}
    assert contents.read(json.dumps(body).encode(), {}).listed == ("a",)


CAPTURED = {
    "opus-one": ("zz-user-skill",),
    "sonnet-120": (*(f"mm-{n:03}" for n in range(120)), "plugin-authoring"),
    "opus-bundled": (
        "zz-user-skill",
        "zz-proj-skill",
        "dataviz",
        "update-config",
        "keybindings-help",
        "code-review",
        "simplify",
        "fewer-permission-prompts",
        "loop",
        "claude-api",
        "workflow-authoring",
        "run",
        "plugin-authoring",
        "init",
        "security-review",
    ),
    "selection": (),
    "codex": (
        "zz-projagents-skill",
        "zz-projcodex-skill",
        "zz-homeagents-skill",
        "zz-user-skill",
    ),
}


@pytest.mark.parametrize("name", CAPTURED)
def test_skills_are_found_in_requests_of_the_real_clients(name):
    body = (Path(__file__).parent / "data" / "requests" / f"{name}.json").read_bytes()
    assert contents.read(body, {}).listed == CAPTURED[name]


# --- what passes ------------------------------------------------------------


def test_a_streamed_answer_passes_byte_for_byte_and_is_counted(run, stub):
    provider = stub(_always(TURN))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        status, headers, body = _ask(endpoint, anthropic_beta="x-1")
        rows = gateway.close(endpoint.token)
    assert (status, body) == (200, _sse(message_events(TURN, 1, MODEL)))
    assert headers["Content-Type"].startswith("text/event-stream")
    (row,) = rows
    assert (row.passage, row.http_status, row.streamed) == ("complete", 200, True)
    assert (_tokens(row), row.model, row.served) == (TOKENS, MODEL, MODEL)
    assert (row.n_answer_bytes, row.n_request_bytes) == (
        len(body),
        len(json.dumps(_body())),
    )
    assert 0 <= row.first_byte_ms <= row.total_ms
    witness = row.request(3)
    assert (witness.call, witness.source, witness.status) == (3, "gateway", "complete")
    assert (witness.input, witness.output) == (35, 308)
    (asked,) = provider.lines("asked")
    assert asked["path"] == "/v1/messages?beta=true"
    assert asked["headers"]["anthropic-beta"] == "x-1"
    assert asked["headers"]["accept-encoding"] == "identity"
    assert asked["credential"] == {"x-api-key": digest(CANARY)}


def test_an_answer_in_one_piece_is_counted(run, stub):
    provider = stub(_always(TURN))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        _, _, body = _ask(endpoint, _body(stream=False))
        (row,) = gateway.close(endpoint.token)
    assert json.loads(body) == message_of(TURN, 1, MODEL)
    assert (_tokens(row), row.streamed, row.passage) == (TOKENS, False, "complete")


def test_counting_tokens_passes_and_has_no_usage(run, stub):
    provider = stub(_always(TURN))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        status, _, body = _ask(endpoint, path="/v1/messages/count_tokens")
        (row,) = gateway.close(endpoint.token)
    assert (status, list(json.loads(body))) == (200, ["input_tokens"])
    assert (row.input, row.output, row.request(0)) == (None, None, None)
    assert row.path == "/v1/messages/count_tokens"


def test_the_other_protocol_passes_with_its_own_header(run, stub):
    provider = stub(_always({"text": "Hi", "usage": USED | {"write_1h": 0}}))
    given = _provider(provider.url, Dialect.OPENAI, Header.BEARER)
    body = {"model": "gpt-5.5", "stream": True, "input": "Do it."}
    with Gateway(run, given, ("gpt-5.5",)) as gateway:
        endpoint = gateway.open(TRIAL)
        bearer = f"Bearer {endpoint.token}"
        status, _, _ = _ask(
            endpoint, body, path="/v1/responses", authorization=bearer, x_api_key=""
        )
        elsewhere = _ask(endpoint, body)
        (row,) = gateway.close(endpoint.token)
    assert (status, elsewhere[0]) == (200, 404)
    assert _tokens(row) == Tokens(35, 100, 0, 28_173, 308)
    (asked,) = provider.lines("asked")
    assert asked["credential"] == {"authorization": digest(CANARY)}


@pytest.mark.parametrize(
    ("how", "whole"), [("cut_after", True), ("reset_after", False)]
)
def test_of_a_cut_stream_the_start_is_counted_and_the_client_sees_the_cut(
    run, stub, how, whole
):
    provider = stub(_always(TURN | {how: 3}))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        if whole:
            _, _, body = _ask(endpoint)
            assert body == _sse(message_events(TURN, 1, MODEL)[:3])
        else:
            with pytest.raises((http.client.HTTPException, ConnectionError)):
                _ask(endpoint)
        (row,) = gateway.close(endpoint.token)
    assert (row.passage, row.output, row.read) == ("truncated", 1, 28_173)


def test_events_pass_one_by_one_as_the_provider_sends_them(run, stub, tmp_path):
    gate = tmp_path / "gate"
    gate.mkdir()
    provider = stub(_always(TURN | {"gate": str(gate)}))
    events = message_events(TURN, 1, MODEL)
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        connection = _connect(endpoint)
        headers = {"x-api-key": endpoint.token}
        connection.request("POST", "/v1/messages", json.dumps(_body()), headers)
        reply = connection.getresponse()
        for n, event in enumerate(events):  # the stub waits until we have event n
            assert reply.readline() == f"event: {event['type']}\n".encode()
            assert json.loads(reply.readline().removeprefix(b"data:")) == event
            assert reply.readline() == b"\n"
            (gate / str(n)).touch()
        assert reply.read() == b""
        connection.close()


def test_a_request_whose_client_is_gone_is_ended_at_the_provider(run, stub, tmp_path):
    provider = stub(_always(TURN | {"gate": str(tmp_path / "never")}))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        connection = _connect(endpoint)
        headers = {"x-api-key": endpoint.token}
        connection.request("POST", "/v1/messages", json.dumps(_body()), headers)
        reply = connection.getresponse()
        reply.readline()
        reply.close()
        connection.close()
        (answered,) = provider.await_lines("answered", 1)
        assert answered["ended"] == "client-gone"
        (row,) = gateway.close(endpoint.token)
    assert (row.passage, row.input, row.output) == ("client-gone", 35, 1)


def test_closing_ends_what_is_under_way_and_turns_the_token_away(run, stub, tmp_path):
    provider = stub(_always(TURN | {"wait_for": str(tmp_path / "never")}))
    with _gateway(run, provider.url) as gateway, ThreadPoolExecutor() as pool:
        endpoint = gateway.open(TRIAL)
        asking = pool.submit(_ask, endpoint)
        provider.await_lines("asked", 1)
        (row,) = gateway.close(endpoint.token)
        assert (row.passage, row.input, row.http_status) == ("closed", None, None)
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            asking.result(60)
        assert provider.await_lines("answered", 1)[0]["ended"] == "client-gone"
        assert _ask(endpoint)[0] == 401


def test_requests_of_two_calls_at_once_keep_their_own_rows(run, stub):
    usages = {"A": USED | {"input": 1}, "B": USED | {"input": 2}}
    provider = stub(
        *(
            {"match": [word], "turns": [{"text": word, "usage": used, "times": 20}]}
            for word, used in usages.items()
        )
    )
    with _gateway(run, provider.url) as gateway, ThreadPoolExecutor(8) as pool:
        ends = {w: gateway.open(Trial(f"{w}/task", w)) for w in usages}
        asked = [pool.submit(_ask, ends[w], _body(w)) for _ in range(20) for w in ends]
        assert {one.result(60)[0] for one in asked} == {200}
        rows = {word: gateway.close(end.token) for word, end in ends.items()}
    for word, used in usages.items():
        assert [row.input for row in rows[word]] == [used["input"]] * 20
        assert sorted(row.n for row in rows[word]) == list(range(1, 21))


def test_a_body_of_megabytes_passes(run, stub):
    provider = stub(_always(TURN))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        body = _body("x" * 3_000_000)
        assert _ask(endpoint, body)[0] == 200
        (row,) = gateway.close(endpoint.token)
    assert provider.lines("asked")[0]["body"] == body
    assert row.n_request_bytes > 3_000_000


def test_rows_tell_the_skills_and_marks_of_each_request(run, stub):
    provider = stub(_always(TURN | {"times": 2}))
    body = "# Body of a skill\nDo this."
    trial = msgspec.structs.replace(TRIAL, marks={"skill": body})
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(trial)
        _ask(endpoint, _body(f"{body}\n\nTask."))
        _ask(endpoint, _body("Task.", system=LISTED))
        first, second = gateway.close(endpoint.token)
    assert (first.carried, first.listed) == (("skill",), ())
    assert (second.carried, second.listed) == ((), ("one-skill", "two", "p:three"))


def test_a_request_that_lists_any_number_of_skills_has_a_bounded_row(run, stub):
    provider = stub(_always(TURN | {"times": 9}))
    names = [f"{n:06}-" + "\U0001f600" * 300 for n in range(1_500)]
    listed = _listing(*(f"- {name}" for name in names))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        assert {_ask(endpoint, _body(listed))[0] for _ in range(5)} == {200}
        rows = gateway.close(endpoint.token)
    assert [row.n for row in rows] == [1, 2, 3, 4, 5]
    cut = [name[:200] for name in names[:1_000]]
    assert rows[0].listed == (*cut, "... and 500 more")


# --- what is refused --------------------------------------------------------


def test_what_is_not_offered_gets_an_honest_error_and_goes_nowhere(run, stub):
    provider = stub(_always(TURN))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        stranger = endpoint._replace(token="evalkit-other")
        found = [
            _ask(stranger),
            _ask(endpoint, path="/v1/files"),
            _ask(endpoint, path="/v1/messages/../files"),
            _ask(endpoint, _body(model="claude-other")),
            _ask(endpoint, {"messages": []}),
            _ask(endpoint, []),
        ]
        assert gateway.close(endpoint.token) == ()
    assert [reply[0] for reply in found] == [401, 404, 404, 400, 400, 400]
    assert json.loads(found[0][2])["type"] == "error"
    assert [_error(reply)["type"] for reply in found[:4]] == [
        "authentication_error",
        "not_found_error",
        "not_found_error",
        "invalid_request_error",
    ]
    assert "claude-other is not registered" in _error(found[3])["message"]
    assert provider.lines("asked") == []
    assert [n["event"] for n in _notes(run)].count("refusal") == len(found)


RATES = prices.rates()
COST = (35 * 4 + 100 * 5 + 200 * 8 + 28_173 * 0.2 + 308 * 20) / 1e6


@pytest.mark.parametrize(
    ("caps", "named"),
    [
        (Caps(max_requests=2), "max_requests = 2"),
        (Caps(max_tokens=TOKENS.total + 1), "max_tokens = 28,817"),
        (Caps(max_usd=COST * 1.5), "max_usd = 0.02"),
    ],
    ids=["requests", "tokens", "dollars"],
)
def test_the_request_after_a_cap_is_refused_and_says_which(run, stub, caps, named):
    provider = stub(_always(TURN | {"times": 9}))
    with _gateway(run, provider.url, rates=RATES) as gateway:
        endpoint = gateway.open(msgspec.structs.replace(TRIAL, caps=caps))
        statuses = [_ask(endpoint)[0] for _ in range(2)]
        status, headers, body = _ask(endpoint)
        # Another call of the same attempt has no caps of its own.
        other = gateway.open(Trial("case.arm.r1/1/01-task/select", TRIAL.trial, caps))
        assert _ask(other)[0] == 429
        free = gateway.open(Trial("case.arm.r2/1/01-task/task", "case.arm.r2/1", caps))
        assert _ask(free)[0] == 200
        *_, refused = gateway.close(endpoint.token)
    assert (statuses, status, headers["retry-after"]) == ([200, 200], 429, "86400")
    error = json.loads(body)["error"]
    assert error["type"] == "rate_limit_error"
    assert named in error["message"]
    assert (refused.passage, refused.refused_by) == (
        Passage.REFUSED,
        named.partition(" ")[0],
    )
    assert refused.request(0) is None
    assert len(provider.lines("asked")) == 3


def test_requests_at_once_do_not_slip_past_a_cap(run, stub):
    provider = stub(_always(TURN | {"times": 30}))
    trial = msgspec.structs.replace(TRIAL, caps=Caps(max_requests=3))
    with _gateway(run, provider.url) as gateway, ThreadPoolExecutor(12) as pool:
        endpoint = gateway.open(trial)
        statuses = list(pool.map(lambda _: _ask(endpoint)[0], range(12)))
        rows = gateway.close(endpoint.token)
    assert (statuses.count(200), statuses.count(429)) == (3, 9)
    assert [row.passage for row in rows].count(Passage.REFUSED) == 9


@pytest.mark.parametrize(
    "caps", [Caps(max_tokens=3_000), Caps(max_usd=0.012)], ids=["tokens", "dollars"]
)
def test_requests_at_once_are_held_against_a_cap_before_usage_is_known(
    run, stub, tmp_path, caps
):
    gate = tmp_path / "gate"
    provider = stub(_always(TURN | {"wait_for": str(gate), "times": 60}))
    with (
        _gateway(run, provider.url, rates=RATES) as gateway,
        ThreadPoolExecutor(20) as pool,
    ):
        endpoint = gateway.open(msgspec.structs.replace(TRIAL, caps=caps))
        asking = [pool.submit(_ask, endpoint) for _ in range(20)]
        first = islice(as_completed(asking, 60), 17)
        refused = [one.result()[0] for one in first]
        gate.touch()
        statuses = [one.result(60)[0] for one in asking]
        gateway.close(endpoint.token)
    assert refused == [429] * 17
    assert statuses.count(200) == 3


@pytest.mark.parametrize("n_chars", [10, 40_000], ids=["short", "long"])
def test_requests_whose_usage_stays_unknown_count_with_what_was_held(
    run, stub, tmp_path, n_chars
):
    provider = stub(_always(TURN | {"wait_for": str(tmp_path / "never"), "times": 9}))
    body = json.dumps(_body("x" * n_chars))
    each = max(1_000, -(-len(body) // 4))
    trial = msgspec.structs.replace(TRIAL, caps=Caps(max_tokens=2 * each))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(trial)
        for n in (1, 2):
            connection = _connect(endpoint)
            headers = {"x-api-key": endpoint.token}
            connection.request("POST", "/v1/messages", body, headers)
            provider.await_lines("asked", n)
            connection.close()
            provider.await_lines("answered", n)
        assert _ask(endpoint)[0] == 429
        *gone, refused = gateway.close(endpoint.token)
    assert [(row.passage, row.input, row.output) for row in gone] == [
        (Passage.CLIENT_GONE, None, None)
    ] * 2
    assert refused.refused_by == "max_tokens"


def test_what_is_free_or_failed_counts_for_no_cap_but_that_of_requests(run, stub):
    provider = stub(_always({"status": 500}, {"status": 529}, TURN))
    trial = msgspec.structs.replace(TRIAL, caps=Caps(max_tokens=100))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(trial)
        counting = _ask(endpoint, path="/v1/messages/count_tokens")[0]
        statuses = [counting, *(_ask(endpoint)[0] for _ in range(4))]
    assert statuses == [200, 500, 529, 200, 429]


def test_what_finished_requests_took_is_held_for_those_under_way():
    account = Account(Caps(max_tokens=3 * TOKENS.total), lambda *_: 0.0)
    found = []
    for _ in range(2):
        taking = Taking(MODEL, Meter(Dialect.ANTHROPIC), 4)
        account.begin(taking)
        found.append(account.reached())
        if len(found) == 1:
            taking.meter.take_stream(_sse(message_events(TURN, 1, MODEL)))
            account.end(taking, Passage.COMPLETE)
    account.begin(Taking(MODEL, Meter(Dialect.ANTHROPIC), 4))
    assert found == [None, None]
    assert account.reached() == ("max_tokens", f"{3 * TOKENS.total:,}")


def test_a_cap_in_dollars_needs_a_known_price(run, stub):
    with _gateway(run, stub().url) as gateway, pytest.raises(InputError, match="price"):
        gateway.open(msgspec.structs.replace(TRIAL, caps=Caps(max_usd=1.0)))


@pytest.mark.parametrize("status", [400, 429, 500, 529])
def test_a_providers_error_passes_as_it_is(run, stub, status):
    provider = stub(_always({"status": status, "retry_after": 3, "message": "so"}))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        got, headers, body = _ask(endpoint)
        (row,) = gateway.close(endpoint.token)
    assert (got, headers["retry-after"]) == (status, "3")
    assert json.loads(body)["error"]["message"] == "so"
    assert (row.passage, row.http_status, row.input) == ("failed", status, None)
    assert '"so"' in row.detail


def test_a_providers_word_on_the_credential_is_withheld(run, stub):
    said = f"{CANARY[:-2]}** is no key"
    provider = stub(
        _always({"status": 401, "message": said}, {"status": 500, "message": CANARY})
    )
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        found = [_ask(endpoint), _ask(endpoint)]
        rows = gateway.close(endpoint.token)
    assert [reply[0] for reply in found] == [401, 500]
    assert CANARY[:9] not in str(found) + str(rows)
    assert rows[0].http_status == 401


def test_a_provider_that_cannot_be_reached_is_said_so(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with _gateway(run, url) as gateway:
        endpoint = gateway.open(TRIAL)
        reply = _ask(endpoint)
        (row,) = gateway.close(endpoint.token)
    assert (reply[0], _error(reply)["type"]) == (502, "api_error")
    assert (row.passage, row.input) == ("unreachable", None)


@pytest.mark.parametrize(
    "url",
    [
        f"http://:{CANARY}@h",
        f"http://u:{CANARY}@h",
        f"http://{CANARY}@h",
        f"http://@h/{CANARY}",
        f"http://h:{CANARY}",
        f"http://[{CANARY}",
        f"http://h?{CANARY}",
        f"http://h/a@{CANARY}",
    ],
)
def test_an_address_that_may_hold_a_secret_is_refused_and_never_told(run, url):
    provider = Provider(Dialect.ANTHROPIC, url, "dummy", Header.API_KEY)
    with pytest.raises(InputError, match="without user") as caught:
        Gateway(run, provider, (MODEL,))
    assert CANARY not in f"{caught.value!r} {provider!r} {provider}"
    assert list(run.iterdir()) == []


@pytest.mark.parametrize(
    "provider",
    [
        Provider(Dialect.ANTHROPIC, "http://u:p@h", CANARY, Header.API_KEY),
        Provider(Dialect.ANTHROPIC, "ftp://h", CANARY, Header.API_KEY),
        Provider(Dialect.ANTHROPIC, "http://h", f"{CANARY}\n", Header.API_KEY),
        Provider(Dialect.ANTHROPIC, "http://h", "", Header.API_KEY),
    ],
    ids=["user", "scheme", "line-break", "empty"],
)
def test_a_provider_that_cannot_be_used_is_refused_without_its_secret(run, provider):
    with pytest.raises(InputError) as caught:
        Gateway(run, provider, (MODEL,))
    assert CANARY not in f"{caught.value!r} {provider!r} {provider}"
    assert ":p@" not in str(caught.value)


# --- what is written down ---------------------------------------------------


def test_notes_tell_what_passed_and_go_on_after_a_torn_line(run, stub):
    provider = stub(_always(TURN | {"times": 2}))
    for _ in range(2):
        with _gateway(run, provider.url) as gateway:
            endpoint = gateway.open(TRIAL)
            _ask(endpoint)
            (row,) = gateway.close(endpoint.token)
        with (run / "gateway.jsonl").open("a") as opened:
            opened.write('{"event": "torn')
    *whole, torn = (run / "gateway.jsonl").read_text().split("\n")
    lines = [json.loads(line) for line in whole]
    once = ["start", "open", "request", "close", "stop"]
    assert [line["event"] for line in lines] == once * 2
    assert torn.endswith("torn")
    assert msgspec.convert(lines[-3]["exchange"], Exchange) == row
    assert lines[-3]["name"] == TRIAL.name


def test_recordings_hold_both_bodies_of_every_request(run, stub):
    turns = [TURN, {"status": 429, "retry_after": 9}]
    provider = stub(_always(*turns, *turns))
    answers = []
    for _ in range(2):
        with _gateway(run, provider.url, record=True) as gateway:
            endpoint = gateway.open(TRIAL)
            answers.append([_ask(endpoint)[2] for _ in turns])
            gateway.close(endpoint.token)
    first = run / "recordings" / TRIAL.name
    for folder, told in zip((first, first.with_name("task~2")), answers, strict=True):
        assert len(list(folder.iterdir())) == 6
        asked = json.loads((folder / "0001.request.json").read_text())
        assert (asked["path"], asked["body"]) == ("/v1/messages?beta=true", _body())
        heads = [folder / f"000{n}.answer.json" for n in (1, 2)]
        found = [json.loads(head.read_text()) for head in heads]
        assert [head["status"] for head in found] == [200, 429]
        assert found[1]["headers"]["retry-after"] == "9"
        bodies = [folder / f"000{n}.answer.body" for n in (1, 2)]
        assert [body.read_bytes() for body in bodies] == told


def _everything_told(pid):
    """All that a process' command line and environment hold."""
    place = Path("/proc") / str(pid)
    return (place / "cmdline").read_bytes() + (place / "environ").read_bytes()


def test_the_credential_is_nowhere_but_in_the_header_to_the_provider(run, stub):
    provider = stub(_always(TURN, {"status": 401, "message": CANARY}))
    with _gateway(run, provider.url, record=True) as gateway:
        endpoint = gateway.open(TRIAL)
        told = _everything_told(gateway.pid) + _everything_told(os.getpid())
        replies = [_ask(endpoint) for _ in range(2)]
        said = "".join(f"{reply[1]} {reply[2]!r}" for reply in replies)
        rows = gateway.close(endpoint.token)
        assert b"evalkit.gateway" in told
        assert CANARY.encode() not in told
        assert CANARY not in said + repr(rows) + repr(gateway.__dict__)
    written = [path for path in run.rglob("*") if path.is_file()]
    assert len(written) == 7
    for path in written:
        data = path.read_bytes()
        assert CANARY.encode() not in data, path
        assert endpoint.token.encode() not in data, path
    for asked in provider.lines("asked"):
        assert asked["credential"] == {"x-api-key": digest(CANARY)}
        assert CANARY not in json.dumps(asked)


ECHO_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"x-debug: key=" + CANARY.encode() + b"\r\nconnection: close\r\n\r\n"
)
ECHO = b'data: {"type": "error", "error": {"message": "' + CANARY.encode() + b'"}}\n\n'


@contextmanager
def _echoing(pieces):
    """A provider that answers with these pieces, and says the credential again."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:

        def answer():
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as reading:
                for line in iter(reading.readline, b"\r\n"):
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        n = int(value)
                reading.read(n)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for piece in pieces:
                    connection.sendall(piece)

        answered = pool.submit(answer)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        answered.result(60)


def test_a_credential_that_the_provider_echoes_is_not_written_down(run):
    pieces = [ECHO_HEAD, *(ECHO[i : i + 1] for i in range(len(ECHO)))]
    with _echoing(pieces) as url, _gateway(run, url, record=True) as gateway:
        endpoint = gateway.open(TRIAL)
        status, headers, _ = _ask(endpoint, _body(f"I saw {CANARY}."), x_seen=CANARY)
        (row,) = gateway.close(endpoint.token)
    assert (status, headers["x-debug"]) == (200, "key=[withheld]")
    written = {p.name: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    assert [name for name, data in written.items() if CANARY.encode() in data] == []
    assert written["0001.answer.body"] == ECHO.replace(CANARY.encode(), b"[withheld]")
    assert json.loads(written["0001.request.json"])["body"] == _body(
        "I saw [withheld]."
    )
    assert "[withheld]" in row.detail


def test_a_secret_is_found_at_every_cut_and_nothing_else_is_lost():
    data = b"aab-aaab-aa"
    for cut in range(len(data) + 1):
        stream = Stream(Secret("aab"))
        found = stream.take(data[:cut]) + stream.take(data[cut:]) + stream.end()
        assert found == b"[withheld]-a[withheld]-aa"


# --- when one of them dies --------------------------------------------------


def test_a_gateway_that_was_killed_is_said_so_and_nothing_hangs(run, stub, tmp_path):
    provider = stub(_always(TURN | {"wait_for": str(tmp_path / "never")}))
    with _gateway(run, provider.url) as gateway, ThreadPoolExecutor() as pool:
        endpoint = gateway.open(TRIAL)
        asking = pool.submit(_ask, endpoint)
        provider.await_lines("asked", 1)
        os.kill(gateway.pid, signal.SIGKILL)
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            asking.result(60)
        with pytest.raises(InfrastructureError, match="gateway: expected an answer"):
            gateway.close(endpoint.token)
    assert provider.await_lines("answered", 1)[0]["ended"] == "client-gone"


def test_a_folder_that_cannot_be_written_is_said_so(run, stub):
    (run / "gateway.jsonl").mkdir()
    with (
        pytest.raises(InfrastructureError, match="gateway: expected that it does"),
        _gateway(run, stub().url),
    ):
        pass


def test_notes_that_lead_to_a_device_are_said_so(run, stub):
    notes = run / "gateway.jsonl"
    notes.symlink_to("/dev/full")
    with (
        pytest.raises(InfrastructureError, match=f"no regular file: '{notes}'"),
        _gateway(run, stub().url),
    ):
        pass


def test_notes_that_cannot_be_written_any_more_are_said_so(run, stub):
    provider = stub(_always(TURN))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        size = (run / "gateway.jsonl").stat().st_size
        resource.prlimit(gateway.pid, resource.RLIMIT_FSIZE, (size, size))
        assert _ask(endpoint)[0] == 200
        found = f"{run / 'gateway.jsonl'}: File too large"
        with pytest.raises(InfrastructureError, match=found):
            gateway.close(endpoint.token)


RUNNER = """
import sys
from pathlib import Path
from evalkit.gateway import Gateway, Header, Provider, Trial
from evalkit.records import Dialect
provider = Provider(Dialect.ANTHROPIC, sys.argv[2], "dummy", Header.API_KEY)
with Gateway(Path(sys.argv[1]), provider, ("m",)) as gateway:
    gateway.open(Trial("a/task", "a"))
    print(gateway.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_gateway_ends_with_its_runner(run, stub, number):
    argv = [sys.executable, "-c", RUNNER, str(run), stub().url]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, cwd=REPOSITORY) as runner:
        gateway = psutil.Process(int(runner.stdout.readline()))
        runner.send_signal(number)
        with suppress(psutil.NoSuchProcess):
            gateway.wait(60)
    assert not gateway.is_running()


# --- inside the sandbox -----------------------------------------------------

FORWARD = REPOSITORY / "evalkit" / "inside" / "forward.py"
FORWARD_SEEN = "/opt/forward.py"
SOCKET_SEEN = "/run/gateway"
CLIENT = """
import http.client, json, sys
port, token, body, n = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
for _ in range(n):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    client.request("POST", "/v1/messages", body, {"x-api-key": token})
    reply = client.getresponse()
    print(reply.status, len(reply.read()), flush=True)
    client.close()
print(sys.stdin.read(), file=sys.stderr)
sys.exit(7)
"""


@contextmanager
def _agent(tmp_path, endpoint, *program, network=Network.MODEL_ONLY):
    """A program in the sandbox, behind the forwarder, as it is started."""
    box = sandbox.open_box("bwrap", allow_unsandboxed=False)
    folders = [tmp_path / name for name in ("workspace", "home", "staging")]
    for folder in folders:
        folder.mkdir()
    place = box.place(*folders)
    words = ("python3", "-I", "-S", "-B", FORWARD_SEEN, SOCKET_SEEN, "8199")
    launch = box.agent_argv(
        (*words, *program),
        {"PATH": "/usr/bin:/bin"},
        place,
        [Mount(FORWARD, FORWARD_SEEN), Mount(endpoint.socket, SOCKET_SEEN)],
        network,
    )
    pipes = [os.pipe(), os.pipe()]
    with (
        os.fdopen(pipes[0][0], "rb") as out,
        os.fdopen(pipes[0][1], "wb") as out_end,
        os.fdopen(pipes[1][0], "rb") as err,
        os.fdopen(pipes[1][1], "wb") as err_end,
    ):
        running = process.start(
            launch.argv,
            env=launch.env,
            given=launch.given,
            caps=launch.caps,
            stdout=out_end,
            stderr=err_end,
        )
        out_end.close()
        err_end.close()
        try:
            yield running, out, err
        finally:
            running.end()


@pytest.mark.needs_sandbox
def test_an_agent_in_the_sandbox_reaches_its_model_and_only_that(run, stub, tmp_path):
    provider = stub(_always(TURN | {"times": 9}))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        body = json.dumps(_body("x" * 90_000))
        program = ("python3", "-c", CLIENT, "8199", endpoint.token, body, "3")
        with _agent(tmp_path, endpoint, *program) as (running, out, err):
            said, faults = out.read(), err.read()
            assert running.wait(60).code == 7
        rows = gateway.close(endpoint.token)
    size = len(_sse(message_events(TURN, 1, MODEL)))
    assert (said.decode().split(), faults) == (["200", str(size)] * 3, b"\n")
    assert [_tokens(row) for row in rows] == [TOKENS] * 3


@pytest.mark.needs_sandbox
def test_the_machines_own_loopback_is_out_of_an_agents_reach(run, stub, tmp_path):
    with _gateway(run, stub().url) as gateway:
        endpoint = gateway.open(TRIAL)
        port = str(urlsplit(endpoint.url).port)
        program = ("python3", "-c", CLIENT, port, endpoint.token, "{}", "1")
        with _agent(tmp_path, endpoint, *program) as (running, _, err):
            assert b"ConnectionRefusedError" in err.read()
            assert running.wait(60).code == 1


@pytest.mark.needs_sandbox
def test_an_agent_killed_in_mid_stream_ends_its_request(run, stub, tmp_path):
    provider = stub(_always(TURN | {"gate": str(tmp_path / "never")}))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        program = (
            "python3", "-c", CLIENT, "8199", endpoint.token, json.dumps(_body()), "1",
        )  # fmt: skip
        with _agent(tmp_path, endpoint, *program) as (running, _, _):
            provider.await_lines("asked", 1)
            running.end()
            (answered,) = provider.await_lines("answered", 1)
        (row,) = gateway.close(endpoint.token)
    assert answered["ended"] == "client-gone"
    assert row.passage == "client-gone"


def _forwarded(path, *program, **options):
    argv = [sys.executable, "-I", "-S", "-B", str(FORWARD), str(path)]
    port = _free_port()
    words = [word.replace("PORT", port) for word in program]
    return subprocess.Popen([*argv, port, *words], **options)


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


LEAVER = """
import http.client, sys
client = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
client.request("POST", "/v1/messages", sys.argv[2], {"x-api-key": sys.argv[1]})
reply = client.getresponse()
reply.readline()
reply.close()
client.close()
sys.stdin.read()
"""


def test_a_client_that_leaves_behind_the_forwarder_is_seen_to(run, stub, tmp_path):
    provider = stub(_always(TURN | {"gate": str(tmp_path / "never")}))
    with _gateway(run, provider.url) as gateway:
        endpoint = gateway.open(TRIAL)
        words = ("-I", "-c", LEAVER, endpoint.token, json.dumps(_body()))
        program = (sys.executable, *words)
        pipe = subprocess.PIPE
        with _forwarded(endpoint.socket, *program, stdin=pipe) as forward:
            (answered,) = provider.await_lines("answered", 1)
            assert forward.poll() is None
        (row,) = gateway.close(endpoint.token)
    assert (answered["ended"], row.passage) == ("client-gone", "client-gone")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import sys; sys.exit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", 137),
        ("import sys; print(sys.stdin.read(), end='')", 0),
    ],
)
def test_the_forwarder_ends_with_its_programs_exit_code(tmp_path, code, expected):
    pipe = subprocess.PIPE
    program = (sys.executable, "-I", "-c", code)
    with _forwarded(tmp_path, *program, stdin=pipe, stdout=pipe) as forward:
        out, _ = forward.communicate(b"told")
    assert forward.returncode == expected
    assert out == (b"told" if expected == 0 else b"")


def test_the_forwarder_passes_sigterm_on(tmp_path):
    code = (
        "import signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "print('up', flush=True)\n"
        "signal.sigwait([signal.SIGTERM])\n"
        "sys.exit(5)"
    )
    program = (sys.executable, "-I", "-c", code)
    with _forwarded(tmp_path, *program, stdout=subprocess.PIPE) as forward:
        assert forward.stdout.readline() == b"up\n"
        forward.terminate()
        assert forward.wait(60) == 5


def test_the_forwarder_is_not_ended_by_its_program(tmp_path):
    source = "import os, signal; os.kill(os.getppid(), signal.SIGTERM)"
    with _forwarded(tmp_path, sys.executable, "-c", source) as forward:
        assert forward.wait(60) == 0


def test_the_forwarder_says_that_a_program_is_missing(tmp_path):
    with _forwarded(tmp_path, "no-such-program", stderr=subprocess.PIPE) as forward:
        _, said = forward.communicate()
    assert (forward.returncode, said) == (
        127,
        b"forward: no-such-program: No such file or directory\n",
    )
