"""webhook-relay: hooks are delivered, retried with doubling gaps, given up after five.

Waiting is left to the driver, and times are arrivals at the sinks. A gap is
counted from the end of an attempt, so it can be longer than documented on a
busy machine but not shorter: lower bounds are tight, upper ones wide.
"""

from __future__ import annotations

from typing import Any

from evalkit.grader import Checks, Get, Reply, Send, Service, Sink, Subject, expect

relay = Service(("python", "-m", "relay"), env={"PORT": "{port}"})
checks = Checks(
    {
        "accepted": 1,
        "delivered-after-failures": 1,
        "attempts-counted": 1,
        "backoff-grows": 1,
        "dead-after-failing": 1,
        "five-attempts": 1,
        "last-error-reported": 1,
        "unknown-id": 1,
        "concurrent-not-held-up": 1,
    },
    service=relay,
)

SETTLED_WITHIN_S = 5.0
"""Five attempts take 1.5 s; beyond this a hook counts as never settled."""
HUNG_WITHIN_S = 7.0
"""The same with one attempt that ends by its time-out, documented as 2 s."""
NEVER_S = 15.0
REFUSING = "http://127.0.0.1:1"
GAPS_S = (0.1, 0.2, 0.4)
"""From the end of each failed attempt to the next, as documented."""
TIMEOUT_S = 2.0
"""How long an attempt waits for a reply, as documented."""
SLACK_S = 0.9
"""By how much a busy machine may delay what is documented as at once."""
REPLY_AFTER_S = 1.0
"""How long the slow receiver takes, as the README says that some do."""


def payload(subject: Subject) -> dict[str, Any]:
    """A JSON document that no delivery can know beforehand."""
    draw = subject.random
    return {
        "event": draw.word(),
        "note": f"{draw.text(24)} \u00fc",
        "n": draw.randrange(10**9),
        "items": [draw.word(), None, True],
    }


def hook_to(subject: Subject, url: str) -> dict[str, Any]:
    """Body of a hook with a random payload."""
    return {"url": f"{url}/in", "payload": payload(subject)}


def post(subject: Subject, hook: dict[str, Any]) -> str:
    """Post a hook and return its path."""
    return accepted_path(subject.http("POST", "/hooks", json=hook))


def accepted_path(reply: Reply) -> str:
    """Path of an accepted hook."""
    expect(reply.status == 202, "status of an accepted hook", reply)
    hook_id = reply.json["id"]
    expect(isinstance(hook_id, str) and bool(hook_id), "id is a text", hook_id)
    return f"/hooks/{hook_id}"


def settle(
    subject: Subject, path: str, status: str, within_s: float = SETTLED_WITHIN_S
) -> dict[str, Any]:
    """The hook as shown once it has the wanted status."""
    seen = subject.until(
        Get(path), status=200, json={"status": status}, within_s=within_s
    )
    assert isinstance(seen, Reply)
    return seen.json


def during_second(subject: Subject, path: str, sink: Sink) -> dict[str, Any]:
    """The hook as shown while its receiver holds back the second reply."""
    subject.until(sink, calls=2, within_s=SETTLED_WITHIN_S)
    reply = subject.http("GET", path)
    expect(reply.status == 200, "status of a known id", reply)
    shown = reply.json
    expect(shown["status"] == "pending", "a hook with an attempt under way", shown)
    return shown


def failures(subject: Subject) -> list[dict[str, Any]]:
    """Three failing replies: a client error, a server error, and none in time."""
    draw = subject.random
    replies: list[dict[str, Any]] = [
        {"status": draw.choice((400, 403, 404, 409, 410, 422))},
        {"status": draw.choice((500, 502, 503, 504))},
        {"status": 200, "delay_s": NEVER_S},
    ]
    draw.shuffle(replies)
    return replies


@checks("accepted")
def accepted(subject: Subject) -> None:
    """A hook is accepted with an id of its own."""
    sink = subject.sink()
    first = post(subject, hook_to(subject, sink.url))
    second = post(subject, hook_to(subject, sink.url))
    expect(first != second, "ids of two hooks differ", first)


@checks("delivered-after-failures")
def delivered_after_failures(subject: Subject) -> None:
    """Any failure is retried, a hang too; any 2xx ends it, and the payload arrives.

    The hanging attempt ends by its time-out, no sooner and not much later.
    """
    success = {"status": subject.random.choice((201, 202))}
    failing = failures(subject)
    sink = subject.sink([*failing, success])
    hook = hook_to(subject, sink.url)
    settle(subject, post(subject, hook), "delivered", HUNG_WITHIN_S)
    calls = sink.calls()
    last = calls[-1]
    expect(last.method == "POST", "method of a delivery", last.method)
    expect(last.json == hook["payload"], "payload as delivered", last.body)
    expect(len(calls) > len(failing), "a call for every reply", len(calls))
    hung = [reply.get("delay_s") for reply in failing].index(NEVER_S)
    until_next = calls[hung + 1].at_s - calls[hung].at_s
    expect(until_next >= 0.9 * TIMEOUT_S, "waits for a reply", until_next)
    at_most = TIMEOUT_S + GAPS_S[hung] + SLACK_S
    expect(until_next <= at_most, "waits no longer than documented", until_next)


@checks("attempts-counted")
def attempts_counted(subject: Subject) -> None:
    """Three failures and a success are four attempts, in the API and in fact.

    While the second is under way one has ended.
    """
    slow = {"status": 503, "delay_s": REPLY_AFTER_S}
    sink = subject.sink([500, slow, 502, 200])
    path = post(subject, hook_to(subject, sink.url))
    shown = during_second(subject, path, sink)
    expect(shown["attempts"] == 1, "attempts shown during the second", shown)
    shown = settle(subject, path, "delivered")
    expect(shown["attempts"] == 4, "attempts shown", shown)
    expect(len(sink.calls()) == 4, "attempts seen by the receiver", len(sink.calls()))


@checks("backoff-grows")
def backoff_grows(subject: Subject) -> None:
    """The first attempt is made at once; the gaps between four double from 100 ms."""
    sink = subject.sink([503, 503, 503, 200])
    reply = subject.http("POST", "/hooks", json=hook_to(subject, sink.url))
    accepted_path(reply)
    subject.until(sink, calls=4, within_s=SETTLED_WITHIN_S)
    times = [call.at_s for call in sink.calls()]
    waited = times[0] - reply.sent_s
    expect(waited <= SLACK_S, "seconds to the first attempt", waited)
    gaps = [times[n + 1] - times[n] for n in range(3)]
    elapsed = times[3] - times[0]
    expect(0.25 <= elapsed <= 5.0, "seconds from first to fourth attempt", elapsed)
    for gap, documented in zip(gaps, GAPS_S, strict=True):
        expect(gap >= 0.9 * documented, f"a gap of {documented} s", gaps)
    expect(gaps[2] >= 1.5 * gaps[0], "the third gap exceeds the first", gaps)
    expect(gaps[2] < 2 * GAPS_S[2], "the third gap is not twice as long", gaps)


@checks("dead-after-failing")
def dead_after_failing(subject: Subject) -> None:
    """A hook whose receiver always fails ends as dead."""
    sink = subject.sink([500])
    settle(subject, post(subject, hook_to(subject, sink.url)), "dead")
    expect(bool(sink.calls()), "the receiver was called", 0)


@checks("five-attempts")
def five_attempts(subject: Subject) -> None:
    """A dead hook had five attempts, in the API and in fact."""
    sink = subject.sink([500])
    shown = settle(subject, post(subject, hook_to(subject, sink.url)), "dead")
    expect(shown["attempts"] == 5, "attempts shown", shown)
    expect(len(sink.calls()) == 5, "attempts seen by the receiver", len(sink.calls()))


@checks("last-error-reported")
def last_error_reported(subject: Subject) -> None:
    """A dead hook says why, be it a status or a connection that failed.

    So does one that is still pending after a failure; an unfailed one says null.
    """
    slow = subject.sink([503, {"status": 200, "delay_s": REPLY_AFTER_S}])
    pending = during_second(subject, post(subject, hook_to(subject, slow.url)), slow)
    urls = (subject.sink([503]).url, REFUSING)
    paths = [post(subject, hook_to(subject, url)) for url in urls]
    unfailed = post(subject, hook_to(subject, subject.sink().url))
    for shown in (pending, *(settle(subject, path, "dead") for path in paths)):
        error = shown["last_error"]
        reported = isinstance(error, str) and bool(error.strip())
        expect(reported, "last_error is a text", shown)
    shown = settle(subject, unfailed, "delivered")
    expect(shown["last_error"] is None, "last_error without a failure", shown)


@checks("unknown-id")
def unknown_id(subject: Subject) -> None:
    """An unknown id is not found, a known one is."""
    sink = subject.sink()
    known = subject.http("GET", post(subject, hook_to(subject, sink.url)))
    expect(known.status == 200, "status of a known id", known)
    unknown = subject.http("GET", f"/hooks/{subject.random.word(12)}")
    expect(unknown.status == 404, "status of an unknown id", unknown)


@checks("concurrent-not-held-up")
def concurrent_not_held_up(subject: Subject) -> None:
    """Ten hooks to slow receivers arrive at once, whatever another receiver does.

    No slow receiver has answered when the last of the ten hooks arrives, so none
    waited for another; and the failing receiver, which is slow at first, has not
    yet seen the fourth attempt.
    """
    failing = subject.sink([{"status": 500, "delay_s": 0.5}, 500])
    slow = [
        subject.sink([{"status": 200, "delay_s": REPLY_AFTER_S}]) for _ in range(10)
    ]
    post(subject, hook_to(subject, failing.url))
    subject.until(failing, calls=1, within_s=2.0, every_s=0.005)
    hooks = [hook_to(subject, sink.url) for sink in slow]
    replies = subject.http_many([Send("POST", "/hooks", json=hook) for hook in hooks])
    paths = [accepted_path(reply) for reply in replies]
    subject.until(failing, calls=4, within_s=SETTLED_WITHIN_S)
    fourth = failing.calls()[3].at_s
    first_calls = [call for sink in slow for call in sink.calls()[:1]]
    n_before = sum(call.at_s < fourth for call in first_calls)
    expect(n_before == 10, "of ten hooks, arrived before the fourth attempt", n_before)
    for path in paths:
        settle(subject, path, "delivered")
    calls = [call for sink in slow for call in sink.calls()]
    expect(len(calls) == 10, "calls for ten hooks", len(calls))
    received = [call.json for call in calls]
    sent = [hook["payload"] for hook in hooks]
    expect(received == sent, "payloads as received", received)
    times = [call.at_s for call in calls]
    spread = max(times) - min(times)
    expect(spread < REPLY_AFTER_S, "seconds between first and last arrival", spread)
