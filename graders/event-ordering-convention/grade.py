"""event-ordering-convention: mail and charge for every crate, and handlers that keep nothing.

Stand-ins for the services keep what they are told. What the delivered code keeps
between events is seen by walking all that its modules and its bus refer to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.grader import Checks, Subject, expect
from evalkit.questions import Ran, SinkCall

checks = Checks(
    {
        "mail-and-charge": 2,
        "every-crate": 1,
        "away-at-first": 1,
        "points-as-before": 1,
        "repeats-let-through": 2,
        "reference-of-the-event": 2,
        "nothing-kept": 1,
        "no-locks": 1,
        "on-the-command-line": 1,
    }
)

POINTS = 20
SUBJECT = "Your vegetables are on their way"
SHIPPED_LOCKS = 1
"""The points handler has one."""
N_TOGETHER = 2
STAND_IN = """
import builtins
import gc
import itertools
import logging
import os
import sys
import threading
import types
from collections import Counter

from crates.app import build

MEETING_S = 3.0


class Services:
    def __init__(self):
        self.told, self.away = [], ()
        self.meetings, self.n_met = {}, 0

    def _take(self, name, **told):
        self.told.append({"name": name, "away": name in self.away, **told})
        if name in self.away:
            raise ConnectionError("away")
        if name in self.meetings:
            try:
                self.meetings[name].wait(MEETING_S)
                self.n_met += 1
            except threading.BrokenBarrierError:
                pass

    def send(self, to, subject, text, reference=""):
        self._take("send", to=to, subject=subject, text=text, reference=reference)

    def charge(self, customer, cents, reference=""):
        self._take("charge", customer=customer, cents=cents, reference=reference)

    def add(self, customer, points):
        self._take("add", customer=customer, points=points)


def deliver(bus, services, step):
    services.told, services.away = [], step["away"]
    raised = []
    try:
        bus.deliver(dict(step["event"]))
    except Exception as error:
        raised = [kind.__name__ for kind in type(error).__mro__]
    return {"told": services.told, "raised": raised}


def play(steps):
    services = Services()
    bus = build(services, services, services)
    return [deliver(bus, services, step) for step in steps]


def kept(warm_up, steps):
    services = Services()
    bus = build(services, services, services)
    for step in warm_up:
        deliver(bus, services, step)
    first, changes = reached(bus), []
    for step in steps:
        deliver(bus, services, step)
        now = reached(bus)
        changes.append(sorted(map(str, (now - first) + (first - now)))[:8])
    return changes


def together(events):
    services = Services()
    bus = build(services, services, services)
    for name in ("send", "charge"):
        services.meetings[name] = threading.Barrier(len(events))
    threads = [threading.Thread(target=bus.deliver, args=(dict(e),)) for e in events]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"n_met": services.n_met, "told": services.told}


def n_locks():
    services = Services()
    return sum(n for (kind, _), n in reached(build(services, services, services)).items()
               if kind in LOCKS)


LOCKS = {"_thread.lock", "_thread.RLock"}
LOCKS |= {"asyncio.locks.Lock", "asyncio.locks.Semaphore", "asyncio.locks.Condition"}
LOCKS |= {"multiprocessing.synchronize." + n for n in ("Lock", "RLock", "Semaphore")}
PLAIN = (str, bytes, bytearray, int, float, complex, type(None), itertools.count)
SIZED = (dict, list, tuple, set, frozenset)
FOREIGN = (logging.Filterer, logging.Manager, types.CodeType, types.FrameType, Services)


def reached(bus):
    ours = {
        name: module
        for name, module in list(sys.modules.items())
        if (getattr(module, "__file__", None) or "").startswith(os.getcwd() + os.sep)
        and name != __name__
    }

    def is_foreign(found):
        if isinstance(found, FOREIGN) or found is builtins.__dict__:
            return True
        if isinstance(found, types.ModuleType):
            return found.__name__ not in ours
        if isinstance(found, (type, types.FunctionType)):
            return found.__module__ not in ours
        return "importlib" in type(found).__module__

    counted, seen, waiting = Counter(), {}, [bus, *ours.values()]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or is_foreign(found):
            continue
        seen[id(found)] = found
        kind = type(found).__module__ + "." + type(found).__qualname__
        shown = None
        if isinstance(found, PLAIN):
            shown = repr(found)
        elif isinstance(found, SIZED):
            shown = len(found)
        counted[kind, shown] += 1
        if not isinstance(found, PLAIN):
            waiting += gc.get_referents(found)
    return counted
"""

Event = dict[str, Any]
Told = dict[str, Any]


class Step(NamedTuple):
    """One delivery, and the methods of services that are away at the time."""

    event: Event
    away: Sequence[str] = ()


class Delivery(NamedTuple):
    """What a delivery came to: what the services were told, and what it raised."""

    told: list[Told]
    raised: list[str]

    def taken(self, name: str) -> list[Told]:
        """What a service took by this method."""
        taken = (told for told in self.told if not told["away"])
        return [bare(told) for told in taken if told["name"] == name]

    def references(self) -> dict[str, Any]:
        """References of mail and charge, those that were not taken included."""
        names = [told["name"] for told in self.told]
        expect(sorted(names) == ["charge", "send"], "a mail and a charge", self.told)
        return {told["name"]: told["reference"] for told in self.told}


def bare(told: Told) -> Told:
    """What was told, but for the reference."""
    return {
        name: value
        for name, value in told.items()
        if name not in {"name", "away", "reference"}
    }


# --- events and deliveries --------------------------------------------------


def packed_events(subject: Subject, n: int) -> list[Event]:
    """Events of packed crates; their ids are much alike."""
    drawn = subject.random
    start = drawn.randrange(10**6, 10**7) * 100
    return [
        {
            "id": f"ev-{start + i}",
            "kind": "crate.packed",
            "crate": f"C-{drawn.randrange(100, 1000)}",
            "customer": f"k-{drawn.randrange(10, 10**6)}",
            "email": f"{drawn.word()}@{drawn.word()}.example",
            "cents": drawn.randrange(100, 10_000),
        }
        for i in range(n)
    ]


def twins(subject: Subject, n: int) -> list[Event]:
    """Events that differ in nothing but their ids."""
    events = packed_events(subject, n)
    return [{**events[0], "id": event["id"]} for event in events]


def returned_events(subject: Subject, n: int) -> list[Event]:
    """Events of crates that came back."""
    fields = ("id", "crate", "customer")
    return [
        {"kind": "crate.returned", **{field: event[field] for field in fields}}
        for event in packed_events(subject, n)
    ]


def other_event(subject: Subject) -> Event:
    """An event of a kind that is passed over."""
    return {**packed_events(subject, 1)[0], "kind": f"crate.{subject.random.word()}"}


def mail_of(event: Event) -> Told:
    """The mail about a packed crate."""
    text = f"Crate {event['crate']} was packed for you today."
    return {"to": event["email"], "subject": SUBJECT, "text": text}


def charge_of(event: Event) -> Told:
    """The charge for a packed crate."""
    return {"customer": event["customer"], "cents": event["cents"]}


def points_of(event: Event) -> Told:
    """The points for a crate that came back."""
    return {"customer": event["customer"], "points": POINTS}


def play(subject: Subject, steps: Sequence[Step]) -> list[Delivery]:
    """Deliver in one process."""
    answers = stand_in(subject, "play", as_data(steps))
    return [Delivery(**answer) for answer in answers]


def stand_in(subject: Subject, name: str, *args: Any) -> Any:
    """What a function of the stand-in returns."""
    subject.write("stand_in.py", STAND_IN)
    return subject.call(f"stand_in:{name}", *args, timeout_s=30).value


def as_data(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Steps as plain values."""
    return [{"event": step.event, "away": list(step.away)} for step in steps]


def expect_told(delivery: Delivery, event: Event) -> None:
    """A packed crate was mailed and charged, once each, and nothing else was done."""
    expect(not delivery.raised, "the delivery raises nothing", delivery.raised)
    mails, charges = delivery.taken("send"), delivery.taken("charge")
    expect(mails == [mail_of(event)], f"a mail for {event}", mails)
    expect(charges == [charge_of(event)], f"a charge for {event}", charges)
    expect(not delivery.taken("add"), "no points for it", delivery.told)


# --- plain function ---------------------------------------------------------


@checks("mail-and-charge")
def mail_and_charge(subject: Subject) -> None:
    """A packed crate brings one mail and one charge."""
    [event] = packed_events(subject, 1)
    [delivery] = play(subject, [Step(event)])
    expect_told(delivery, event)


@checks("every-crate")
def every_crate(subject: Subject) -> None:
    """So does every other, in any order, and those that are alike but for the id."""
    events = packed_events(subject, 8) + twins(subject, 4)
    subject.random.shuffle(events)
    other = other_event(subject)
    last, *deliveries = reversed(play(subject, [*map(Step, events), Step(other)]))
    for delivery, event in zip(reversed(deliveries), events, strict=True):
        expect_told(delivery, event)
    expect(not (last.told or last.raised), "another kind is passed over", last)


@checks("away-at-first")
def away_at_first(subject: Subject) -> None:
    """What was away at first is told when the event comes again; the other at once."""
    ways = (("send",), ("charge",), ("send", "charge"))
    for away, event in zip(ways, packed_events(subject, 3), strict=True):
        first, again = play(subject, [Step(event, away), Step(event)])
        expect("DeliveryError" in first.raised, "DeliveryError", first.raised)
        expect(not again.raised, "nothing is raised the second time", again.raised)
        for name, wanted in (("send", mail_of(event)), ("charge", charge_of(event))):
            taken = (first if name not in away else again).taken(name)
            expect(taken == [wanted], f"{name} with {away} away at first", taken)


@checks("points-as-before")
def points_as_before(subject: Subject) -> None:
    """A crate that came back brings points once, however often the event comes."""
    events = returned_events(subject, 4)
    away, *others = events
    order = [*others, *others, others[0]]
    subject.random.shuffle(order)
    steps = [Step(away, ("add",)), *map(Step, order), Step(away), Step(away)]
    first, *deliveries = play(subject, steps)
    expect("DeliveryError" in first.raised, "DeliveryError", first.raised)
    taken = [told for delivery in deliveries for told in delivery.taken("add")]
    wanted = [points_of(event) for event in events]
    expect(as_sorted(taken) == as_sorted(wanted), f"points are {wanted}", taken)


def as_sorted(told: Iterable[Told]) -> list[str]:
    """What was told, the same whatever the order: services are told by four threads."""
    return sorted(json.dumps(one, sort_keys=True) for one in told)


# --- the rule ---------------------------------------------------------------


@checks("repeats-let-through")
def repeats_let_through(subject: Subject) -> None:
    """Both services are told again whenever an event comes again, whatever the order."""
    events = packed_events(subject, 3)
    at_once, later, after_failure = events
    order = events + subject.random.choices(events, k=6)
    subject.random.shuffle(order)
    failing = Step(after_failure, ("charge",))
    steps = [Step(at_once), Step(at_once), Step(later), failing, *map(Step, order)]
    deliveries = play(subject, steps)
    for step, delivery in zip(steps, deliveries, strict=True):
        if step is failing:
            mails = delivery.taken("send")
            expect(mails == [mail_of(step.event)], "a mail without a charge", mails)
        else:
            expect_told(delivery, step.event)
    told = stand_in(subject, "together", [at_once] * N_TOGETHER)["told"]
    expect(
        len(told) == 2 * N_TOGETHER,
        "calls for repeats at the same time",
        as_sorted(told),
    )


@checks("reference-of-the-event")
def reference_of_the_event(subject: Subject) -> None:
    """References are the same whenever an event comes, and others for any other."""
    events = [*twins(subject, 4), *packed_events(subject, 3)]
    steps = [Step(event, ("send", "charge")) for event in events]
    again = [*events]
    subject.random.shuffle(again)
    steps += map(Step, again)
    seen: dict[str, list[dict[str, Any]]] = {}
    for step, delivery in zip(steps, play(subject, steps), strict=True):
        seen.setdefault(step.event["id"], []).append(delivery.references())
    for name in ("send", "charge"):
        found = [[each[name] for each in seen[event["id"]]] for event in events]
        expect_own_references(name, found)
    posted = [over_http(subject, events[-3:], hash_seed) for hash_seed in "12"]
    for name in ("send", "charge"):
        expect_own_references(
            name, list(zip(*(told[name] for told in posted), strict=True))
        )


def expect_own_references(name: str, by_event: Sequence[Sequence[Any]]) -> None:
    """Each event has one reference, and no two have the same."""
    for references in by_event:
        usable = all(isinstance(each, str) and each for each in references)
        expect(usable, f"each {name} has a reference", references)
        expect(len(set(references)) == 1, f"{name}: one an event", references)
    n_different = len({references[0] for references in by_event})
    expect(n_different == len(by_event), f"{name}: each event its own", by_event)


def over_http(
    subject: Subject, events: Sequence[Event], hash_seed: str
) -> dict[str, list[Any]]:
    """References that the services get of each event, from a process of its own."""
    ran, told = run(subject, events, env={"PYTHONHASHSEED": hash_seed})
    expect(ran.exit == 0, "exit code", ran)
    return {
        "send": [reference_in(told["send"], mail_of(event)) for event in events],
        "charge": [reference_in(told["charge"], charge_of(event)) for event in events],
    }


def reference_in(calls: Sequence[SinkCall], wanted: Told) -> Any:
    """Reference of the only call that says this."""
    found = [body for body in map(body_of, calls) if bare(body) == wanted]
    expect(len(found) == 1, f"one call with {wanted}", found)
    return found[0].get("reference")


@checks("nothing-kept")
def nothing_kept(subject: Subject) -> None:
    """No module, instance or closure is other than before, whatever was delivered."""
    events = packed_events(subject, 6)
    warm, warm_away, *others = events
    warm_up = [Step(warm), Step(warm_away, ("send", "charge")), Step(warm_away)]
    first, second, away, last = others
    steps = [
        Step(first),
        Step(first),
        Step(second),
        Step(away, ("send",)),
        Step(last, ("charge",)),
        Step(away),
        Step(second),
    ]
    changes = stand_in(subject, "kept", as_data(warm_up), as_data(steps))
    for changed in changes:
        expect(not changed, "nothing is kept", changed)


@checks("no-locks")
def no_locks(subject: Subject) -> None:
    """There are no more locks than as shipped, and two events need not wait for each other."""
    n = stand_in(subject, "n_locks")
    expect(n <= SHIPPED_LOCKS, f"locks are {SHIPPED_LOCKS}", n)
    n_met = stand_in(subject, "together", packed_events(subject, N_TOGETHER))["n_met"]
    expect(n_met == 2 * N_TOGETHER, "calls made at the same time", n_met)


@checks("on-the-command-line")
def on_the_command_line(subject: Subject) -> None:
    """Events piped in reach the services, repeats included; a failed one is named."""
    packed, returned = packed_events(subject, 8), returned_events(subject, 2)
    between = [*packed[2:], *returned, other_event(subject)]
    subject.random.shuffle(between)
    # Events are worked on side by side: a repeat comes long after what it repeats, so
    # that a memory of events is seen even where it is written late.
    events = [*packed[:2], *between, *packed[:2]]
    ran, told = run(subject, events)
    expect(ran.exit == 0, "exit code", ran)
    for name, path, wanted in (
        ("send", "/mails", [mail_of(event) for event in [*packed, *packed[:2]]]),
        ("charge", "/charges", [charge_of(event) for event in [*packed, *packed[:2]]]),
        ("add", "/points", [points_of(event) for event in returned]),
    ):
        expect_posted(told[name], path, wanted)
    [failing] = packed_events(subject, 1)
    ran, told = run(subject, [failing], statuses={"send": 500})
    expect(ran.exit == 1, "exit code with a failed event", ran)
    expect(failing["id"] in ran.stderr, "the failed event is named", ran.stderr)
    expect_posted(told["charge"], "/charges", [charge_of(failing)])


def expect_posted(calls: Sequence[SinkCall], path: str, wanted: list[Told]) -> None:
    """A service got these bodies, in any order."""
    for call in calls:
        expect(call.path == path, f"a call of {path}", call.path)
    bodies = as_sorted(bare(body_of(call)) for call in calls)
    expect(bodies == as_sorted(wanted), f"{path} gets {wanted}", bodies)


def body_of(call: SinkCall) -> Told:
    """The object that a service got."""
    body = call.json
    expect(isinstance(body, dict), "a JSON object is posted", body)
    return body


def run(
    subject: Subject,
    events: Sequence[Event],
    *,
    statuses: Mapping[str, int] | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[Ran, dict[str, tuple[SinkCall, ...]]]:
    """Pipe events into a process of its own; what it did, and what services got."""
    names = {"send": "MAILER_URL", "charge": "BILLING_URL", "add": "POINTS_URL"}
    sinks = {name: subject.sink([(statuses or {}).get(name, 200)]) for name in names}
    urls = {variable: sinks[name].url for name, variable in names.items()}
    lines = "".join(f"{json.dumps(event)}\n" for event in events)
    ran = subject.run(
        "python", "-m", "crates", stdin=lines, env={**urls, **(env or {})}, timeout_s=30
    )
    return ran, {name: sink.calls() for name, sink in sinks.items()}
