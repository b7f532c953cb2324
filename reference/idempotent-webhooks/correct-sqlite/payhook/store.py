"""The state: orders, and what paid them, in an SQLite database."""

import json
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    order_id TEXT PRIMARY KEY,
    amount_cents INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'open',
    paid_cents INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS payments (
    delivery_id TEXT PRIMARY KEY,
    order_id TEXT NOT NULL UNIQUE REFERENCES orders
);
"""
COLUMNS = ("order_id", "amount_cents", "status", "paid_cents")


class Ledger:
    """All orders and payments. Every change is committed when its method returns."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._writing = threading.Lock()
        old = self._set_aside()
        with closing(self._open()) as db, db:
            db.executescript(SCHEMA)
            rows = [tuple(order[name] for name in COLUMNS) for order in old]
            db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)

    def place(self, order_id: str, amount_cents: int) -> bool:
        """Keep a new order; False if there is one of that id."""
        try:
            with self._writing, closing(self._open()) as db, db:
                db.execute(
                    "INSERT INTO orders (order_id, amount_cents) VALUES (?, ?)",
                    (order_id, amount_cents),
                )
        except sqlite3.IntegrityError:
            return False
        return True

    def find(self, order_id: str) -> dict[str, Any] | None:
        """The order as it is now."""
        query = f"SELECT {', '.join(COLUMNS)} FROM orders WHERE order_id = ?"
        with closing(self._open()) as db:
            row = db.execute(query, (order_id,)).fetchone()
        return row and dict(zip(COLUMNS, row, strict=True))

    def has_payment(self, delivery_id: str) -> bool:
        """True once a delivery of that id has paid an order."""
        query = "SELECT 1 FROM payments WHERE delivery_id = ?"
        with closing(self._open()) as db:
            return db.execute(query, (delivery_id,)).fetchone() is not None

    def pay(self, order_id: str, amount_cents: int, delivery_id: str) -> None:
        """Note that an amount was captured for an order, and by which delivery."""
        with self._writing, closing(self._open()) as db, db:
            db.execute("INSERT INTO payments VALUES (?, ?)", (delivery_id, order_id))
            db.execute(
                "UPDATE orders SET status = 'paid', paid_cents = paid_cents + ?"
                " WHERE order_id = ?",
                (amount_cents, order_id),
            )

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=30)

    def _set_aside(self) -> list[dict[str, Any]]:
        """Orders of a file as older versions wrote it, which is moved away."""
        if not self._path.exists() or not self._path.read_bytes().startswith(b"{"):
            return []
        orders = json.loads(self._path.read_text("utf-8"))["orders"]
        self._path.replace(self._path.with_name(self._path.name + ".old"))
        return list(orders.values())
