"""What happens with a delivery."""

import logging
import threading
from typing import Any

from payhook.acquirer import Acquirer, AcquirerError
from payhook.errors import Refused
from payhook.store import Ledger

log = logging.getLogger("payhook.receiver")


class Desk:
    """Judges deliveries. Whoever comes first for an order works on it; the others
    wait until it is done and then look at what came of it."""

    def __init__(self, ledger: Ledger, acquirer: Acquirer) -> None:
        self._ledger = ledger
        self._acquirer = acquirer
        self._changed = threading.Condition()
        self._at_work: set[str] = set()

    def take(self, delivery: dict[str, Any]) -> str:
        """Status of an accepted delivery.

        Raises:
            Refused: The delivery is not accepted.
        """
        order_id = delivery["order_id"]
        with self._changed:
            self._changed.wait_for(lambda: order_id not in self._at_work)
            self._at_work.add(order_id)
        try:
            return self._judge(delivery)
        finally:
            with self._changed:
                self._at_work.discard(order_id)
                self._changed.notify_all()

    def _judge(self, delivery: dict[str, Any]) -> str:
        order_id, cents = delivery["order_id"], delivery["amount_cents"]
        if self._ledger.has_payment(delivery["delivery_id"]):
            return "duplicate"
        order = self._ledger.find(order_id)
        if order is None:
            raise Refused(404, "unknown order")
        if order["status"] == "paid":
            return "already_paid"
        if order["amount_cents"] != cents:
            raise Refused(422, f"the order's amount is {order['amount_cents']}")
        try:
            self._acquirer.capture(order_id, cents)
        except AcquirerError as error:
            log.warning("capture for %s failed: %s", order_id, error)
            raise Refused(502, "not captured") from error
        self._ledger.pay(order_id, cents, delivery["delivery_id"])
        return "processed"
