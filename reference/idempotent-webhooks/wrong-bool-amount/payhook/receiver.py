"""What happens with a delivery."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from payhook.acquirer import Acquirer, AcquirerError
from payhook.bodies import parse_body
from payhook.store import Store

log = logging.getLogger("payhook.receiver")


class Receiver:
    """Judges deliveries, captures what they authorise and marks orders as paid.

    Deliveries for one order are judged one after the other, from the first look
    until the capture is on file; those for other orders go on meanwhile.
    """

    def __init__(self, store: Store, acquirer: Acquirer) -> None:
        self._store = store
        self._acquirer = acquirer
        self._at_work: set[str] = set()
        self._changed = threading.Condition()

    def receive(self, raw: bytes) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer to a delivery.

        Raises:
            MalformedBody: The delivery is malformed.
        """
        delivery = parse_body(raw, texts=("delivery_id", "order_id"))
        with self._alone(delivery["order_id"]):
            return self._judge(**delivery)

    def _judge(
        self, delivery_id: str, order_id: str, amount_cents: int
    ) -> tuple[int, dict[str, Any]]:
        if self._store.is_processed(delivery_id):
            return 200, {"status": "duplicate"}
        try:
            order = self._store.get(order_id)
        except KeyError:
            return 404, {"error": "there is no such order"}
        if order["status"] == "paid":
            return 200, {"status": "already_paid"}
        if amount_cents != order["amount_cents"]:
            return 422, {"error": "amount_cents is not the amount of the order"}
        try:
            self._acquirer.capture(order_id, amount_cents)
        except AcquirerError as error:
            log.warning("capture for %s failed: %s", order_id, error)
            return 502, {"error": "the acquirer has not captured the amount"}
        self._store.pay(order_id, amount_cents, delivery_id)
        return 200, {"status": "processed"}

    @contextmanager
    def _alone(self, order_id: str) -> Iterator[None]:
        """Wait until nobody is at work on the order, then work on it alone."""
        with self._changed:
            self._changed.wait_for(lambda: order_id not in self._at_work)
            self._at_work.add(order_id)
        try:
            yield
        finally:
            with self._changed:
                self._at_work.remove(order_id)
                self._changed.notify_all()
