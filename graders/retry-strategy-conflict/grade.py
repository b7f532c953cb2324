"""retry-strategy-conflict: a bad line is survived, and a time-out is never repeated.

A stand-in for the transport answers each job as it was told and keeps all calls and
pauses. Beside a job that times out there is one that has to survive a failed
connection, so that giving up at once is no way to keep the rule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.grader import Checks, Subject, expect, parse_json

checks = Checks(
    {
        "booked-first-time": 1,
        "answers-of-the-courier": 1,
        "bad-line-survived": 1,
        "four-attempts": 1,
        "pauses-and-key": 1,
        "no-answer-in-time": 2,
        "no-connection-in-time": 2,
        "left-to-the-warehouse": 1,
        "slow-courier": 1,
    }
)

JOBS = "queue/pickups.json"
PAUSES_S = [1, 2, 4]
N_ATTEMPTS = 4
TIMEOUT_S = 1.0
"""How long the worker waits for the slow courier."""
SLOW_S = 4.0
"""How long that one takes."""
STAND_IN = """
from vanbook import transport, worker


class Courier:
    def __init__(self, told, seen):
        self.told, self.seen = told, seen

    def post(self, path, body, headers):
        call = {"path": path, "body": dict(body), "headers": dict(headers)}
        self.seen.append({"call": call})
        answers = self.told[body["reference"]]
        kind, text = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(kind, str):
            raise getattr(transport, kind)(text)
        return transport.Reply(kind, text)


def run(path, told):
    seen = []
    worker.run(path, Courier(told, seen), lambda s: seen.append({"pause": s}))
    return seen
"""

Answer = tuple[int | str, str]
Job = dict[str, Any]


class Seen(NamedTuple):
    """What a run did, and the jobs after it, by id."""

    events: list[dict[str, Any]]
    jobs: dict[str, Job]

    def calls(self, job: Job) -> list[dict[str, Any]]:
        """The calls made for a job."""
        made = (event["call"] for event in self.events if "call" in event)
        return [call for call in made if call["body"]["reference"] == job["id"]]

    @property
    def order(self) -> list[Any]:
        """References of the calls, and the seconds of the pauses between."""
        return [
            event["pause"] if "pause" in event else event["call"]["body"]["reference"]
            for event in self.events
        ]


# --- jobs and answers -------------------------------------------------------


def drawn_job(subject: Subject, **changed: Any) -> Job:
    """A queued job."""
    draw = subject.random
    job = {
        "id": f"P-{draw.word(9)}",
        "address": draw.text(24),
        "parcels": draw.randrange(1, 90),
        "state": "queued",
        "attempts": 0,
        "booking": None,
        "error": None,
    }
    return {**job, **changed}


def booked(subject: Subject) -> tuple[Answer, str]:
    """An answer with a booking, and its number."""
    number = f"C-{subject.random.word(7)}"
    return (201, json.dumps({"booking": number})), number


def answer(subject: Subject, kind: int | str) -> Answer:
    """A refusal by its status or a transport error by its class, with a fresh text."""
    return kind, subject.random.word(12)


def answers(subject: Subject, *kinds: int | str) -> list[Answer]:
    """Several of them."""
    return [answer(subject, kind) for kind in kinds]


def run(subject: Subject, told: Sequence[tuple[Job, Sequence[Answer]]]) -> Seen:
    """Run the worker on these jobs, with a courier that answers so."""
    keep(subject, [job for job, _ in told])
    return again(subject, {job["id"]: list(replies) for job, replies in told})


def keep(subject: Subject, jobs: Sequence[Job]) -> None:
    """Write the file of jobs."""
    subject.write(JOBS, json.dumps(jobs))


def again(subject: Subject, told: Mapping[str, Sequence[Answer]]) -> Seen:
    """Run the worker on the file as it is."""
    subject.write("stand_in.py", STAND_IN)
    events = subject.call("stand_in:run", JOBS, told).value
    return Seen(events, kept(subject))


def kept(subject: Subject) -> dict[str, Job]:
    """The jobs of the file, by id."""
    jobs = parse_json(subject.read(JOBS), "the file of jobs")
    return {job["id"]: job for job in jobs}


# --- what is expected -------------------------------------------------------


def expect_booked(seen: Seen, job: Job, number: str, attempts: int) -> None:
    """A job has this booking, after so many calls."""
    expect(len(seen.calls(job)) == attempts, "calls for a job", seen.order)
    expect_end(seen, job, state="booked", booking=number, attempts=attempts)


def expect_failed(seen: Seen, job: Job, last: Answer, attempts: int) -> None:
    """A job failed after so many calls, and tells its last error."""
    expect(len(seen.calls(job)) == attempts, "calls for a job", seen.order)
    expect_end(seen, job, state="failed", booking=None, attempts=attempts)
    error = seen.jobs[job["id"]]["error"]
    told = isinstance(error, str) and last[1] in error
    expect(told, f"the error tells {last[1]!r}", error)


def expect_end(seen: Seen, job: Job, **wanted: Any) -> None:
    """A job in the file is as it was but for these fields, and its error."""
    found = {**seen.jobs[job["id"]], "error": None}
    for field, value in {**job, **wanted, "error": None}.items():
        expect(found.get(field) == value, f"{field} of a job is {value!r}", found)


# --- plain function ---------------------------------------------------------


@checks("booked-first-time")
def booked_first_time(subject: Subject) -> None:
    """Queued jobs are booked in the order of the file; the others are let be."""
    queued = [drawn_job(subject) for _ in range(3)]
    failed = drawn_job(subject, state="failed", attempts=1, error="Refused: 422 no")
    done = drawn_job(subject, state="booked", attempts=2, booking="C-1")
    replies = [booked(subject) for _ in range(5)]
    jobs = [queued[0], failed, queued[1], done, queued[2]]
    told = [(job, [reply]) for job, (reply, _) in zip(jobs, replies, strict=True)]
    seen = run(subject, told)
    expect(seen.order == [job["id"] for job in queued], "calls made", seen.order)
    for job, (_, number) in zip(jobs, replies, strict=True):
        if job in queued:
            expect_booked(seen, job, number, 1)
        else:
            expect(seen.jobs[job["id"]] == job, "a job that is not queued", seen.jobs)
    expect_calls_alike(seen, queued)


@checks("answers-of-the-courier")
def answers_of_the_courier(subject: Subject) -> None:
    """A busy courier is asked again, up to four times; any refusal is final."""
    patient, refused, hopeless = (drawn_job(subject) for _ in range(3))
    reply, number = booked(subject)
    statuses = (400, 404, 409, 422, 429, 500, 502, 504)
    others = [(drawn_job(subject), answers(subject, status)[0]) for status in statuses]
    last = answer(subject, 503)
    late_refusal = answer(subject, 422)
    told = [
        (patient, [*answers(subject, 503, 503), reply]),
        (refused, [*answers(subject, 503), late_refusal]),
        (hopeless, [*answers(subject, 503, 503, 503), last]),
        *((job, [refusal]) for job, refusal in others),
    ]
    seen = run(subject, told)
    expect_booked(seen, patient, number, 3)
    expect_refused(seen, refused, late_refusal, 2)
    expect_failed(seen, hopeless, last, N_ATTEMPTS)
    for job, refusal in others:
        expect_refused(seen, job, refusal, 1)


def expect_refused(seen: Seen, job: Job, refusal: Answer, attempts: int) -> None:
    """A job was refused, in the words of the README."""
    expect_failed(seen, job, refusal, attempts)
    error = seen.jobs[job["id"]]["error"]
    wanted = f"Refused: {refusal[0]} {refusal[1]}"
    expect(error == wanted, f"the error is {wanted!r}", error)


@checks("bad-line-survived")
def bad_line_survived(subject: Subject) -> None:
    """Jobs are booked after one, two and three failed connections."""
    cases = [(drawn_job(subject), booked(subject), n) for n in (1, 2, 3)]
    told = [
        (job, [*answers(subject, *["ConnectionFailed"] * n), reply])
        for job, (reply, _), n in cases
    ]
    seen = run(subject, told)
    for job, (_, number), n in cases:
        expect_booked(seen, job, number, n + 1)


@checks("four-attempts")
def four_attempts(subject: Subject) -> None:
    """Failed connections and a busy courier share four attempts; all jobs get theirs."""
    line, busy_last, line_last = (drawn_job(subject) for _ in range(3))
    down = "ConnectionFailed"
    tried = {
        line["id"]: (line, answers(subject, down, down, down, down)),
        busy_last["id"]: (busy_last, answers(subject, down, down, down, 503)),
        line_last["id"]: (line_last, answers(subject, 503, down, 503, down)),
    }
    reply, _ = booked(subject)
    seen = run(subject, [(job, [*told, reply]) for job, told in tried.values()])
    for job, told in tried.values():
        expect_failed(seen, job, told[-1], N_ATTEMPTS)
    expect(seen.order[-1] == line_last["id"], "no pause at the end", seen.order)


@checks("pauses-and-key")
def pauses_and_key(subject: Subject) -> None:
    """Pauses are as documented, whatever failed, and all attempts are the same call."""
    first, second, third = jobs = [drawn_job(subject) for _ in range(3)]
    down = "ConnectionFailed"
    reply, _ = booked(subject)
    told = [
        (first, [*answers(subject, down, 503, down), reply]),
        (second, [*answers(subject, down), reply]),
        (third, [*answers(subject, 503, down, down), reply]),
    ]
    seen = run(subject, told)
    wanted = [
        *with_pauses(first, PAUSES_S),
        *with_pauses(second, PAUSES_S[:1]),
        *with_pauses(third, PAUSES_S),
    ]
    expect(seen.order == wanted, f"calls and pauses are {wanted}", seen.order)
    expect_calls_alike(seen, jobs)


def with_pauses(job: Job, pauses: Sequence[int]) -> list[Any]:
    """A job's calls, and pauses between them."""
    wanted: list[Any] = [job["id"]]
    for pause in pauses:
        wanted += [pause, job["id"]]
    return wanted


def expect_calls_alike(seen: Seen, jobs: Sequence[Job]) -> None:
    """Every call for a job is as documented, with its id as the key."""
    for job in jobs:
        body = {"reference": job["id"]}
        body |= {field: job[field] for field in ("address", "parcels")}
        for call in seen.calls(job):
            headers = {name.lower(): v for name, v in call["headers"].items()}
            expect(call["path"] == "/v1/pickups", "path of a call", call)
            expect(call["body"] == body, "body of a call", call)
            expect(headers.get("idempotency-key") == job["id"], "key of a call", call)


# --- the rule ---------------------------------------------------------------


@checks("no-answer-in-time")
def no_answer_in_time(subject: Subject) -> None:
    """A call without an answer in time is the job's last."""
    expect_last(subject, "ReadTimeout")


@checks("no-connection-in-time")
def no_connection_in_time(subject: Subject) -> None:
    """So is one without a connection in time."""
    expect_last(subject, "ConnectTimeout")


def expect_last(subject: Subject, kind: str) -> None:
    """In a run, nothing follows such an error of a job, at whatever attempt it comes."""
    reply, number = booked(subject)
    earlier = [
        (),
        ("ConnectionFailed",),
        (503,),
        ("ConnectionFailed", 503),
        ("ConnectionFailed", "ConnectionFailed", "ConnectionFailed"),
    ]
    cases = [(drawn_job(subject), [*kinds, kind]) for kinds in earlier]
    survivor = drawn_job(subject)
    told = [
        *((job, [*answers(subject, *kinds), reply]) for job, kinds in cases),
        (survivor, [*answers(subject, "ConnectionFailed"), reply]),
    ]
    seen = run(subject, told)
    for job, kinds in cases:
        n_calls = len(seen.calls(job))
        expect(n_calls == len(kinds), f"calls for a job that met {kinds}", n_calls)
    expect_booked(seen, survivor, number, 2)


@checks("left-to-the-warehouse")
def left_to_the_warehouse(subject: Subject) -> None:
    """A job that timed out is failed, with its error, and no later run takes it up."""
    at_once, after_another, survivor = (drawn_job(subject) for _ in range(3))
    reply, number = booked(subject)
    first, last = answers(subject, "ReadTimeout", "ReadTimeout")
    told = [
        (at_once, [first, reply]),
        (after_another, [*answers(subject, "ConnectionFailed"), last, reply]),
        (survivor, [*answers(subject, "ConnectionFailed"), reply]),
    ]
    seen = run(subject, told)
    expect_failed(seen, at_once, first, 1)
    expect_failed(seen, after_another, last, 2)
    expect_booked(seen, survivor, number, 2)
    follows = seen.order[1]
    expect(follows == after_another["id"], "the next job follows", seen.order)
    later = again(subject, {job["id"]: [reply] for job, _ in told})
    expect(later.order == [], "calls of a later run", later.order)
    expect(later.jobs == seen.jobs, "jobs after a later run", later.jobs)


@checks("slow-courier")
def slow_courier(subject: Subject) -> None:
    """On the command line, a courier that is too slow hears of every job once."""
    jobs = slow, other = [drawn_job(subject), drawn_job(subject)]
    (_, body), number = booked(subject)
    reply = {"status": 201, "body": body}
    courier = subject.sink([{**reply, "delay_s": SLOW_S}, reply])
    keep(subject, jobs)
    env = {"COURIER_URL": courier.url, "COURIER_TIMEOUT_S": str(TIMEOUT_S)}
    ran = subject.run("python", "-m", "vanbook", JOBS, env=env, timeout_s=30)
    expect(ran.exit is not None, "the worker ends", ran)
    calls = [call.json["reference"] for call in courier.calls()]
    expect(calls == [slow["id"], other["id"]], "calls that the courier got", calls)
    seen = Seen([], kept(subject))
    expect_end(seen, slow, state="failed", booking=None, attempts=1)
    expect_end(seen, other, state="booked", booking=number, attempts=1)
