"""error-propagation-boundary: a parcel's 503 comes from the service's own error.

What reaches the handler is observed while the delivered service answers a request;
no function of it is looked up by name. Databases are real files, taken away, locked
or damaged by a module that a check writes into its own copy.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from evalkit.grader import (
    Call,
    Checks,
    Reply,
    Running,
    Service,
    Subject,
    expect,
    parse_json,
)

HOUSE_ERROR = "ServiceUnavailableError"
HANDLERS = "waybill.handlers"
HANDLER = "waybill.handlers.parcels"
REPOSITORY = "waybill.repository"
DATABASE = "graded.db"
ARRIVALS = "arrivals.jsonl"

SCHEMA = """
CREATE TABLE depot (code TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE parcel (number TEXT PRIMARY KEY, weight_g INTEGER NOT NULL);
CREATE TABLE scan (number TEXT NOT NULL, depot TEXT NOT NULL, at INTEGER NOT NULL);
"""

LAB = """
import os, sqlite3, urllib.error, urllib.request

def execute(database, statements):
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA synchronous = OFF")
    for statement, values in statements:
        connection.execute(statement, values)
    connection.commit()
    connection.close()

def move(source, target):
    os.rename(source, target)

def get_while_locked(database, url):
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=8) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
    finally:
        connection.close()
"""

OBSERVED = f"""
import json, os, runpy, sys, threading

NOTES = os.path.abspath("{ARRIVALS}")

def kinds(error):
    return [kind.__module__ + ":" + kind.__qualname__ for kind in type(error).__mro__]

def chain(error):
    while error.__cause__ is not None:
        error = error.__cause__
        yield kinds(error)

def name_of(traceback):
    return str(traceback.tb_frame.f_globals.get("__name__"))

def is_handler(name):
    return (name + ".").startswith("{HANDLERS}.")

def on_event(frame, event, given):
    if event == "exception" and not is_handler(name_of(given[2].tb_next or given[2])):
        last = given[2]
        while last.tb_next is not None:
            last = last.tb_next
        told = {{
            "kinds": kinds(given[1]),
            "raised_in": name_of(last),
            "causes": list(chain(given[1])),
        }}
        with open(NOTES, "a") as notes:
            notes.write(json.dumps(told) + "\\n")
    return on_event

def on_call(frame, event, given):
    return on_event if is_handler(str(frame.f_globals.get("__name__"))) else None

threading.settrace(on_call)
sys.settrace(on_call)
runpy.run_module("waybill", run_name="__main__", alter_sys=True)
"""
"""Starts the service, and tells of each exception that another layer lets through
to code of a handler."""

ENVIRONMENT = {"PORT": "{port}", "WAYBILL_DB": DATABASE}
plain = Service(("python", "-m", "waybill"), env=ENVIRONMENT, fork=True)
observed = Service(("python", "-c", OBSERVED), env=ENVIRONMENT)

checks = Checks(
    {
        "found-and-unknown": 1,
        "outage-is-503": 1,
        "outage-body": 1,
        "faults-stay-500": 1,
        "handler-imports": 1,
        "service-raises": 2,
        "house-error": 2,
        "cause-chained": 1,
    },
    service=plain,
)


class Arrival(msgspec.Struct, frozen=True):
    """An exception that came to a handler; classes as `module:name`, own one first."""

    kinds: tuple[str, ...]
    raised_in: str
    causes: tuple[tuple[str, ...], ...]


class Parcel(msgspec.Struct, frozen=True):
    """A parcel in the database, and what its route answers."""

    number: str
    depot: str
    body: dict[str, Any]

    @property
    def path(self) -> str:
        """Its route."""
        return f"/parcels/{self.number}"


# --- a database that is there, away, or damaged -----------------------------


def stock(subject: Subject) -> Parcel:
    """Write a database with a parcel and two depots; return the parcel."""
    number = f"WB-{subject.random.randint(10_000, 99_999)}"
    other = f"{number}0"
    depots = [subject.random.word(3).upper(), subject.random.word(4).upper()]
    weight_g = subject.random.randint(100, 30_000)
    days = sorted(subject.random.sample(range(1, 29), 2))
    minute = subject.random.randint(10, 59)
    epoch_s = [1_769_904_000 + (day - 1) * 86_400 + minute * 60 for day in days]
    scans = list(zip(depots, epoch_s, strict=True))
    subject.write("lab.py", LAB)
    rows: list[tuple[str, Sequence[Any]]] = [
        *((statement, ()) for statement in SCHEMA.split(";") if statement.strip()),
        *(("INSERT INTO depot VALUES (?, ?)", (code, f"{code}!")) for code in depots),
        ("INSERT INTO parcel VALUES (?, ?)", (number, weight_g)),
        ("INSERT INTO parcel VALUES (?, ?)", (other, 1)),
        ("INSERT INTO scan VALUES (?, ?, ?)", (other, depots[0], epoch_s[0] + 1)),
        *(
            ("INSERT INTO scan VALUES (?, ?, ?)", (number, *scan))
            for scan in reversed(scans)
        ),
    ]
    lab(subject, "execute", DATABASE, [[text, list(values)] for text, values in rows])
    told = [
        {"depot": depot, "at": f"2026-02-{day:02}T00:{minute}:00Z"}
        for depot, day in zip(depots, days, strict=True)
    ]
    body = {"number": number, "weight_kg": weight_g / 1000, "scans": told}
    return Parcel(number, depots[0], body)


def lab(subject: Subject, function: str, *arguments: Any) -> Any:
    """Call a function of the module written for this check."""
    return subject.call(f"lab:{function}", *arguments).value


def damage(subject: Subject, statement: str, *values: Any) -> None:
    """Change the database under the service."""
    lab(subject, "execute", DATABASE, [[statement, list(values)]])


def take_away(subject: Subject) -> None:
    """Move the database aside."""
    lab(subject, "move", DATABASE, f"{DATABASE}.aside")


def bring_back(subject: Subject) -> None:
    """Put the database where it was."""
    lab(subject, "move", f"{DATABASE}.aside", DATABASE)


def status_is(reply: Reply, status: int, what: str) -> None:
    """The reply came and has this status."""
    expect(reply.status == status, f"{status} for {what}", reply.status or reply.error)


def error_is(reply: Reply, status: int, code: str, what: str) -> None:
    """The reply is this error."""
    status_is(reply, status, what)
    body = reply.json
    right = isinstance(body, dict) and body.get("error") == code
    expect(right, f"error {code!r} for {what}", body)


# --- what clients see -------------------------------------------------------


@checks("found-and-unknown")
def found_and_unknown(subject: Subject) -> None:
    """With its database there, the service and what others import do as they did."""
    parcel = stock(subject)
    reply = subject.http("GET", parcel.path)
    status_is(reply, 200, "a parcel")
    expect(reply.json == parcel.body, "body of a parcel", reply.json)
    error_is(subject.http("GET", "/parcels/WB-1"), 404, "unknown_parcel", "no parcel")
    error_is(subject.http("GET", "/trucks/WB-1"), 404, "unknown_route", "no route")
    depot = subject.http("GET", f"/depots/{parcel.depot}")
    status_is(depot, 200, "a depot")
    expect(depot.json["code"] == parcel.depot, "body of a depot", depot.json)
    target = "waybill.services.parcels:track"
    calls = [Call(target, DATABASE, number) for number in (parcel.number, "WB-1")]
    returned = [answer.value for answer in subject.call_many(calls)]
    expect(returned == [parcel.body, None], "what `track` returns", returned)


@checks("outage-is-503")
def outage_is_503(subject: Subject) -> None:
    """A database that is away or locked is a 503, known parcel or not, until it ends."""
    parcel = stock(subject)
    running = subject.start()
    status_is(running.http("GET", parcel.path), 200, "a parcel")
    url = f"http://127.0.0.1:{running.port}{parcel.path}"
    locked = lab(subject, "get_while_locked", DATABASE, url)
    expect(locked == 503, "503 while the database is locked", locked)
    take_away(subject)
    for path in (parcel.path, "/parcels/WB-1", f"/depots/{parcel.depot}"):
        reply = running.http("GET", path)
        status_is(reply, 503, f"{path} while the database is away")
    bring_back(subject)
    status_is(running.http("GET", parcel.path), 200, "a parcel after the outage")


@checks("outage-body")
def outage_body(subject: Subject) -> None:
    """The body of the 503 is the documented one."""
    parcel = stock(subject)
    running = subject.start()
    take_away(subject)
    error_is(running.http("GET", parcel.path), 503, "unavailable", "an outage")


@checks("faults-stay-500")
def faults_stay_500(subject: Subject) -> None:
    """Where an outage is a 503, what is none is still a 500."""
    parcel = stock(subject)
    running = started_without_database(subject, parcel)
    bring_back(subject)
    damage(subject, "UPDATE scan SET at = 'soon' WHERE number = ?", parcel.number)
    error_is(running.http("GET", parcel.path), 500, "internal", "a scan at no time")
    damage(subject, "UPDATE parcel SET weight_g = 'heavy'")
    damage(subject, "DELETE FROM scan")
    error_is(running.http("GET", parcel.path), 500, "internal", "a weight of no number")
    damage(subject, "UPDATE parcel SET weight_g = 1")
    damage(subject, "DROP TABLE scan")
    error_is(running.http("GET", parcel.path), 500, "internal", "a missing table")
    damage(subject, "ALTER TABLE parcel RENAME COLUMN weight_g TO grams")
    error_is(running.http("GET", parcel.path), 500, "internal", "a missing column")


def started_without_database(subject: Subject, parcel: Parcel) -> Running:
    """The service in an outage, which it answers with a 503."""
    running = subject.start()
    take_away(subject)
    status_is(running.http("GET", parcel.path), 503, "an outage")
    return running


# --- where the layers end ---------------------------------------------------


@checks("handler-imports")
def handler_imports(subject: Subject) -> None:
    """The parcel handler, which answers an outage, does not import the repository.

    Nor does any other module of the handlers that it imports.
    """
    started_without_database(subject, stock(subject))
    paths = {module_of(path): path for path in subject.list("waybill") if is_code(path)}
    todo = [name for name in paths if below(name, HANDLER)]
    expect(bool(todo), f"a module {HANDLER}")
    seen = set(todo)
    while todo:
        name = todo.pop()
        source, path = subject.read(paths[name]), paths[name]
        imported = set(imports_of(source, package_of(name, path), paths))
        reached = sorted(other for other in imported if below(other, REPOSITORY))
        expect(not reached, f"{name} imports the repository", reached)
        fresh = {n for n in imported - seen if n in paths and below(n, HANDLERS)}
        seen |= fresh
        todo.extend(sorted(fresh))


@checks("service-raises")
def service_raises(subject: Subject) -> None:
    """In an outage an error that is not the repository's comes to the handler."""
    for arrival in arrivals(subject):
        own = [kind for kind in arrival.kinds if of_repository(kind)]
        expect(not own, "an error of the repository came to the handler", own)
        raised_in = arrival.raised_in
        expect(not below(raised_in, REPOSITORY), "raised by the repository", raised_in)


@checks("house-error")
def house_error(subject: Subject) -> None:
    """What comes to the handler in an outage is called as the house calls it."""
    names = [kind_name(kind) for seen in arrivals(subject) for kind in seen.kinds]
    expect(HOUSE_ERROR in names, f"a {HOUSE_ERROR} came to the handler", names)


@checks("cause-chained")
def cause_chained(subject: Subject) -> None:
    """The service's error was raised from the repository's."""
    for arrival in arrivals(subject):
        own = [kind for kind in arrival.kinds if of_repository(kind)]
        expect(not own, "an error of the repository came to the handler", own)
        causes = [kind for cause in arrival.causes for kind in cause]
        expect(any(map(of_repository, causes)), "its cause", causes or arrival.kinds)


def arrivals(subject: Subject) -> tuple[Arrival, ...]:
    """What comes to the handler while it answers an outage with a 503."""
    parcel = stock(subject)
    running = subject.start(observed)
    take_away(subject)
    status_is(running.http("GET", parcel.path), 503, "an outage")
    came = subject.exists(ARRIVALS)
    expect(came, "an exception comes to the handler in an outage")
    lines = subject.read(ARRIVALS).splitlines()
    told = [parse_json(line, "an observation") for line in lines]
    return msgspec.convert(told, tuple[Arrival, ...])


def of_repository(kind: str) -> bool:
    """Is a class the repository's, or the database driver's?"""
    module = kind.partition(":")[0]
    return below(module, REPOSITORY) or below(module, "sqlite3")


def kind_name(kind: str) -> str:
    """Name of a class, wherever it is nested."""
    return kind.partition(":")[2].rpartition(".")[2]


# --- modules ----------------------------------------------------------------


def below(name: str, package: str) -> bool:
    """Is a module the package or in it?"""
    return f"{name}.".startswith(f"{package}.")


def is_code(path: str) -> bool:
    """Is a file a module?"""
    return path.endswith(".py")


def module_of(path: str) -> str:
    """Dotted name of the module in a file."""
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(name: str, path: str) -> str:
    """The package that relative imports of a module start from."""
    return name if path.endswith("/__init__.py") else name.rpartition(".")[0]


def imports_of(source: str, package: str, known: Mapping[str, str]) -> Iterator[str]:
    """Modules that a module imports, by absolute names, literal dynamic ones too."""
    parts = package.split(".")
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                above = parts[: len(parts) - node.level + 1] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    yield inner if inner in known else base
            case ast.Call(
                func=ast.Name(id="__import__" | "import_module")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield module
            case _:
                pass
