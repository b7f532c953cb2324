"""What happens with a delivery."""

import asyncio
import logging
from typing import Any

from payhook.acquirer import Acquirer, AcquirerError
from payhook.store import Journal, fields_of

log = logging.getLogger("payhook.receiver")


async def receive(
    raw: bytes, journal: Journal, acquirer: Acquirer
) -> tuple[int, dict[str, Any]]:
    """Answer to a delivery; those for one order are taken one by one."""
    names = ("delivery_id", "order_id", "amount_cents")
    delivery_id, order_id, amount_cents = fields_of(raw, *names)
    if delivery_id in journal.processed:
        return 200, {"status": "duplicate"}
    if order_id not in journal.orders:
        return 404, {"error": "no such order"}
    async with journal.locks.setdefault(order_id, asyncio.Lock()):
        if delivery_id in journal.processed:
            return 200, {"status": "duplicate"}
        order = journal.orders[order_id]
        if order["status"] == "paid":
            return 200, {"status": "already_paid"}
        if order["amount_cents"] != amount_cents:
            return 422, {"error": "the amounts differ"}
        try:
            await asyncio.to_thread(acquirer.capture, order_id, amount_cents)
        except AcquirerError as error:
            log.warning("capture for %s failed: %s", order_id, error)
            return 502, {"error": str(error)}
        journal.pay(order_id, amount_cents, delivery_id)
        return 200, {"status": "processed"}
