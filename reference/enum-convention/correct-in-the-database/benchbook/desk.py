"""Tickets and where their bikes are; which ways they can go stands in the database."""

import sqlite3
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).with_name("schema.sql")
MOVES = ("start", "wait", "finish", "hand-out")


class Refused(Exception):
    """What was asked does not fit."""


def open_database(path: str | Path) -> sqlite3.Connection:
    """A connection to the database, which is made where there is none."""
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys = ON")
    db.executescript(SCHEMA.read_text("utf-8"))
    return db


def take(db: sqlite3.Connection, bike: str) -> int | None:
    """Open a ticket; returns its number."""
    with db:
        insert = "INSERT INTO tickets (bike, status) VALUES (?, 'checked-in')"
        return db.execute(insert, (bike,)).lastrowid


def move(db: sqlite3.Connection, ticket: int, command: str) -> None:
    """Carry out one of the moves."""
    with db:
        moved = db.execute(
            "UPDATE tickets SET status = after FROM ways"
            " WHERE id = ? AND command = ? AND before = status",
            (ticket, command),
        )
    if moved.rowcount != 1:
        raise Refused(f"{command} does not fit: {show(db, ticket)}")


def show(db: sqlite3.Connection, ticket: int) -> dict[str, Any]:
    """A ticket as it is now."""
    found = db.execute(
        "SELECT id AS ticket, bike, status, label"
        " FROM tickets JOIN statuses ON code = status WHERE id = ?",
        (ticket,),
    ).fetchone()
    if found is None:
        raise Refused(f"there is no ticket {ticket}")
    return dict(found)


def board(db: sqlite3.Connection) -> dict[str, int]:
    """How many bikes of each status stand in the house."""
    rows = db.execute(
        "SELECT code, count(tickets.id) FROM statuses"
        " LEFT JOIN tickets ON status = code WHERE in_house GROUP BY code"
    )
    return {code: number for code, number in rows}
