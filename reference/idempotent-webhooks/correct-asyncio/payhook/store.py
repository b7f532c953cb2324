"""The state: a journal of orders and payments, one JSON object a line."""

import json
import os
from pathlib import Path
from typing import Any


class Malformed(Exception):
    """A body is not what it should be."""


def fields_of(raw: bytes, *names: str) -> list[Any]:
    """Values of a body's fields: amounts are integers, the others texts."""
    try:
        body = json.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise Malformed(error) from None
    if not isinstance(body, dict):
        raise Malformed("no object")
    for name in names:
        value = body.get(name)
        if name == "amount_cents":
            good = isinstance(value, int) and not isinstance(value, bool) and value > 0
        else:
            good = isinstance(value, str) and value != ""
        if not good:
            raise Malformed(name)
    return [body[name] for name in names]


class Journal:
    """Reads a journal and appends to it; used from one thread."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self.orders: dict[str, dict[str, Any]] = {}
        self.processed: dict[str, str] = {}
        self.locks: dict[str, Any] = {}
        if self._path.exists():
            self._read()

    def place(self, order_id: str, amount_cents: int) -> tuple[int, dict[str, Any]]:
        """Answer to a new order."""
        if order_id in self.orders:
            return 409, {"error": "the order exists"}
        order = {
            "order_id": order_id,
            "amount_cents": amount_cents,
            "status": "open",
            "paid_cents": 0,
        }
        self._append({"placed": order})
        return 201, order

    def pay(self, order_id: str, amount_cents: int, delivery_id: str) -> None:
        """Note what was captured for an order, and by which delivery."""
        self._append({"paid": [order_id, amount_cents, delivery_id]})

    def _append(self, entry: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._apply(entry)

    def _apply(self, entry: dict[str, Any]) -> None:
        if "placed" in entry:
            self.orders[entry["placed"]["order_id"]] = entry["placed"]
            return
        order_id, amount_cents, delivery_id = entry["paid"]
        self.orders[order_id].update(status="paid", paid_cents=amount_cents)
        self.processed[delivery_id] = order_id

    def _read(self) -> None:
        text = self._path.read_text("utf-8")
        lines = text.splitlines(keepends=True)
        if lines and "orders" in json.loads(lines[0]):
            old = json.loads(lines[0])["orders"].values()
            lines = [json.dumps({"placed": order}) + "\n" for order in old]
            self._rewrite(lines)
        elif lines and not lines[-1].endswith("\n"):
            lines.pop()
            self._rewrite(lines)
        for line in lines:
            self._apply(json.loads(line))

    def _rewrite(self, lines: list[str]) -> None:
        beside = self._path.with_name(self._path.name + ".new")
        beside.write_text("".join(lines), "utf-8")
        beside.replace(self._path)
