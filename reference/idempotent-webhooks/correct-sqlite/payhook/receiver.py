"""What happens with a delivery."""

import logging
import threading
from typing import Any

from payhook.acquirer import Acquirer, AcquirerError
from payhook.errors import Refused
from payhook.store import Ledger

N_DRAWERS = 256
"""Two orders seldom share one; if they do, one waits for the other."""

log = logging.getLogger("payhook.receiver")


class Desk:
    """Judges deliveries, those for one order one after the other."""

    def __init__(self, ledger: Ledger, acquirer: Acquirer) -> None:
        self._ledger = ledger
        self._acquirer = acquirer
        self._drawers = [threading.Lock() for _ in range(N_DRAWERS)]

    def take(self, delivery: dict[str, Any]) -> str:
        """Status of an accepted delivery.

        Raises:
            Refused: The delivery is not accepted.
        """
        with self._drawers[hash(delivery["order_id"]) % N_DRAWERS]:
            return self._judge(delivery)

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
