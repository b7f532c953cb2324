"""cache-key-namespace: services share a cache, and their keys are as agreed there.

Each round of calls is made in a process of its own. What is in the cache is asked of
its file, and entries age by setting back when they expire.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from evalkit.grader import Call, Checks, Subject, expect
from evalkit.questions import Returned

RECORDS = "desk/records.json"
CACHE = "desk/cache.sqlite3"
ENVIRONMENT = {"FRONTDESK_RECORDS": RECORDS, "FRONTDESK_CACHE": CACHE}
OPEN = "frontdesk.services:open_service"
SERVICES = ("accounts", "billing", "loyalty")
TTL_S = 300
WITHIN_TTL_S = 240
FAR_OFF_S = 9e9
"""Unix time at which nothing that a check wrote has expired."""
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS entries (db INTEGER, key TEXT, value TEXT,"
    " expires_at REAL, PRIMARY KEY (db, key))"
)
Record = dict[str, Any]
Records = dict[str, dict[int, Record]]

checks = Checks(
    {
        "own-record": 1,
        "served-from-cache": 1,
        "entries-expire": 1,
        "changes-seen": 1,
        "unknown-not-remembered": 1,
        "keys-of-accounts": 1,
        "keys-of-billing": 1,
        "keys-of-loyalty": 2,
        "nothing-else-in-cache": 1,
        "evicted-from-outside": 1,
    }
)


class Desk:
    """The services with their files, and what the record store holds."""

    def __init__(self, subject: Subject, n_users: int = 2) -> None:
        self.subject = subject
        self.users = subject.random.sample(range(1, 100_000), n_users)
        self.records: Records = {}
        self.rewrite(self.users)

    def rewrite(self, users: Sequence[int]) -> None:
        """Another program gives all these users new records, and drops the rest."""
        self.records = {
            service: {user: self._record(service) for user in users}
            for service in SERVICES
        }
        self.subject.write(RECORDS, json.dumps(self.records))

    def _record(self, service: str) -> Record:
        drawn = self.subject.random
        number = drawn.randint(1, 10**9)
        name = drawn.word()
        return {
            "accounts": {"name": drawn.text(), "email": f"{name}@{number}.example"},
            "billing": {"plan": name, "balance_cents": number},
            "loyalty": {"points": number},
        }[service]

    def everything(self) -> list[tuple[str, int]]:
        """Each service with each user, in a drawn order."""
        pairs = [(service, user) for service in SERVICES for user in self.users]
        self.subject.random.shuffle(pairs)
        return pairs

    def call(self, service: str, method: str, *args: Any) -> Returned:
        """The answer of a service in a process of its own."""
        return self._call([service], [Call(f"${service}.{method}", *args)])[0]

    def get(self, pairs: Sequence[tuple[str, int]]) -> list[Returned]:
        """The answers of services in one process that is asked for users' records."""
        opened = sorted({service for service, _ in pairs})
        return self._call(
            opened, [Call(f"${service}.get", user) for service, user in pairs]
        )

    def _call(self, opened: Sequence[str], calls: Sequence[Any]) -> list[Returned]:
        opening = [Call(OPEN, service, save=service) for service in opened]
        answers = self.subject.call_many([*opening, *calls], env=ENVIRONMENT)
        for service, answer in zip(opened, answers, strict=False):
            expect(answer.returned, f"{service} opens", answer)
        return list(answers[len(opened) :])

    def expect_records(
        self, pairs: Sequence[tuple[str, int]], wanted: Records, when: str
    ) -> None:
        """In a new process each service returns of each user what is wanted."""
        for (service, user), answer in zip(pairs, self.get(pairs), strict=True):
            right = answer.value == wanted[service][user]
            expect(right, f"record of {user} in {service} {when}", answer.value)

    def sql(self, statement: str, *values: Any) -> list[list[Any]]:
        """Rows that a statement finds in the file of the cache."""
        calls = [
            Call("sqlite3:connect", CACHE, isolation_level=None, save="file"),
            Call("$file.execute", statement, list(values), save="rows"),
            Call("$rows.fetchall"),
        ]
        return self.subject.call_many(calls)[-1].value

    def age(self, by_s: float) -> None:
        """All entries become older."""
        self.sql("UPDATE entries SET expires_at = expires_at - ?", by_s)

    def keys(self) -> list[str]:
        """Keys of all entries, sorted."""
        return [key for (key,) in self.sql("SELECT key FROM entries ORDER BY key")]


def keys_of(services: Sequence[str], users: Sequence[int]) -> list[str]:
    """How the entries of these users are keyed, sorted."""
    return sorted(f"svc:{service}:{user}" for service in services for user in users)


class Change(NamedTuple):
    """A call that changes a record, and what it changes."""

    method: str
    args: list[Any]
    fields: Record


def drawn_change(desk: Desk, service: str, user: int) -> Change:
    """A change of a record as it is in the store."""
    drawn = desk.subject.random
    if service == "accounts":
        email = f"{drawn.word()}@changed.example"
        return Change("change_email", [user, email], {"email": email})
    if service == "billing":
        return Change("settle", [user], {"balance_cents": 0})
    points = drawn.randint(2, 500)
    total = desk.records[service].get(user, {"points": 0})["points"] + points
    return Change("add", [user, points], {"points": total})


def change(desk: Desk, service: str, user: int) -> Returned:
    """The answer to a change of a record."""
    drawn = drawn_change(desk, service, user)
    return desk.call(service, drawn.method, *drawn.args)


# --- what the desk sees -----------------------------------------------------


@checks("own-record")
def own_record(subject: Subject) -> None:
    """Whoever asked before, a service returns its own record of a user.

    That holds for entries which the shipped release left in the file, too.
    """
    desk = Desk(subject, 3)
    desk.sql(SCHEMA)
    for user, left_by in zip(desk.users, SERVICES, strict=True):
        left = json.dumps(desk.records[left_by][user])
        insert = "INSERT INTO entries VALUES (0, ?, ?, ?)"
        desk.sql(insert, f"user:{user}", left, FAR_OFF_S)
    desk.rewrite(desk.users)
    for pair in desk.everything():
        desk.expect_records([pair], desk.records, "at first")
    desk.expect_records(desk.everything(), desk.records, "again")


@checks("served-from-cache")
def served_from_cache(subject: Subject) -> None:
    """A record once read is served from the cache, between those of other services."""
    desk = Desk(subject)
    desk.expect_records(desk.everything(), desk.records, "at first")
    before = desk.records
    desk.rewrite(desk.users)
    desk.expect_records(desk.everything(), before, "once cached")


@checks("entries-expire")
def entries_expire(subject: Subject) -> None:
    """An entry is good for 300 seconds from when it was read, asked for or not."""
    desk = Desk(subject)
    desk.expect_records(desk.everything(), desk.records, "at first")
    before = desk.records
    desk.rewrite(desk.users)
    desk.age(WITHIN_TTL_S)
    desk.expect_records(desk.everything(), before, f"after {WITHIN_TTL_S} s")
    desk.age(TTL_S - WITHIN_TTL_S)
    desk.expect_records(desk.everything(), desk.records, f"after {TTL_S} s")


@checks("changes-seen")
def changes_seen(subject: Subject) -> None:
    """A change is made to the stored record and seen at once; no other entry goes."""
    for service in SERVICES:
        desk = Desk(subject)
        user = desk.users[0]
        desk.expect_records(desk.everything(), desk.records, "at first")
        wanted = copy.deepcopy(desk.records)
        desk.rewrite(desk.users)
        made = drawn_change(desk, service, user)
        answer = desk.call(service, made.method, *made.args)
        expect(answer.returned, f"change in {service}", answer)
        wanted[service][user] = {**desk.records[service][user], **made.fields}
        desk.expect_records(desk.everything(), wanted, f"after a change in {service}")
        desk.records[service][user] |= made.fields
        stored = json.loads(subject.read(RECORDS))
        right = stored == json.loads(json.dumps(desk.records))
        expect(right, f"record store after a change in {service}", stored)
        seen_by_who_asked_before(desk, service, desk.users[1])


def seen_by_who_asked_before(desk: Desk, service: str, user: int) -> None:
    """What a service returned once is no longer what it returns after a change."""
    made = drawn_change(desk, service, user)
    opening = [Call(OPEN, service, save=name) for name in ("reader", "writer")]
    asking = Call("$reader.get", user)
    changing = Call(f"$writer.{made.method}", *made.args)
    *_, answer = desk.subject.call_many(
        [*opening, asking, changing, asking], env=ENVIRONMENT
    )
    wanted = {**desk.records[service][user], **made.fields}
    right = answer.value == wanted
    expect(right, f"{service} that asked before a change", answer.value)


@checks("unknown-not-remembered")
def unknown_not_remembered(subject: Subject) -> None:
    """A user without a record raises UnknownUserError, until there is a record."""
    desk = Desk(subject)
    for service in SERVICES:
        user = subject.random.randint(100_000, 10**9)
        for answer in (desk.call(service, "get", user), change(desk, service, user)):
            unknown = answer.raises("UnknownUserError")
            expect(unknown, f"UnknownUserError in {service}", answer)
        desk.rewrite([user])
        desk.expect_records([(service, user)], desk.records, "once there")


# --- what is agreed about keys ----------------------------------------------


def check_keys_of(subject: Subject, service: str) -> None:
    """A service that is alone leaves one entry per user, keyed as agreed."""
    desk = Desk(subject, 4)
    pairs = [(service, user) for user in desk.users]
    desk.expect_records(pairs, desk.records, "at first")
    wanted = keys_of([service], desk.users)
    expect(desk.keys() == wanted, f"keys of {service}", desk.keys())
    change(desk, service, desk.users[0])
    desk.get(pairs)
    expect(desk.keys() == wanted, f"keys of {service} after a change", desk.keys())


@checks("keys-of-accounts")
def keys_of_accounts(subject: Subject) -> None:
    """Entries of accounts."""
    check_keys_of(subject, "accounts")


@checks("keys-of-billing")
def keys_of_billing(subject: Subject) -> None:
    """Entries of billing."""
    check_keys_of(subject, "billing")


@checks("keys-of-loyalty")
def keys_of_loyalty(subject: Subject) -> None:
    """Entries of loyalty, which had none."""
    check_keys_of(subject, "loyalty")


@checks("nothing-else-in-cache")
def nothing_else_in_cache(subject: Subject) -> None:
    """After all kinds of use the cache holds the entries agreed on and no other."""
    desk = Desk(subject)
    for service in SERVICES:
        desk.get([(service, 0), (service, desk.users[0])])
        change(desk, service, desk.users[0])
    desk.get(desk.everything())
    wanted = keys_of(SERVICES, desk.users)
    expect(desk.keys() == wanted, "keys in the cache", desk.keys())


@checks("evicted-from-outside")
def evicted_from_outside(subject: Subject) -> None:
    """Where an entry is deleted by its key, that record is read anew and no other."""
    desk = Desk(subject)
    desk.expect_records(desk.everything(), desk.records, "at first")
    wanted = copy.deepcopy(desk.records)
    for service in SERVICES:
        desk.rewrite(desk.users)
        (key,) = keys_of([service], desk.users[:1])
        desk.sql("DELETE FROM entries WHERE key = ?", key)
        wanted[service][desk.users[0]] = desk.records[service][desk.users[0]]
        desk.expect_records(desk.everything(), wanted, f"after {key} was deleted")
