"""webhook-relay: hooks are delivered, retried with doubling gaps, given up after five.

Waiting is left to the driver, and times are arrivals at the sinks. A gap is
counted from the end of an attempt, so it can be longer than documented on a
busy machine but not shorter: lower bounds are tight, upper ones wide.
"""

from __future__ import annotations

from typing import Any

from evalkit.grader import Checks, Get, Reply, Send, Service, Subject, expect

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
    """Any failure is retried, a hang too; any 2xx ends it, and the payload arrives."""
    success = {"status": subject.random.choice((201, 202))}
    sink = subject.sink([*failures(subject), success])
    hook = hook_to(subject, sink.url)
    settle(subject, post(subject, hook), "delivered", HUNG_WITHIN_S)
    last = sink.calls()[-1]
    expect(last.method == "POST", "method of a delivery", last.method)
    expect(last.json == hook["payload"], "payload as delivered", last.body)


@checks("attempts-counted")
def attempts_counted(subject: Subject) -> None:
    """Three failures and a success are four attempts, in the API and in fact."""
    sink = subject.sink([500, 503, 502, 200])
    shown = settle(subject, post(subject, hook_to(subject, sink.url)), "delivered")
    expect(shown["attempts"] == 4, "attempts shown", shown)
    expect(len(sink.calls()) == 4, "attempts seen by the receiver", len(sink.calls()))


@checks("backoff-grows")
def backoff_grows(subject: Subject) -> None:
    """The gaps between four attempts double from 100 ms."""
    sink = subject.sink([503, 503, 503, 200])
    post(subject, hook_to(subject, sink.url))
    subject.until(sink, calls=4, within_s=SETTLED_WITHIN_S)
    times = [call.at_s for call in sink.calls()]
    gaps = [times[n + 1] - times[n] for n in range(3)]
    elapsed = times[3] - times[0]
    expect(0.25 <= elapsed <= 5.0, "seconds from first to fourth attempt", elapsed)
    for gap, documented in zip(gaps, (0.1, 0.2, 0.4), strict=False):
        expect(gap >= 0.9 * documented, f"a gap of {documented} s", gaps)
    expect(gaps[2] >= 1.5 * gaps[0], "the third gap exceeds the first", gaps)
    expect(gaps[2] < 2 * 0.4, "the third gap is not twice as long", gaps)


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
    """A dead hook says why, be it a status or a connection that failed."""
    sink = subject.sink([503])
    paths = [post(subject, hook_to(subject, url)) for url in (sink.url, REFUSING)]
    for path in paths:
        shown = settle(subject, path, "dead")
        error = shown["last_error"]
        reported = isinstance(error, str) and bool(error.strip())
        expect(reported, "last_error is a text", shown)


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
