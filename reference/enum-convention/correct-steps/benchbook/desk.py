"""Tickets and where their bikes are."""

import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

SCHEMA = Path(__file__).with_name("schema.sql")
FIRST = "checked-in"


class Step(NamedTuple):
    """A way that a command can take a bike."""

    command: str
    before: str
    after: str


STEPS = (
    Step("start", "checked-in", "in-work"),
    Step("start", "waiting-for-parts", "in-work"),
    Step("wait", "in-work", "waiting-for-parts"),
    Step("finish", "in-work", "ready-for-pickup"),
    Step("hand-out", "ready-for-pickup", "handed-out"),
)
MOVES = tuple(dict.fromkeys(step.command for step in STEPS))


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
        insert = "INSERT INTO tickets (bike, status) VALUES (?, ?)"
        ticket = db.execute(insert, (bike, FIRST)).lastrowid
        keep(db, ticket, FIRST)
    return ticket


def move(db: sqlite3.Connection, ticket: int, command: str) -> None:
    """Carry out one of the moves."""
    status = show(db, ticket)["status"]
    for step in STEPS:
        if (step.command, step.before) == (command, status):
            break
    else:
        raise Refused(f"{command}: ticket {ticket} is {status}")
    with db:
        db.execute("UPDATE tickets SET status = ? WHERE id = ?", (step.after, ticket))
        keep(db, ticket, step.after)


def keep(db: sqlite3.Connection, ticket: int | None, status: str) -> None:
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
