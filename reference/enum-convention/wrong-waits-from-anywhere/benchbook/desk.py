"""Tickets and where their bikes are."""

import sqlite3
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).with_name("schema.sql")
FIRST = "checked-in"
MOVES = {
    "start": (("checked-in", "waiting-for-parts"), "in-work"),
    "wait": (("checked-in", "in-work"), "waiting-for-parts"),
    "finish": (("in-work",), "ready-for-pickup"),
    "hand-out": (("ready-for-pickup",), "handed-out"),
}
"""By command: where a bike may come from, and where it goes."""


class Refused(Exception):
    """What was asked does not fit."""


def open_database(path: str | Path) -> sqlite3.Connection:
    """A connection to the database, which is made where there is none."""
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys = ON")
    db.executescript(SCHEMA.read_text("utf-8"))
    return db


def take(db: sqlite3.Connection, bike: str) -> int:
    """Open a ticket; returns its number."""
    with db:
        statement = "INSERT INTO tickets (bike, status) VALUES (?, ?) RETURNING id"
        [ticket] = db.execute(statement, (bike, FIRST)).fetchone()
        keep(db, ticket, FIRST)
    return ticket


def move(db: sqlite3.Connection, ticket: int, command: str) -> None:
    """Carry out one of the moves."""
    before, after = MOVES[command]
    found = show(db, ticket)
    if found["status"] not in before:
        wanted = " or ".join(before)
        raise Refused(f"ticket {ticket} is {found['status']}, not {wanted}")
    with db:
        db.execute("UPDATE tickets SET status = ? WHERE id = ?", (after, ticket))
        keep(db, ticket, after)


def keep(db: sqlite3.Connection, ticket: int, status: str) -> None:
    """Write down a change."""
    db.execute("INSERT INTO moves (ticket, status) VALUES (?, ?)", (ticket, status))


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
