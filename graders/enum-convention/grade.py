"""enum-convention: a new status works as the others do, and is spelled as they are.

Commands run one after the other in one process, each as a command line of its own,
and the tables are read between them. Whatever is asked about the way of the bikes
holds for any spelling; three checks are about the spelling alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from evalkit.grader import Checks, Subject, expect, parse_json

checks = Checks(
    {
        "the-usual-way": 1,
        "waits-and-resumes": 1,
        "refused-moves": 1,
        "in-the-house": 1,
        "older-databases": 1,
        "stored-as": 2,
        "answered-as": 2,
        "moves-kept-as": 1,
    }
)

DATABASE = "counter/book.db"
PATIENCE_S = 30
"""For a list of commands, each of which may wait for the disk."""
SCHEMA = "benchbook/schema.sql"
CODE = "waiting-for-parts"
LABEL = "Waiting for parts"
LABELS = {
    "checked-in": "Checked in",
    "in-work": "In work",
    "ready-for-pickup": "Ready for pickup",
    "handed-out": "Handed out",
}
WAY = (("start", "in-work"), ("finish", "ready-for-pickup"), ("hand-out", "handed-out"))
TO_BE_WAITING = ("start", "wait")
MOVES = ("start", "wait", "finish", "hand-out")
STAND_IN = """
import contextlib
import io
import os
import runpy
import sqlite3
import sys


def run(database, asked):
    os.makedirs(os.path.dirname(database), exist_ok=True)
    os.environ["BENCHBOOK_DB"] = database
    return [rows(database, a) if isinstance(a, str) else command(a) for a in asked]


def rows(database, statement):
    with contextlib.closing(sqlite3.connect(database)) as db:
        return db.execute(statement).fetchall()


def made(database, schema, bikes):
    os.makedirs(os.path.dirname(database), exist_ok=True)
    with contextlib.closing(sqlite3.connect(database)) as db, db:
        db.executescript(schema)
        for bike, status in bikes:
            ticket = "INSERT INTO tickets (bike, status) VALUES (?, ?)"
            kept = "INSERT INTO moves (ticket, status) VALUES (?, ?)"
            db.execute(kept, (db.execute(ticket, (bike, status)).lastrowid, status))


def command(argv):
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["benchbook", *map(str, argv)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_module("benchbook", run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as left:
            code = left.code or 0
            if isinstance(code, str):
                print(code, file=sys.stderr)
                code = 1
    return [code, out.getvalue(), err.getvalue()]
"""


class Done(NamedTuple):
    """What a command did."""

    exit: int
    out: str
    err: str


class Desk:
    """The delivered program with a database."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        subject.write("stand_in.py", STAND_IN)

    def ask(self, *asked: str | Sequence[str | int]) -> list[Any]:
        """Run commands, and read rows where a statement stands between them."""
        answer = self.subject.call(
            "stand_in:run", DATABASE, list(asked), timeout_s=PATIENCE_S
        )
        return answer.value

    def do(self, *commands: Sequence[str | int]) -> list[Done]:
        """Run commands that fit."""
        done = [Done(*answer) for answer in self.ask(*commands)]
        for command, each in zip(commands, done, strict=True):
            expect(each.exit == 0, f"exit of {command}", each)
        return done

    def take(self, *ways: Sequence[str]) -> list[int]:
        """Open tickets, one for each way, and let their bikes go it."""
        bikes = [self.subject.random.text(14) for _ in ways]
        opened = self.do(*(["take", bike] for bike in bikes))
        tickets = [parse_json(each.out, "a ticket's number") for each in opened]
        for ticket in tickets:
            expect(type(ticket) is int, "a ticket's number", ticket)
        moves = [
            [name, ticket]
            for ticket, way in zip(tickets, ways, strict=True)
            for name in way
        ]
        self.do(*moves)
        return tickets

    def show(self, ticket: int) -> dict[str, Any]:
        """A ticket as the program shows it."""
        found = parse_json(self.do(["show", ticket])[0].out, "what show prints")
        expect(isinstance(found, dict), "show prints an object", found)
        return found

    def board(self) -> dict[str, int]:
        """The board as the program prints it."""
        found = parse_json(self.do(["board"])[0].out, "what board prints")
        expect(isinstance(found, dict), "board prints an object", found)
        return found

    def rows(self, statement: str) -> list[Any]:
        """Rows of the tables."""
        return self.ask(statement)[0]

    def kept(self, ticket: int) -> list[str]:
        """Codes of a ticket's moves, oldest first."""
        statement = f"SELECT status FROM moves WHERE ticket = {ticket} ORDER BY id"  # noqa: S608 - a number
        return [status for [status] in self.rows(statement)]


# --- the way of the bikes ---------------------------------------------------


@checks("the-usual-way")
def the_usual_way(subject: Subject) -> None:
    """Bikes that never wait go through the house as before."""
    desk = Desk(subject)
    bike = subject.random.text(20)
    ticket = parse_json(desk.do(["take", bike])[0].out, "a ticket's number")
    seen = [desk.show(ticket)]
    for name, _ in WAY:
        desk.do([name, ticket])
        seen.append(desk.show(ticket))
    wanted = [
        {"ticket": ticket, "bike": bike, "status": code, "label": label}
        for code, label in LABELS.items()
    ]
    expect(seen == wanted, f"show tells {wanted}", seen)
    expect(desk.kept(ticket) == list(LABELS), "moves kept", desk.kept(ticket))
    desk.take((), ("start",), ("start",), ("start", "finish"))
    board = desk.board()
    wanted_board = {"checked-in": 1, "in-work": 2, "ready-for-pickup": 1}
    found = {code: board.get(code) for code in wanted_board}
    expect(found == wanted_board, f"the board tells {wanted_board}", board)
    expect("handed-out" not in board, "bikes handed out are not in the house", board)


@checks("waits-and-resumes")
def waits_and_resumes(subject: Subject) -> None:
    """A bike in work waits, again and again if need be, and comes through all the same."""
    desk = Desk(subject)
    [ticket] = desk.take(TO_BE_WAITING)
    rounds = subject.random.randint(2, 4)
    for n in range(1, rounds + 1):
        waiting = desk.show(ticket)
        expect(waiting["status"] not in LABELS, "a status of its own", waiting)
        expect(waiting["label"] == LABEL, f"its label is {LABEL!r}", waiting)
        desk.do(["start", ticket])
        working = desk.show(ticket)
        expect(working["status"] == "in-work", "it is in work again", working)
        desk.do(["wait", ticket] if n < rounds else ["finish", ticket])
    desk.do(["hand-out", ticket])
    expect(desk.show(ticket)["status"] == "handed-out", "it comes through")


@checks("refused-moves")
def refused_moves(subject: Subject) -> None:
    """A move that does not fit where the bike is changes nothing and exits with 1."""
    desk = Desk(subject)
    way = [name for name, _ in WAY]
    fitting = {
        (): ("start",),
        ("start",): ("wait", "finish"),
        TO_BE_WAITING: ("start",),
        ("start", "finish"): ("hand-out",),
        tuple(way): (),
    }
    tickets = desk.take(*fitting)
    commands: list[list[str | int]] = [
        [name, ticket]
        for ticket, fits in zip(tickets, fitting.values(), strict=True)
        for name in MOVES
        if name not in fits
    ]
    nobody = max(tickets) + subject.random.randint(1, 1000)
    commands += [[name, nobody] for name in ("show", *MOVES)]
    state = ("SELECT * FROM tickets ORDER BY id", "SELECT * FROM moves ORDER BY id")
    before = desk.ask(*state)
    for command, answer in zip(commands, desk.ask(*commands), strict=True):
        done = Done(*answer)
        expect(done.exit == 1, f"exit of {command}", done)
        expect(bool(done.err.strip()), f"{command} says why", done)
    after = desk.ask(*state)
    expect(after == before, "refused moves change nothing", after)


@checks("in-the-house")
def in_the_house(subject: Subject) -> None:
    """The board counts bikes that wait, under the status that they have."""
    desk = Desk(subject)
    n = subject.random.randint(2, 4)
    tickets = desk.take(*[TO_BE_WAITING] * n, ("start",), ())
    status = desk.show(tickets[0])["status"]
    board = desk.board()
    wanted = {"checked-in": 1, "in-work": 1, "ready-for-pickup": 0, status: n}
    expect(board == wanted, f"the board tells {wanted}", board)
    desk.do(*(["start", ticket] for ticket in tickets[:n]))
    wanted = {**wanted, "in-work": n + 1, status: 0}
    later = desk.board()
    expect(later == wanted, f"later it tells {wanted}", later)


@checks("older-databases")
def older_databases(subject: Subject) -> None:
    """Bikes of a database that was made before can wait, and its screens show it."""
    desk = Desk(subject)
    bikes = [(subject.random.text(12), code) for code in LABELS for _ in range(2)]
    made = subject.call("stand_in:made", DATABASE, subject.original(SCHEMA), bikes)
    expect(made.returned, "the database is made", made)
    screen = (
        "SELECT bike, label FROM tickets"
        " JOIN statuses ON code = status ORDER BY tickets.id"
    )
    in_work = [n for n, (_, code) in enumerate(bikes, 1) if code == "in-work"]
    desk.do(["wait", in_work[0]])
    wanted = [[bike, LABELS[code]] for bike, code in bikes]
    wanted[in_work[0] - 1][1] = LABEL
    found = desk.rows(screen)
    expect(found == wanted, f"the screen shows {wanted}", found)
    desk.do(["start", in_work[0]], ["finish", in_work[0]], ["finish", in_work[1]])
    status = desk.show(in_work[0])["status"]
    expect(status == "ready-for-pickup", "it comes through", status)


# --- the spelling -----------------------------------------------------------


@checks("stored-as")
def stored_as(subject: Subject) -> None:
    """A ticket's status in the database is the label's words with hyphens."""
    desk = Desk(subject)
    desk.take(TO_BE_WAITING, ("start",), TO_BE_WAITING)
    found = desk.rows("SELECT status FROM tickets ORDER BY id")
    wanted = [[CODE], ["in-work"], [CODE]]
    expect(found == wanted, f"statuses stored are {wanted}", found)
    codes = desk.rows("SELECT code, label FROM statuses")
    known = dict(codes)
    wanted_codes = {**LABELS, CODE: LABEL}
    expect(known == wanted_codes, f"the table has {wanted_codes}", codes)


@checks("answered-as")
def answered_as(subject: Subject) -> None:
    """So it is where the program prints it."""
    desk = Desk(subject)
    [ticket] = desk.take(TO_BE_WAITING)
    shown, board = desk.show(ticket), desk.board()
    expect(shown["status"] == CODE, f"show tells {CODE}", shown)
    others = sorted(board.keys() - LABELS.keys() - {CODE})
    expect(not others, f"the board has no other new status than {CODE}", others)


@checks("moves-kept-as")
def moves_kept_as(subject: Subject) -> None:
    """And in the rows about the way a bike went."""
    desk = Desk(subject)
    [ticket] = desk.take((*TO_BE_WAITING, *TO_BE_WAITING, "start", "finish"))
    waits = ["in-work", CODE]
    wanted = ["checked-in", *waits, *waits, "in-work", "ready-for-pickup"]
    found = desk.kept(ticket)
    expect(found == wanted, f"moves kept are {json.dumps(wanted)}", found)
