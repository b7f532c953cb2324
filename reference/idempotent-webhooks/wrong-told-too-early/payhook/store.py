"""The state: orders and processed deliveries, kept in memory and in a file."""

import json
import os
import threading
from pathlib import Path
from typing import Any

Order = dict[str, Any]


class Store:
    """All orders by id, and the ids of processed deliveries. Safe to use from several threads.

    Every change is in the file when the method that makes it returns.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._orders: dict[str, Order] = {}
        self._processed: set[str] = set()
        if self._path.exists():
            kept = json.loads(self._path.read_text("utf-8"))
            self._orders = kept["orders"]
            self._processed = set(kept.get("processed", ()))

    def add(self, order_id: str, amount_cents: int) -> bool:
        """Keep a new order; False if there is one of that id."""
        with self._lock:
            if order_id in self._orders:
                return False
            self._orders[order_id] = {
                "order_id": order_id,
                "amount_cents": amount_cents,
                "status": "open",
                "paid_cents": 0,
            }
            self._save()
        return True

    def get(self, order_id: str) -> Order:
        """The order as it is now.

        Raises:
            KeyError: There is no such order.
        """
        with self._lock:
            return dict(self._orders[order_id])

    def is_processed(self, delivery_id: str) -> bool:
        """True once a delivery of that id has paid an order."""
        with self._lock:
            return delivery_id in self._processed

    def pay(self, order_id: str, amount_cents: int, delivery_id: str) -> None:
        """Note that an amount was captured for an order, and by which delivery."""
        with self._lock:
            order = self._orders[order_id]
            order["status"] = "paid"
            order["paid_cents"] += amount_cents
            self._processed.add(delivery_id)
            self._save()

    def _save(self) -> None:
        beside = self._path.with_name(self._path.name + ".tmp")
        kept = {"orders": self._orders, "processed": sorted(self._processed)}
        beside.write_text(json.dumps(kept), "utf-8")
        beside.replace(self._path)
