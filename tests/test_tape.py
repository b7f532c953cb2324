"""A gateway that answers from a recording: what it gives, holds, and refuses."""

import asyncio
import http.client
import json
from contextlib import nullcontext
from urllib.parse import urlsplit

import msgspec
import psutil
import pytest
from multidict import CIMultiDict
from realroot import CREDENTIAL, provider

from evalkit import files
from evalkit.errors import InputError
from evalkit.gateway import Gateway, Header, Provider, Trial, contents, recording
from evalkit.gateway.contents import UnreadableError
from evalkit.gateway.notes import Notes
from evalkit.gateway.passing import returned_headers
from evalkit.gateway.sources import DepartedError
from evalkit.gateway.tape import Tape
from evalkit.gateway.terms import Kept, Taped
from evalkit.gateway.varying import Varying, rules_of
from evalkit.gateway.withheld import Secret
from evalkit.records import Dialect, Passage

MODEL = "claude-opus-5-5"
TRIAL = Trial("trials/a.b.r1/1/01-task/task", "trials/a.b.r1/1")
RULES = rules_of(msgspec.toml.decode(files.package_data("varies.toml")))
SECRET = Secret("none-was-needed")
VARYING = Varying(RULES)
SESSION = "28ba3aa4-e08c-4994-a38a-aaeab7369139"
OTHER = "9c1d2e3f-0000-4994-a38a-aaeab7369139"
TURNS = [
    {"text": "One.", "usage": {"read": 9}},
    {"status": 529, "retry_after": 9},
    {"text": "Two.", "thinking": "é"},
    {"text": "Cut.", "cut_after": 3},
    {"text": "Reset.", "reset_after": 3},
    {"status": 401, "message": CREDENTIAL},
]


def _body(text, session=SESSION, **more):
    said = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    ids = json.dumps({"session_id": session})
    shape = {"model": MODEL, "stream": True, "messages": said}
    return {**shape, "metadata": {"user_id": ids}, **more}


def _ask(endpoint, body):
    """Status and body of an answer; how it broke where it did."""
    parts = urlsplit(endpoint.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    headers = {"x-api-key": endpoint.token, "x-odd": "no text in UTF-8: \xff"}
    connection.request("POST", "/v1/messages?beta=true", json.dumps(body), headers)
    reply = connection.getresponse()
    try:
        return reply.status, reply.headers["retry-after"], reply.read()
    except (http.client.IncompleteRead, ConnectionError) as error:
        return reply.status, type(error).__name__, getattr(error, "partial", b"")
    finally:
        connection.close()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recorded call of six requests: its run, rows and answers."""
    folder = tmp_path_factory.mktemp("recorded")
    with provider(folder / "stub", {"match": [], "turns": TURNS}) as stub:
        given = Provider(Dialect.ANTHROPIC, stub.url, CREDENTIAL, Header.API_KEY)
        with Gateway(folder, given, (MODEL,), record=True) as gateway:
            endpoint = gateway.open(TRIAL)
            told = [_ask(endpoint, _body(f"{n}")) for n in range(len(TURNS))]
            return folder, gateway.close(endpoint.token), told


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    """One that answers from recordings; its provider cannot be reached."""
    folder = tmp_path_factory.mktemp("replay")
    unreached = Provider(Dialect.ANTHROPIC, "http://192.0.2.1", "none", Header.API_KEY)
    with Gateway(folder, unreached, (MODEL,), varies=RULES) as opened:
        yield opened


@pytest.fixture
def replay(recorded, gateway):
    """Opens the call again, for a replay; gives the gateway and the way to it."""
    folder, rows, _ = recorded
    taped = recording.taped(folder, TRIAL.name, rows)
    return gateway, gateway.open(TRIAL, taped)


def _facts(row):
    """What is the same of a row in a replay."""
    ours = {"started_at", "first_byte_ms", "total_ms", "held_ms", "recorded", "varied"}
    return {k: v for k, v in msgspec.structs.asdict(row).items() if k not in ours}


def test_answers_errors_and_cuts_come_again_as_they_were(recorded, replay):
    _, rows, told = recorded
    gateway, endpoint = replay
    again = [_ask(endpoint, _body(f"{n}", OTHER)) for n in range(len(TURNS))]
    assert again == told
    found = gateway.close(endpoint.token)
    assert [_facts(row) for row in found] == [_facts(row) for row in rows]
    assert {row.varied for row in found} == {("ids of sessions and turns",)}
    assert [row.passage for row in found] == [
        Passage.COMPLETE,
        Passage.FAILED,
        Passage.COMPLETE,
        Passage.TRUNCATED,
        Passage.TRUNCATED,
        Passage.FAILED,
    ]


def test_a_replay_connects_to_nothing(replay):
    gateway, endpoint = replay
    _ask(endpoint, _body("0"))
    found = psutil.Process(gateway.pid).net_connections("inet")
    assert {one.status for one in found} <= {"LISTEN", "TIME_WAIT", "CLOSE_WAIT"}


def test_requests_that_ran_side_by_side_get_each_its_own_answer(recorded, replay):
    _, _, told = recorded
    _, endpoint = replay
    for n in (2, 0):
        assert _ask(endpoint, _body(f"{n}")) == told[n]


def test_a_departure_is_named_and_ends_the_call(replay):
    gateway, endpoint = replay
    assert _ask(endpoint, _body("0"))[0] == 200
    status, after, said = _ask(endpoint, _body("1") | {"max_tokens": 7})
    assert (status, after) == (429, "86400")
    assert b"departed from its recording" in said
    assert _ask(endpoint, _body("1"))[0] == 429
    good, first, second = gateway.close(endpoint.token)
    assert good.passage is Passage.COMPLETE
    assert {first.passage, second.passage} == {Passage.DEPARTED}
    assert first.detail == ("body.max_tokens: recorded nothing -> asked 7")
    assert second.detail == f"after a departure: {first.detail}"


def test_a_request_more_than_was_recorded_is_a_departure(recorded, replay):
    _, rows, _ = recorded
    gateway, endpoint = replay
    for n in range(len(TURNS)):
        _ask(endpoint, _body(f"{n}"))
    assert _ask(endpoint, _body("0"))[0] == 429
    *_, last = gateway.close(endpoint.token)
    assert last.detail == (
        f"the recording holds {len(rows)} requests of this call, and no further"
    )


@pytest.mark.parametrize("name", ["0003.request.json", "0003.answer.body"])
@pytest.mark.parametrize("damage", ["edited", "cut", "lost"])
def test_what_was_edited_cut_or_lost_is_refused_by_name(recorded, name, damage):
    folder, rows, _ = recorded
    taped = recording.taped(folder, TRIAL.name, rows)
    recording.check(taped)
    path = folder / "recordings" / TRIAL.name / name
    whole = path.read_bytes()
    try:
        if damage == "lost":
            path.unlink()
        else:
            path.write_bytes(whole[:-9] + (b"" if damage == "cut" else b" " * 9))
        with pytest.raises(InputError, match=r"0003\.\*: expected the recorded"):
            recording.check(taped)
    finally:
        path.write_bytes(whole)


def test_no_recording_holds_the_credential(recorded):
    folder, _, _ = recorded
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert len([path for path in written if "recordings" in path.parts]) == 18
    for path in written:
        if "stub" not in path.parts:
            assert CREDENTIAL.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("value", ["\udcff", "a\x01b", "a\nb"])
def test_what_is_no_text_stands_in_no_header(value):
    assert dict(returned_headers({"x-odd": value, "x-even": "a é"})) == {
        "x-even": "a é"
    }


def test_a_forged_recording_of_nothing_is_refused_by_name(tmp_path):
    nothing = recording.Recording(tmp_path / "0001", Notes(tmp_path, str), SECRET)
    row = Kept(1, Passage.COMPLETE, nothing.end(broken=False), "")
    with pytest.raises(InputError, match="0001"):
        recording.check(Taped(str(tmp_path), (row,)))


def test_a_request_nested_too_deep_is_refused_or_departs(tmp_path):
    said = set()
    for depth in range(900, 1000, 2):
        folder = tmp_path / str(depth)
        folder.mkdir()
        body = b'{"model":"m","input":%s1%s}' % (b"[" * depth, b"]" * depth)
        kept = recording.Recording(folder / "0001", Notes(folder, str), SECRET)
        kept.asked("/v1/messages", {}, body)
        kept.answered(200, {})
        row = Kept(1, Passage.COMPLETE, kept.end(broken=False), "")
        tape = Tape(Taped(str(folder), (row,)), VARYING, Dialect.ANTHROPIC, SECRET)
        try:
            contents.read(body, {})
            said.add(asyncio.run(_answered(tape, body)))
        except (UnreadableError, DepartedError) as error:
            said.add(type(error))
    assert said == {200, UnreadableError, DepartedError}


async def _answered(tape, body):
    async with tape.ask("/v1/messages", CIMultiDict(), body) as answer:
        return answer.status


# --- answers that never ended -----------------------------------------------


@pytest.mark.parametrize(
    ("streamed", "held"),
    [
        (b"", True),
        (b"data: {}\n\n", True),
        (b'data: {"type":"message_stop"}\n\n', False),
    ],
    ids=["no answer", "a part", "the whole, but its client left"],
)
def test_an_answer_that_never_ended_is_held_and_nothing_is_made_up(
    tmp_path, streamed, held
):
    kept = recording.Recording(tmp_path / "0001", Notes(tmp_path, str), SECRET)
    kept.asked("/v1/messages", {}, b"{}")
    if streamed:
        kept.answered(200, {"content-type": "text/event-stream"})
        kept.add(streamed)
    digest = kept.end(broken=False)
    row = Kept(1, Passage.CLIENT_GONE, digest, "")
    tape = Tape(Taped(str(tmp_path), (row,)), VARYING, Dialect.ANTHROPIC, SECRET)
    came = []

    async def listen():
        async with tape.ask("/v1/messages", CIMultiDict(), b"{}") as answer:
            async for piece in answer.pieces():
                came.append(piece)  # noqa: PERF401 - what came before a hold counts

    async def wait():
        await asyncio.wait_for(listen(), 0.05)

    with pytest.raises(TimeoutError) if held else nullcontext():
        asyncio.run(wait())
    assert b"".join(came) == streamed


# --- what may differ --------------------------------------------------------

OUTPUT = "body.messages.3.content.0.content"


@pytest.mark.parametrize(
    ("path", "old", "new", "name"),
    [
        ("body.metadata.user_id", SESSION, OTHER, "ids of sessions and turns"),
        (
            "body.input.3.id",
            f"fc_{SESSION}",
            f"fc_{OTHER}",
            "ids of sessions and turns",
        ),
        (
            "body.messages.1.content.0.text",
            "Today's date is 2026-11-30.",
            "Today's date is 2027-01-02.",
            "today's date",
        ),
        (
            "body.input.1.content.0.text",
            "<current_date>2026-11-30</current_date>",
            "<current_date>2027-01-02</current_date>",
            "today's date",
        ),
        (
            "body.messages.1.content",
            "OS Version: Linux 6.1\n - x",
            "OS Version: Linux 6.18.44\n - x",
            "name of the machine's system",
        ),
        (
            OUTPUT,
            "Ran 3 tests in 0.012s",
            "Ran 3 tests in 1.2s",
            "durations in outputs",
        ),
        (OUTPUT, "real 0m0.012s", "real 1m2.5s", "durations in outputs"),
        (
            "body.input.6.output",
            "Wall time: 0.0000 seconds",
            "Wall time: 1.25 seconds",
            "durations in outputs",
        ),
        (
            OUTPUT,
            "-rw-r--r-- 1 agent agent 12 Nov 30 17:52 greet.py",
            "-rw-r--r-- 1 agent agent 12 Dec  1 09:00 greet.py",
            "times in outputs",
        ),
        (
            OUTPUT,
            "at 2026-11-30T17:52:02.5Z",
            "at 2026-12-01T01:02:03Z",
            "times in outputs",
        ),
        (OUTPUT, "/tmp/tmpa1b2c3d4/x", "/tmp/tmpzz9_x/x", "names of temporary files"),
        (
            OUTPUT,
            "http://127.0.0.1:43211/",
            "http://127.0.0.1:51234/",
            "numbers of processes, ports and addresses in outputs",
        ),
        (
            OUTPUT,
            "[main (root-commit) 1a2b3c4] first",
            "[main (root-commit) 9f8e7d6] first",
            "names of commits in outputs",
        ),
        (OUTPUT, f"evalkit-{'a' * 43}", f"evalkit-{'B' * 43}", "the token of a call"),
    ],
)
def test_what_varies_by_nature_is_taken_for_the_same_and_named(path, old, new, name):
    found = VARYING.compare(_at(path, old), _at(path, new))
    assert found == (None, (name,))


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (OUTPUT, "3 passed", "2 passed"),
        (OUTPUT, "version 1.2.3", "version 1.2.4"),
        (OUTPUT, "127.0.0.1:80", "127.0.0.1:81"),
        ("body.messages.1.content.0.text", "wait 5 seconds", "wait 6 seconds"),
        ("body.system.0.text", SESSION, OTHER),
        ("body.max_tokens", 1, True),
        ("headers.anthropic-beta", "a", "b"),
    ],
)
def test_all_else_is_a_difference_named_by_its_place(path, old, new):
    found = VARYING.compare(_at(path, old), _at(path, new))
    assert found.difference.startswith(f"{path}: recorded ")
    assert found.varied == ()


def test_the_first_difference_is_shown_with_what_stands_around_it():
    text = "Please greet them. " * 9
    old, new = {"body": {"a": text + "x", "b": 1}}, {"body": {"a": text + "y"}}
    assert VARYING.compare(old, new).difference == (
        'body.a: recorded "... Please greet them. x" -> asked "... Please greet them. y"'
    )
    assert VARYING.compare(new, new | {"c": [1, 2]}).difference == (
        "c: recorded nothing -> asked [1,2]"
    )


def test_every_rule_says_why():
    assert all(rule.why and rule.at for rule in RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


def _at(path, value):
    """A request that holds a value at a place."""
    *above, name = path.split(".")
    made = {name: value}
    for step in reversed(above):
        made = {step: made}
    return made
