"""production-ready: a demo-grade service meets its company's production bar.

A check about replies judges those that came, so that a request which gets none is
held against the check about that request only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.grader import (
    Checks,
    Failed,
    Get,
    Reply,
    Running,
    Send,
    Service,
    Subject,
    expect,
    fail,
    parse_json,
)

COMMAND = ("python", "-m", "parcels")
on_default_port = Service(COMMAND, port=8080)
on_8080 = Service(COMMAND, port=8080, env={"PORT": "8080"})
on_another_port = Service(COMMAND, env={"PORT": "{port}"})
buffering = Service(COMMAND, port=8080, env={**on_8080.env, "PYTHONUNBUFFERED": ""})
"""With the buffers of a production start; the sandbox turns them off elsewhere."""
quick = Service(COMMAND, port=8080, env=on_8080.env, fork=True)

checks = Checks(
    {
        "round-trip": 1,
        "malformed-body": 1,
        "missing-field": 1,
        "wrong-type": 1,
        "unknown-id": 1,
        "unknown-route": 1,
        "body-limit": 1,
        "health": 1,
        "nosniff-everywhere": 1,
        "json-errors": 1,
        "request-log": 1,
        "failures-logged": 1,
        "port-honoured": 1,
        "drains-on-sigterm": 1,
        "error-path-tests": 1,
        "changelog": 1,
    },
    service=on_8080,
)

LIMIT_BYTES = 65_536
TOO_LARGE_BYTES = 100_000
CODES = {
    400: "invalid_request",
    404: "not_found",
    413: "body_too_large",
    500: "internal_error",
}
CODE_STYLE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
SLOW_BODY_S = 0.8
PAUSE = ("python", "-I", "-S", "-c", "import time; time.sleep(0.05)")
N_PAUSES = 20
"""More than the second that a line of the log may take."""
IDLE_EXIT_S = 3.0
"""Ample for a service with nothing to wait for."""
SHIPPED_TESTS = ("tests/test_parcels.py", "tests/test_store.py")


# --- parcels ----------------------------------------------------------------


def parcel(subject: Subject) -> dict[str, Any]:
    """A parcel that the service cannot know beforehand."""
    draw = subject.random
    return {
        "recipient": f"{draw.text(20)} \u00eb",
        "weight_g": draw.randrange(1, 30_000),
        "express": draw.choice((True, False)),
    }


def post(subject: Subject, sent: Any, **options: Any) -> Reply:
    """Post a parcel, or what may pass for one."""
    return subject.http("POST", "/parcels", json=sent, **options)


def post_text(subject: Subject, body: str | bytes) -> Reply:
    """Post a body as it is."""
    headers = {"Content-Type": "application/json"}
    return subject.http("POST", "/parcels", body=body, headers=headers)


def registered(reply: Reply, sent: Mapping[str, Any]) -> str:
    """Path of a registered parcel."""
    expect(reply.status == 200, "status of a registered parcel", reply)
    seen = fields_of(reply, sent)
    expect(seen == sent, "parcel as registered", reply.body)
    parcel_id = reply.json.get("id")
    expect(isinstance(parcel_id, str) and bool(parcel_id), "id is a text", reply.body)
    return f"/parcels/{parcel_id}"


def fields_of(reply: Reply, sent: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a reply that were sent."""
    shown = reply.json
    expect(isinstance(shown, dict), "the reply is an object", reply.body)
    return {name: shown.get(name) for name in sent}


@checks("round-trip")
def round_trip(subject: Subject) -> None:
    """A registered parcel is shown as it was sent, and not as another."""
    parcels = [parcel(subject) for _ in range(2)]
    paths = [registered(post(subject, sent), sent) for sent in parcels]
    expect(paths[0] != paths[1], "ids of two parcels differ", paths)
    for path, sent in zip(paths, parcels, strict=True):
        shown = subject.http("GET", path)
        expect(shown.status == 200, "status of a parcel", shown)
        expect(shown.json["id"] == path.rpartition("/")[2], "id shown", shown.body)
        expect(fields_of(shown, sent) == sent, "parcel as shown", shown.body)


# --- refusals ---------------------------------------------------------------


@checks("malformed-body")
def malformed_body(subject: Subject) -> None:
    """A body that is no JSON in UTF-8 gets 400, and the service goes on."""
    good = json.dumps(parcel(subject))
    bodies: list[str | bytes] = [
        "",
        good[: subject.random.randrange(1, len(good))],
        f"{good} {subject.random.word()}",
        subject.random.word(),
        "recipient=A&weight_g=5&express=true",
        str(parcel(subject)),
        b'{"recipient": "\xff\xfe", "weight_g": 5, "express": true}',
        good.encode("utf-16"),
    ]
    for body in bodies:
        reply = post_text(subject, body)
        expect(reply.status == 400, f"status for the body {body[:40]!r}", reply)
    goes_on(subject)


@checks("missing-field")
def missing_field(subject: Subject) -> None:
    """A parcel without one of its fields, or without any, gets 400."""
    whole = parcel(subject)
    for missing in whole:
        sent = {name: value for name, value in whole.items() if name != missing}
        reply = post(subject, sent)
        expect(reply.status == 400, f"status without {missing}", reply)
    reply = post(subject, {})
    expect(reply.status == 400, "status of an empty object", reply)
    goes_on(subject)


@checks("wrong-type")
def wrong_type(subject: Subject) -> None:
    """What is no object, or has a field of another type, gets 400."""
    number, text = subject.random.randrange(2, 9_000), subject.random.word()
    others: dict[str, tuple[Any, ...]] = {
        "recipient": (number, True, None, [text], {"name": text}),
        "weight_g": (str(number), number + 0.5, True, None, [number]),
        "express": ("true", text, 0, 1, None, [True]),
    }
    whole = parcel(subject)
    bodies = [
        {**whole, name: value} for name, values in others.items() for value in values
    ]
    for body in (*bodies, [], [whole], text, number, True, None):
        reply = post(subject, body)
        expect(reply.status == 400, f"status of {json.dumps(body)}", reply)
    goes_on(subject)


def goes_on(subject: Subject) -> None:
    """Expect that a parcel can still be registered."""
    sent = parcel(subject)
    registered(post(subject, sent), sent)


@checks("unknown-id")
def unknown_id(subject: Subject) -> None:
    """An id that was never given gets an enveloped 404, a given one does not."""
    sent = parcel(subject)
    known = registered(post(subject, sent), sent)
    for unknown in (str(subject.random.randrange(10**6, 10**9)), subject.random.word()):
        not_found(subject.http("GET", f"/parcels/{unknown}"))
    shown = subject.http("GET", known)
    expect(shown.status == 200, "status of a known id", shown)


@checks("unknown-route")
def unknown_route(subject: Subject) -> None:
    """A route that does not exist gets an enveloped 404."""
    sent, word = parcel(subject), subject.random.word()
    path = registered(post(subject, sent), sent)
    parcel_id = path.rpartition("/")[2]
    not_found(subject.http("GET", f"/{word}"))
    not_found(subject.http("GET", f"/{word}/{parcel_id}"))
    not_found(subject.http("POST", f"/{word}", json=sent))


def not_found(reply: Reply) -> None:
    """Expect an enveloped 404."""
    expect(reply.status == 404, "status of what is not there", reply)
    enveloped(reply)


def enveloped(reply: Reply) -> None:
    """Expect the bar's error object, with the code that belongs to the status."""
    body = reply.json
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        fail("error is an object", reply.body)
    code, message = error.get("code"), error.get("message")
    status = reply.status or 0
    if status in CODES:
        expect(code == CODES[status], f"code of a {status}", reply.body)
    styled = isinstance(code, str) and CODE_STYLE.fullmatch(code) is not None
    expect(styled, f"code of a {status}", reply.body)
    worded = isinstance(message, str) and bool(message.strip())
    expect(worded, "message is a text", reply.body)


@checks("body-limit")
def body_limit(subject: Subject) -> None:
    """A body of the limit is accepted; one byte more is not, nor are 100 KB.

    Nor is one with more bytes than the limit, but fewer characters.
    """
    sent = parcel(subject)
    registered(post_text(subject, padded(sent, LIMIT_BYTES)), sent)
    for n_bytes in (LIMIT_BYTES + 1, TOO_LARGE_BYTES):
        reply = post_text(subject, padded(parcel(subject), n_bytes))
        expect(reply.status == 413, f"status of {n_bytes} bytes", reply)
    wide = {**parcel(subject), "recipient": "\u00eb" * (TOO_LARGE_BYTES // 2)}
    reply = post_text(subject, json.dumps(wide, ensure_ascii=False))
    expect(reply.status == 413, "status of 50,000 characters of two bytes", reply)
    goes_on(subject)


def padded(sent: Mapping[str, Any], n_bytes: int) -> str:
    """A parcel in so many bytes, most of them blanks."""
    return json.dumps(sent).ljust(n_bytes)


# --- every reply ------------------------------------------------------------


@checks("health")
def health(subject: Subject) -> None:
    """The health route answers that all is well."""
    reply = subject.http("GET", "/health")
    expect(reply.status == 200, "status of /health", reply)
    body = reply.json
    well = isinstance(body, dict) and body.get("status") == "ok"
    expect(well, "health as told", reply.body)


class Asked(NamedTuple):
    """A request and what came of it."""

    what: str
    method: str
    path: str
    reply: Reply


def ask_wrongly(subject: Subject) -> list[Asked]:
    """One request for every way to fail."""
    whole, word = parcel(subject), subject.random.word()
    part = {name: whole[name] for name in ("recipient", "express")}
    put = subject.http("PUT", f"/parcels/{word}", json=whole)
    return [
        to_parcels("a malformed body", post_text(subject, "{")),
        to_parcels("a missing field", post(subject, part)),
        to_parcels("a wrong type", post(subject, {**whole, "weight_g": "5"})),
        get(subject, f"/parcels/{word}"),
        get(subject, f"/{word}"),
        to_parcels("100 KB", post_text(subject, padded(whole, TOO_LARGE_BYTES))),
        Asked("a method that is not served", "PUT", f"/parcels/{word}", put),
        ask_too_deep(subject),
    ]


def get(subject: Subject, path: str) -> Asked:
    """Ask for a path."""
    return Asked(f"GET {path}", "GET", path, subject.http("GET", path))


def to_parcels(what: str, reply: Reply) -> Asked:
    """What was posted to /parcels."""
    return Asked(what, "POST", "/parcels", reply)


def ask_too_deep(subject: Subject) -> Asked:
    """A body on which the JSON parser itself fails, and not by a ValueError.

    It is malformed, so 400 is right; 500 is what the bar says of other faults.
    """
    return to_parcels("a body nested too deeply", post_text(subject, "[" * 40_000))


@checks("nosniff-everywhere")
def nosniff_everywhere(subject: Subject) -> None:
    """Every reply has the header, whoever wrote it."""
    sent = parcel(subject)
    good = post(subject, sent)
    path = registered(good, sent)
    asked = [
        to_parcels("a parcel", good),
        get(subject, path),
        get(subject, "/health"),
        *ask_wrongly(subject),
    ]
    for what, _, _, reply in asked:
        if reply.status is not None:
            value = (reply.header("X-Content-Type-Options") or "").strip().lower()
            expect(value == "nosniff", f"nosniff on the reply to {what}", reply.headers)


@checks("json-errors")
def json_errors(subject: Subject) -> None:
    """Every error reply is the bar's object, typed as JSON, and tells no internals."""
    errors = [
        asked for asked in ask_wrongly(subject) if (asked.reply.status or 0) >= 400
    ]
    expect(bool(errors), "requests that were refused", len(errors))
    for what, _, _, reply in errors:
        kind = (reply.header("Content-Type") or "").partition(";")[0].strip().lower()
        expect(kind == "application/json", f"content type for {what}", reply.headers)
        if reply.status != 404:  # the checks about 404s look into those
            enveloped(reply)
        silent = reply.status != 500 or "recursion" not in reply.body.lower()
        expect(silent, "a reply about our own fault tells of our code", reply.body)


# --- log --------------------------------------------------------------------


class Line(NamedTuple):
    """A line of the request log, without its duration."""

    method: Any
    path: Any
    status: Any


def line_of(asked: Asked) -> Line:
    """The line that a request has to leave."""
    return Line(asked.method, asked.path, asked.reply.status)


def wait_for_lines(subject: Subject, running: Running, n_lines: int) -> None:
    """Give the service time to write so many lines."""
    for _ in range(N_PAUSES):
        if running.output().count("duration_ms") >= n_lines:
            return
        subject.run(*PAUSE)


@checks("request-log")
def request_log(subject: Subject) -> None:
    """Standard output has one line per request, and nothing else, unbuffered."""
    running = subject.start(buffering)
    first, second = parcel(subject), parcel(subject)
    halves = {"wait_s": SLOW_BODY_S}
    path = registered(post(subject, first, halves=halves), first)
    quick_path = registered(post(subject, second), second)
    shown = [get(subject, each) for each in (path, quick_path, "/health")]
    slow, *others = [Line("POST", "/parcels", 200)] * 2
    wanted = [slow, *others, *map(line_of, shown)]
    wait_for_lines(subject, running, len(wanted))
    lines = running.stop("KILL").stdout.splitlines()
    logged = [parse_json(line, "a line of standard output") for line in lines]
    expect(same(wanted, logged), "requests logged", lines)
    posted = [line["duration_ms"] for line in logged if line["method"] == "POST"]
    waited = max(posted)
    in_range = SLOW_BODY_S / 2 <= waited / 1000 <= SLOW_BODY_S + 10
    expect(in_range, f"duration_ms with a body of {SLOW_BODY_S} s", waited)
    expect(min(posted) < waited, "duration_ms of two requests", posted)


@checks("failures-logged")
def failures_logged(subject: Subject) -> None:
    """A request that fails is logged like any other, with the status it got."""
    running = subject.start()
    asked = ask_wrongly(subject)
    within = asked[-1]
    expect(within.reply.status in (400, 500), f"status of {within.what}", within.reply)
    wanted = [line_of(each) for each in asked if each.reply.status is not None]
    wait_for_lines(subject, running, len(wanted))
    lines = running.stop().stdout.splitlines()
    logged = [line for line in map(read_object, lines) if line is not None]
    expect(same(wanted, logged), "failed requests logged", lines)


def read_object(line: str) -> dict[str, Any] | None:
    """A line as an object; None where it is something else."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def same(wanted: Sequence[Line], logged: Sequence[Any]) -> bool:
    """True where the log has these lines in any order, each with a duration."""
    for line in logged:
        took = line.get("duration_ms") if isinstance(line, dict) else None
        if isinstance(took, bool) or not isinstance(took, int | float) or took < 0:
            return False
    seen = [Line(*map(line.get, Line._fields)) for line in logged]
    return sorted(map(repr, wanted)) == sorted(map(repr, seen))


# --- process ----------------------------------------------------------------


@checks("port-honoured")
def port_honoured(subject: Subject) -> None:
    """It listens on 8080 without `PORT`, and beside that on any other with it.

    With the first still there, a second that ignores `PORT` cannot start at all.
    """
    subject.start(on_default_port)
    goes_on(subject)
    subject.start(on_another_port)
    goes_on(subject)


@checks("drains-on-sigterm")
def drains_on_sigterm(subject: Subject) -> None:
    """A request under way at SIGTERM is finished, then the service exits with 0."""
    running = subject.start()
    sent = parcel(subject)
    halves = {"signal": "TERM", "wait_s": 1.5}
    registered(post(subject, sent, halves=halves), sent)
    busy = running.stop(None)
    idle = subject.start().stop(within_s=IDLE_EXIT_S)
    for stopped in (busy, idle):
        expect(not stopped.killed, "the service ends once none is left", stopped)
        expect(stopped.exit == 0, "exit code", stopped)


# --- tests and changelog ----------------------------------------------------


REFUSALS = {
    "a malformed body": 400,
    "a missing field": 400,
    "a wrong type": 400,
    "an unknown id": 404,
    "an unknown route": 404,
    "100 KB": 413,
}


@checks("error-path-tests")
def error_path_tests(subject: Subject) -> None:
    """Some new test fails where refusals are broken, and only refusals."""
    before = statuses(subject)
    kept = {what for what, status in REFUSALS.items() if before[what] == status}
    expect(bool(kept), "refusals that tests could be about", before)

    def breaks_a_refusal(files: Mapping[str, str]) -> bool:
        """True where the mutant answers a refusal otherwise, and nothing else."""
        [(path, text)] = files.items()
        delivered = subject.read(path)
        subject.write(path, text)
        try:
            after = statuses(subject)
        except Failed:
            return False
        finally:
            subject.write(path, delivered)
        changed = {what for what in before if after[what] != before[what]}
        return bool(changed) and changed <= kept

    modules = [path for path in subject.list() if is_module(path)]
    subject.bites(modules, shipped=SHIPPED_TESTS, counts=breaks_a_refusal, limit=8)


def is_module(path: str) -> bool:
    """True for Python that is no test."""
    name = path.rpartition("/")[2]
    is_test = path.startswith("tests/") or name.startswith("test_")
    return name.endswith(".py") and not is_test


def statuses(subject: Subject) -> dict[str, int | None]:
    """Status by request: for each refusal, and for what has to work."""
    running = subject.start(quick)
    whole = {"recipient": "A", "weight_g": 5, "express": True}
    try:
        path = registered(post(subject, whole, timeout_s=5.0), whole)
        requests = {
            "a known id": Get(path),
            "health": Get("/health"),
            "a malformed body": Send("POST", "/parcels", body="{"),
            "a missing field": Send("POST", "/parcels", json={"recipient": "A"}),
            "a wrong type": Send("POST", "/parcels", json={**whole, "weight_g": "5"}),
            "an unknown id": Get("/parcels/999999"),
            "an unknown route": Get("/nothing-here"),
            "100 KB": Send("POST", "/parcels", body=padded(whole, TOO_LARGE_BYTES)),
        }
        sent = [{**request, "timeout_s": 5.0} for request in requests.values()]
        replies = subject.http_many(sent)
    finally:
        running.stop("KILL")
    return {what: reply.status for what, reply in zip(requests, replies, strict=True)}


@checks("changelog")
def changelog(subject: Subject) -> None:
    """New entries stand under Unreleased, one at least naming what it is about."""
    shipped, delivered = (
        re.split(r"(?m)^(?=## 0\.3\.0)", text, maxsplit=1)
        for text in (subject.original("CHANGELOG.md"), subject.read("CHANGELOG.md"))
    )
    if len(delivered) != 2:
        fail("the releases before are still there")
    stay = delivered[1].split() == shipped[1].split()
    expect(stay, "entries of earlier releases stay as they are", delivered[1])
    sections = re.split(r"(?m)^## +", delivered[0])[1:]
    unreleased = [text for text in sections if re.match(r"\[?unreleased\b", text, re.I)]
    expect(len(unreleased) == 1, "sections named Unreleased", len(unreleased))
    entries = re.split(r"(?m)^\s*[-*] +", unreleased[0])[1:]
    named = [entry for entry in entries if re.search(r"`[^`\s][^`]*`", entry)]
    fresh = [entry for entry in named if entry.strip() not in shipped[1]]
    expect(bool(fresh), "entries that name what they are about", unreleased[0])
