"""Receipts by kind and request id, in `settled.sqlite` in the data directory."""

import functools
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

Pay = Callable[[str, int, str], dict]


def settled_once(kind: str) -> Callable[[Pay], Pay]:
    """Let a function pay a request once; a retry gets the first receipt."""

    def decorate(pay: Pay) -> Pay:
        @functools.wraps(pay)
        def settle(party: str, cents: int, request_id: str) -> dict:
            with closing(_open()) as db:
                db.execute("BEGIN IMMEDIATE")
                row = db.execute(
                    "SELECT receipt FROM settled WHERE kind = ? AND request_id = ?",
                    (kind, request_id),
                ).fetchone()
                if row:
                    return json.loads(row[0])
                receipt = pay(party, cents, request_id)
                db.execute(
                    "INSERT INTO settled VALUES (?, ?, ?)",
                    (kind, request_id, json.dumps(receipt)),
                )
                db.execute("COMMIT")
                return receipt

        return settle

    return decorate


def _open() -> sqlite3.Connection:
    folder = Path(os.environ.get("PAYMENTS_DATA", "data"))
    folder.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(folder / "settled.sqlite", timeout=120, isolation_level=None)
    db.execute(
        "CREATE TABLE IF NOT EXISTS settled"
        " (kind TEXT, request_id TEXT, receipt TEXT, PRIMARY KEY (kind, request_id))"
    )
    return db
