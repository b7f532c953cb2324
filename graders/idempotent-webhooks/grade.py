"""idempotent-webhooks: an order is charged once, whatever the provider delivers.

Charges are counted where the money is taken: at the acquirer, which is a sink
that answers as slowly as the README says it does. So every reply, the order's
view and the charges have to tell the same story.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from evalkit.biting import NO_KILL
from evalkit.grader import (
    Checks,
    Reply,
    Send,
    Service,
    Subject,
    expect,
    fail,
)
from evalkit.grader import Sink as Acquirer
from evalkit.questions import TestRun

command = Service(
    ("python", "-m", "payhook"), env={"PORT": "{port}", "DATA_FILE": "kept.json"}
)
quick = Service(command.argv, env=command.env, fork=True)
checks = Checks(
    {
        "single-delivery": 1,
        "sequential-duplicate": 1,
        "order-view": 1,
        "concurrent-identical": 1,
        "replay-after-restart": 1,
        "already-paid": 1,
        "unknown-order": 1,
        "not-json": 1,
        "missing-field": 1,
        "amount-mismatch": 1,
        "mixed-storm": 1,
        "regression-test": 1,
    }
)

CAPTURE_S = 0.05
"""What the README says that a capture takes at the least."""
BURST_CAPTURE_S = 0.1
"""What it takes in a burst, which is no moment on a busy machine."""
BURST_TIMEOUT_S = 30.0
"""Long enough for a service that makes all captures of a burst one by one."""
N_IDENTICAL = 50
N_REFUSED = 5
N_PLACED = 90
N_PAID = 43


class Order(NamedTuple):
    """An order that the shop placed."""

    id: str
    amount_cents: int

    def placed(self) -> dict[str, Any]:
        """As the shop places it."""
        return {"order_id": self.id, "amount_cents": self.amount_cents}

    def paid_by(self, delivery_id: str, **changed: Any) -> dict[str, Any]:
        """A delivery for this order."""
        return {"delivery_id": delivery_id, **self.placed(), **changed}

    def view(self, status: str, paid_cents: int) -> dict[str, Any]:
        """The order as the API shows it."""
        return {**self.placed(), "status": status, "paid_cents": paid_cents}


# --- what the shop and the provider do --------------------------------------


def start(subject: Subject, statuses: Sequence[int] = (200,)) -> Acquirer:
    """Start the service with an acquirer that answers so; the last one repeats."""
    acquirer = subject.sink([{"status": s, "delay_s": CAPTURE_S} for s in statuses])
    subject.start(quick, env={"ACQUIRER_URL": acquirer.url})
    return acquirer


def start_for_a_burst(subject: Subject, status: int = 200, **env: str) -> Acquirer:
    """Start the service as an operator does, on a busy day of the acquirer."""
    acquirer = subject.sink([{"status": status, "delay_s": BURST_CAPTURE_S}])
    subject.start(command, env={"ACQUIRER_URL": acquirer.url, **env})
    return acquirer


def drawn_order(subject: Subject) -> Order:
    """An order that has not been placed."""
    draw = subject.random
    return Order(f"B-{draw.word(10)}", draw.randrange(500, 90_000))


def drawn_id(subject: Subject) -> str:
    """A fresh delivery id."""
    return f"evt_{subject.random.word(12)}"


def place(subject: Subject, order: Order | None = None) -> Order:
    """Place an order, a drawn one by default."""
    order = order or drawn_order(subject)
    reply = subject.http("POST", "/orders", json=order.placed())
    expect(reply.status == 201, "status of a placed order", reply)
    return order


def place_at_once(subject: Subject, n: int) -> list[Order]:
    """Place orders at the same moment."""
    orders = [drawn_order(subject) for _ in range(n)]
    bodies = [order.placed() for order in orders]
    sent = [Send("POST", "/orders", json=body) for body in bodies]
    for reply in subject.http_many(sent):
        expect(reply.status == 201, "status of a placed order", reply)
    return orders


def deliver(subject: Subject, delivery: dict[str, Any]) -> str:
    """Deliver and return the answer's status field."""
    return answer_of(subject.http("POST", "/deliveries", json=delivery))


def answer_of(reply: Reply) -> str:
    """The status field of a delivery that was answered with 200."""
    expect(reply.status == 200, "status of a delivery", reply)
    body = reply.json
    answer = body.get("status") if isinstance(body, dict) else None
    expect(isinstance(answer, str), "the answer names a status", reply.body)
    return str(answer)


def deliver_at_once(
    subject: Subject, deliveries: Sequence[dict[str, Any]]
) -> list[str]:
    """Deliver all at the same moment and return their answers."""
    sent = [
        Send("POST", "/deliveries", json=delivery, timeout_s=BURST_TIMEOUT_S)
        for delivery in deliveries
    ]
    return [answer_of(reply) for reply in subject.http_many(sent)]


def expect_answer(
    subject: Subject, delivery: dict[str, Any], wanted: str, what: str
) -> None:
    """Deliver and expect an answer with 200."""
    answer = deliver(subject, delivery)
    expect(answer == wanted, f"answer to {what}", answer)


def expect_refused(
    subject: Subject,
    sent: dict[str, Any] | bytes,
    status: int,
    what: str,
    *,
    path: str = "/deliveries",
) -> None:
    """Deliver and expect an error; bytes are sent as they are."""
    given: dict[str, Any]
    if isinstance(sent, bytes):
        given = {"body": sent, "headers": {"Content-Type": "application/json"}}
    else:
        given = {"json": sent}
    reply = subject.http("POST", path, **given)
    expect(reply.status == status, f"status of {what}", reply)
    body = reply.json
    error = body.get("error") if isinstance(body, dict) else None
    expect(isinstance(error, str) and bool(error), f"error of {what}", reply.body)


def expect_view(subject: Subject, order: Order, status: str, paid_cents: int) -> None:
    """Expect the order to be shown so; it may show more."""
    reply = subject.http("GET", f"/orders/{order.id}")
    expect(reply.status == 200, "status of an order", reply)
    shown, wanted = reply.json, order.view(status, paid_cents)
    same = isinstance(shown, dict) and shown | wanted == shown
    expect(same, f"order shown as {status}, {paid_cents} cents paid", reply.body)


def expect_charges(acquirer: Acquirer, orders: Sequence[Order]) -> None:
    """Expect these orders to have been charged, each as often as it is named."""
    calls = [
        call.json
        for call in acquirer.calls()
        if call.method == "POST" and call.path == "/captures"
    ]
    charges = Counter((call["order_id"], call["amount_cents"]) for call in calls)
    wanted = Counter((order.id, order.amount_cents) for order in orders)
    expect(charges == wanted, f"charges for {len(orders)} orders", dict(charges))


# --- one delivery after the other -------------------------------------------


@checks("single-delivery")
def single_delivery(subject: Subject) -> None:
    """A delivery is processed: its amount is captured for its order."""
    acquirer = start(subject)
    orders = [place(subject), place(subject)]
    for order in orders:
        delivery = order.paid_by(drawn_id(subject))
        expect_answer(subject, delivery, "processed", "a delivery")
    expect_charges(acquirer, orders)


@checks("sequential-duplicate")
def sequential_duplicate(subject: Subject) -> None:
    """What failed at the acquirer is processed when it is repeated, then no more."""
    acquirer = start(subject, [subject.random.choice((402, 500, 503)), 200])
    order = place(subject)
    delivery = order.paid_by(drawn_id(subject))
    expect_refused(subject, delivery, 502, "a failed capture")
    expect_view(subject, order, "open", 0)
    expect_answer(subject, delivery, "processed", "it when it is repeated")
    for _ in range(2):
        expect_answer(subject, delivery, "duplicate", "a processed delivery")
    expect_charges(acquirer, [order, order])


@checks("order-view")
def order_view(subject: Subject) -> None:
    """An order is shown as open, then as paid; an unknown one is not found."""
    start(subject)
    order = place(subject)
    expect_view(subject, order, "open", 0)
    deliver(subject, order.paid_by(drawn_id(subject)))
    expect_view(subject, order, "paid", order.amount_cents)
    unknown = subject.http("GET", f"/orders/{drawn_order(subject).id}")
    expect(unknown.status == 404, "status of an unknown order", unknown)


@checks("already-paid")
def already_paid(subject: Subject) -> None:
    """Another delivery for a paid order charges nothing, whatever its amount."""
    acquirer = start(subject)
    order = place(subject)
    first, second, third = (drawn_id(subject) for _ in range(3))
    expect_answer(subject, order.paid_by(first), "processed", "a delivery")
    another = order.paid_by(second)
    for _ in range(2):  # it was not processed, so that it is judged anew
        expect_answer(subject, another, "already_paid", "another one for its order")
    other_amount = order.paid_by(third, amount_cents=order.amount_cents + 1)
    expect_answer(subject, other_amount, "already_paid", "one of another amount")
    expect_answer(subject, order.paid_by(first), "duplicate", "the first one again")
    expect_view(subject, order, "paid", order.amount_cents)
    expect_charges(acquirer, [order])


@checks("replay-after-restart")
def replay_after_restart(subject: Subject) -> None:
    """Deliveries are duplicates after the service was stopped, and after it died."""
    acquirer = subject.sink([{"status": 200, "delay_s": CAPTURE_S}])
    service = subject.start(command, env={"ACQUIRER_URL": acquirer.url})
    processed: list[tuple[Order, dict[str, Any]]] = []
    for signal in ("TERM", "KILL"):
        order = place(subject)
        processed.append((order, order.paid_by(drawn_id(subject))))
        expect_answer(subject, processed[-1][1], "processed", "a delivery")
        service.restart(signal=signal)
        for order, delivery in processed:
            expect_answer(subject, delivery, "duplicate", f"a replay after {signal}")
            expect_view(subject, order, "paid", order.amount_cents)
    expect_charges(acquirer, [order for order, _ in processed])


# --- what is refused --------------------------------------------------------


@checks("unknown-order")
def unknown_order(subject: Subject) -> None:
    """An unknown order is not found, and the delivery counts once it is placed."""
    acquirer = start(subject)
    order = drawn_order(subject)
    delivery = order.paid_by(drawn_id(subject))
    for _ in range(2):
        expect_refused(subject, delivery, 404, "a delivery for an unknown order")
    expect_charges(acquirer, [])
    place(subject, order)
    expect_answer(subject, delivery, "processed", "it once the order is placed")
    expect_charges(acquirer, [order])


@checks("not-json")
def not_json(subject: Subject) -> None:
    """What is no JSON object in UTF-8 is refused, by either route that takes one."""
    acquirer = start(subject)
    order = place(subject)
    text = f'{{"delivery_id": "evt", "order_id": "{order.id}", "amount_cents": '
    head, amount = text.encode(), str(order.amount_cents).encode()
    bodies = {
        "an empty body": b"",
        "a cut body": head + amount,
        "a form": b"delivery_id=evt&order_id=" + order.id.encode(),
        "bytes that are no UTF-8": head.replace(b"evt", b"evt\xff") + amount + b"}",
        "a list": b"[" + head + amount + b"}]",
        "a text": b'"' + order.id.encode() + b'"',
        "null": b"null",
        "JSON in UTF-16": (head + amount + b"}").decode().encode("utf-16"),
    }
    for path in ("/deliveries", "/orders"):
        for what, body in bodies.items():
            expect_refused(subject, body, 400, f"{what} at {path}", path=path)
    lives_on(subject, acquirer, order)


@checks("missing-field")
def missing_field(subject: Subject) -> None:
    """A field that is missing or no such value is refused, and nothing is charged."""
    acquirer = start(subject)
    order = place(subject)
    wrong: dict[str, list[Any]] = {
        "delivery_id": [None, "", 17, ["evt"]],
        "order_id": [None, "", 17, [order.id]],
        "amount_cents": [
            *(None, True, str(order.amount_cents), 0, -order.amount_cents, 49.5)
        ],
    }
    for name, values in wrong.items():
        delivery = order.paid_by(drawn_id(subject))
        without = {key: delivery[key] for key in delivery if key != name}
        expect_refused(subject, without, 400, f"a delivery without {name}")
        for value in values:
            refused = delivery | {name: value}
            expect_refused(subject, refused, 400, f"a delivery with {name}={value!r}")
        new = drawn_order(subject).placed()
        for value in values if name in new else ():
            what = f"an order with {name}={value!r}"
            expect_refused(subject, new | {name: value}, 400, what, path="/orders")
    lives_on(subject, acquirer, order)


@checks("amount-mismatch")
def amount_mismatch(subject: Subject) -> None:
    """Another amount than the order's charges nothing, be it more or less.

    The same delivery with the right amount does.
    """
    acquirer = start(subject)
    order = place(subject)
    delivery_id = drawn_id(subject)
    for amount in (order.amount_cents + 1, order.amount_cents - 1, 1):
        delivery = order.paid_by(delivery_id, amount_cents=amount)
        expect_refused(subject, delivery, 422, "a delivery of another amount")
    lives_on(subject, acquirer, order, delivery_id)


def lives_on(
    subject: Subject, acquirer: Acquirer, order: Order, delivery_id: str = ""
) -> None:
    """Expect that nothing happened to the order yet, and that it can be paid.

    With an id that was refused before, the delivery has to be judged anew.
    """
    expect_charges(acquirer, [])
    expect_view(subject, order, "open", 0)
    delivery = order.paid_by(delivery_id or drawn_id(subject))
    expect_answer(subject, delivery, "processed", "a delivery as it should be")
    expect_charges(acquirer, [order])


# --- at the same moment -----------------------------------------------------


@checks("concurrent-identical")
def concurrent_identical(subject: Subject) -> None:
    """Fifty copies of a delivery at once charge the order once.

    Where the acquirer refuses, no copy may be told that the delivery is processed:
    the provider would stop to send it.
    """
    acquirer = start_for_a_burst(subject)
    order = place(subject)
    delivery = order.paid_by(drawn_id(subject))
    answers = Counter(deliver_at_once(subject, [delivery] * N_IDENTICAL))
    wanted = {"processed": 1, "duplicate": N_IDENTICAL - 1}
    expect(answers == wanted, "answers to fifty copies at once", dict(answers))
    expect_view(subject, order, "paid", order.amount_cents)
    expect_charges(acquirer, [order])
    start_for_a_burst(subject, 503, DATA_FILE="refused.json")
    place(subject, order)
    copies = [Send("POST", "/deliveries", json=delivery)] * N_REFUSED
    statuses = [reply.status for reply in subject.http_many(copies)]
    expect(set(statuses) == {502}, "status of copies that are not captured", statuses)
    expect_view(subject, order, "open", 0)


@checks("mixed-storm")
def mixed_storm(subject: Subject) -> None:
    """Thirty deliveries for three orders, and one for forty others, at once.

    Two of the three orders have ten copies of one delivery, the third has ten
    deliveries with ids of their own. Every order is charged once.
    """
    acquirer = start_for_a_burst(subject)
    orders = place_at_once(subject, N_PLACED)[:N_PAID]
    ids = [[drawn_id(subject)] * 10 for _ in orders[:2]]
    ids.append([drawn_id(subject) for _ in range(10)])
    ids += [[drawn_id(subject)] for _ in orders[3:]]
    storm = [
        (order, order.paid_by(delivery_id))
        for order, of_order in zip(orders, ids, strict=True)
        for delivery_id in of_order
    ]
    subject.random.shuffle(storm)
    answers = deliver_at_once(subject, [delivery for _, delivery in storm])
    given = Counter(
        (order.id, answer) for (order, _), answer in zip(storm, answers, strict=True)
    )
    wanted = Counter({(order.id, "processed"): 1 for order in orders})
    for order, rest in zip(
        orders, ("duplicate", "duplicate", "already_paid"), strict=False
    ):
        wanted[order.id, rest] = 9
    wrong = {key: n for key, n in given.items() if n != wanted[key]}
    expect(given == wanted, "one answer is processed, of other copies none", wrong)
    for order in orders:
        expect_view(subject, order, "paid", order.amount_cents)
    expect_charges(acquirer, orders)


# --- the regression test ----------------------------------------------------

SHIPPED = (
    "payhook/__init__.py",
    "payhook/__main__.py",
    "payhook/acquirer.py",
    "payhook/server.py",
    "payhook/store.py",
)
MENDED = '''
"""What happens with a delivery."""

import json
import threading
from pathlib import Path

from payhook.acquirer import AcquirerError


class Receiver:
    def __init__(self, store, acquirer):
        self._store, self._acquirer = store, acquirer
        self._file = Path(f"{store._path}.processed")
        self._processed = set()
        if self._file.exists():
            lines = self._file.read_text("utf-8").splitlines()
            self._processed = {json.loads(line) for line in lines}
        self._locks, self._claims = {}, {}

    def receive(self, raw):
        try:
            delivery = json.loads(raw.decode("utf-8"))
            names = ("delivery_id", "order_id", "amount_cents")
            delivery_id, order_id, amount = (delivery[name] for name in names)
        except (ValueError, KeyError, TypeError):
            return 400, {"error": "the body is malformed"}
        texts = all(isinstance(text, str) and text for text in (delivery_id, order_id))
        if not texts or type(amount) is not int or amount < 1:
            return 400, {"error": "the body is malformed"}
        return self._judge(delivery_id, order_id, amount)

    def _judge(self, delivery_id, order_id, amount):
        if delivery_id in self._processed:
            return 200, {"status": "duplicate"}
        try:
            order = self._store.get(order_id)
        except KeyError:
            return 404, {"error": "there is no such order"}
        if order["status"] == "paid":
            return 200, {"status": "already_paid"}
        if order["amount_cents"] != amount:
            return 422, {"error": "the amount is not that of the order"}
        try:
            self._acquirer.capture(order_id, amount)
        except AcquirerError:
            return 502, {"error": "the acquirer has not captured the amount"}
        self._store.pay(order_id, amount)
        self._processed.add(delivery_id)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(delivery_id) + "\\n")
        return 200, {"status": "processed"}
'''
"""The shipped receiver: it keeps all promises but for what comes at one moment."""
JUDGED = "        return self._judge(delivery_id, order_id, amount)\n"
WAITING = """
        with self._locks.setdefault(order_id, threading.Lock()):
            return self._judge(delivery_id, order_id, amount)
"""
CLAIMING = """
        claim = (delivery_id,)
        first = self._claims.setdefault(order_id, claim)
        if first is not claim:
            status = "duplicate" if first == claim else "already_paid"
            return 200, {"status": status}
        try:
            return self._judge(delivery_id, order_id, amount)
        finally:
            del self._claims[order_id]
"""
"""Two ways of closing the race: a copy waits for the first, or is told at once."""


@checks("regression-test")
def regression_test(subject: Subject) -> None:
    """A delivered test fails where the race is put back, and only there.

    What is put back is the shipped package with the rest mended, so that a test
    of something else does not count; and with the race closed as well the test
    passes, so that it does not merely dislike how the rest is mended.
    """
    own = subject.tests()
    expect(own.passed, "the delivered tests pass", own.error or own.failed or own.ran)
    racy = tests_with(subject, MENDED)
    bitten = {
        name
        for name, mro in racy.failed.items()
        if name in own.ran and not set(mro) & set(NO_KILL)
    }
    expect(bool(bitten), "a test fails with the race put back", racy.failed or "none")
    for closing in (WAITING, CLAIMING):
        closed = tests_with(subject, MENDED.replace(JUDGED, closing))
        if bitten & (set(closed.ran) - set(closed.failed)):
            return
    fail("none of them passes with the race closed", sorted(bitten))


def tests_with(subject: Subject, receiver: str) -> TestRun:
    """Run the delivered tests on the shipped package with another receiver."""
    files = {path: subject.original(path) for path in SHIPPED}
    return subject.tests({**files, "payhook/receiver.py": receiver})
