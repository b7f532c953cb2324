"""event-stats-api: statistics over an event log are exact to their definitions, and fast.

The log and every expectation are computed here, from what the documents say.
Windows are chosen so that a check turns on its own subject only: bounds lie between
events except where bounds are the point, and percentiles of large windows are the
same by any definition.
"""

from __future__ import annotations

import ast
import itertools
import math
import statistics
import sys
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple
from urllib.parse import urlencode

from evalkit.grader import Checks, Reply, Service, Subject, expect, fail

COMMAND = ("python", "-m", "eventstats")
service = Service(COMMAND, env={"PORT": "{port}"})
checks = Checks(
    {
        "broad-window": 1,
        "full-range": 1,
        "nearest-rank": 1,
        "empty-range-nulls": 1,
        "unknown-type-nulls": 1,
        "bounds-inclusive": 1,
        "half-up-average": 1,
        "single-event": 1,
        "inverted-range": 1,
        "non-numeric": 1,
        "no-dependency": 1,
        "fast-queries": 1,
    },
    service=service,
)

N_EVENTS = 100_000
FIRST_AT = 1_700_000_000_000
TYPES = (
    ("view",) * 5
    + ("search",) * 3
    + ("cart",) * 3
    + ("checkout",) * 2
    + ("login",) * 2
    + ("refund",)
)
PERCENTILES = (50, 95, 99)
PERCENTILE_FIELDS = ("p50", "p95", "p99")
FIELDS = ("count", "avg", *PERCENTILE_FIELDS, "max")
NOTHING: dict[str, float | None] = {**dict.fromkeys(FIELDS), "count": 0}
MINUTE_MS, HOUR_MS = 60_000, 3_600_000

SHIPPED = ("__init__", "__main__", "log", "params", "server", "stats")
"""Modules of the package as shipped: the yardstick of the check on speed."""
N_ROUNDS, N_SHIPPED, N_DELIVERED = 10, 2, 20
"""Queries take turns, so that both sides meet the same load: 20 against 200."""
TIMES_FASTER = 4

MISTAKEN_MEANS: tuple[Callable[[int, int], float], ...] = (
    lambda total, count: round(total / count, 2),
    lambda total, count: math.floor(total / count * 100 + 0.5) / 100,
    lambda total, count: float(
        Decimal(total / count).quantize(Decimal("0.01"), ROUND_HALF_UP)
    ),
)
"""Ways to round that miss some halves: to even, or of a quotient already inexact."""


class Query(NamedTuple):
    """Which events count; None leaves a parameter out."""

    type: str | None = None
    start: int | str | None = None
    end: int | str | None = None

    @property
    def path(self) -> str:
        """Its path with parameters."""
        given = {"type": self.type, "from": self.start, "to": self.end}
        text = urlencode({k: v for k, v in given.items() if v is not None})
        return f"/stats?{text}" if text else "/stats"


class Log:
    """The log of a seed, as docs/event-log.md describes it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.at: list[int] = []
        self.types: list[str] = []
        self.durations: list[int] = []
        state, at = seed, FIRST_AT
        for _ in range(N_EVENTS):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            at += state // 2**51
            step = state // 2**37 % 1024
            slow = state // 2**27 % 512 == 0
            self.at.append(at)
            self.types.append(TYPES[state // 2**47 % 16])
            self.durations.append(
                5 + step * step // 1000 + (state // 2**47 % 32768 if slow else 0)
            )

    def within(self, query: Query) -> list[int]:
        """Durations of the events that match, in order of time."""
        low, high = 0, N_EVENTS
        if isinstance(query.start, int):
            low = bisect_left(self.at, query.start)
        if isinstance(query.end, int):
            high = bisect_right(self.at, query.end)
        found = range(low, high)
        if query.type is not None:
            found = [n for n in found if self.types[n] == query.type]
        return [self.durations[n] for n in found]

    def between(self, subject: Subject, first: int, last: int) -> tuple[int, int]:
        """Bounds around events first to last, with no event at either of them."""
        low, high = self.at[first - 1], self.at[last + 1]
        return (
            subject.random.randint(low + 1, self.at[first] - 1),
            subject.random.randint(self.at[last] + 1, high - 1),
        )

    def has_room(self, first: int, last: int) -> bool:
        """True where bounds fit between these events and their neighbours."""
        return (
            self.at[first] - self.at[first - 1] > 1
            and self.at[last + 1] - self.at[last] > 1
        )

    def windows(self, subject: Subject, count: int) -> Iterator[tuple[int, Query]]:
        """Windows of `count` events of all types at random places, without end.

        Each comes with the number of its first event.
        """
        while True:
            first = subject.random.randrange(1, N_EVENTS - count)
            if self.has_room(first, first + count - 1):
                bounds = self.between(subject, first, first + count - 1)
                yield first, Query(None, *bounds)


def logs(subject: Subject) -> Iterator[Log]:
    """Logs of random seeds."""
    while True:
        yield Log(subject.random.randrange(2**63))


def ask(subject: Subject, query: Query) -> dict[str, Any]:
    """The statistics that the service gives."""
    return statistics_of(subject.http("GET", query.path), query)


def statistics_of(reply: Reply, query: Query) -> dict[str, Any]:
    """The statistics in a reply to a query."""
    expect(reply.status == 200, f"status of {query.path}", reply)
    found = reply.json
    expect(isinstance(found, dict), f"{query.path} gives an object", found)
    return found


def agree(
    subject: Subject,
    query: Query,
    wanted: dict[str, float | None],
    fields: Sequence[str] = FIELDS,
) -> None:
    """Fail the check unless the service gives the wanted values."""
    found = ask(subject, query)
    for field in fields:
        same = field in found and equal(found[field], wanted[field])
        expect(same, f"{field} of {query.path}, {wanted[field]} wanted", found)


def equal(found: Any, wanted: float | None) -> bool:
    """True for the same number, or for null twice."""
    if wanted is None or isinstance(found, bool):
        return found is wanted
    return isinstance(found, int | float) and math.isclose(found, wanted, abs_tol=1e-6)


# --- what the documents define ----------------------------------------------


def describe(durations: Sequence[int]) -> dict[str, float | None]:
    """The fields of a reply for some durations."""
    if not durations:
        return NOTHING
    return {
        "count": len(durations),
        "avg": mean(sum(durations), len(durations)),
        **dict(zip(PERCENTILE_FIELDS, nearest_ranks(durations), strict=True)),
        "max": max(durations),
    }


def mean(total: int, count: int) -> float:
    """The exact quotient with two decimals, a half upwards."""
    quotient = Decimal(total) / Decimal(count)
    return float(quotient.quantize(Decimal("0.01"), ROUND_HALF_UP))


def nearest_ranks(durations: Sequence[int]) -> list[float]:
    """Percentiles: smallest value that so many percent do not exceed."""
    ordered = sorted(durations)
    return [
        next(
            value
            for n_up_to, value in enumerate(ordered, 1)
            if 100 * n_up_to >= percent * len(ordered)
        )
        for percent in PERCENTILES
    ]


def other_percentiles(durations: Sequence[int]) -> list[list[float]]:
    """Percentiles by definitions that are not the documented one."""
    ordered = sorted(durations)
    count = len(ordered)
    top = count - 1

    def picked(place: Callable[[int], int]) -> list[float]:
        return [ordered[min(max(place(p), 0), top)] for p in PERCENTILES]

    interpolated = [
        [
            statistics.quantiles(ordered, n=100, method=method)[p - 1]
            for p in PERCENTILES
        ]
        for method in ("inclusive", "exclusive")
    ]
    return [
        *interpolated,
        picked(lambda p: p * count // 100),
        picked(lambda p: p * count // 100 - 1),
        picked(lambda p: p * top // 100),
        picked(lambda p: -(-p * top // 100)),
        picked(lambda p: round(p * top / 100)),
        picked(lambda p: round(p * count / 100) - 1),
    ]


def is_undisputed(durations: Sequence[int]) -> bool:
    """True where any definition gives these percentiles and any rounding this mean."""
    ordered = sorted(durations)
    count = len(ordered)
    for percent in PERCENTILES:
        place = percent * count // 100
        if len(set(ordered[place - 2 : place + 2])) > 1:
            return False
    return 200 * sum(ordered) % count > 0


# --- windows ----------------------------------------------------------------


@checks("broad-window")
def broad_window(subject: Subject) -> None:
    """Days of the log, of one type or all, closed or open at one end."""
    log = next(logs(subject))
    subject.start(env={"EVENTS_SEED": str(log.seed)})
    for query in (
        days(subject, log),
        days(subject, log),
        days(subject, log, start=None),
        days(subject, log, end=None),
    ):
        agree(subject, query, describe(log.within(query)))


def days(subject: Subject, log: Log, **opened: None) -> Query:
    """An undisputed window of at least half of the log, maybe open at one end."""
    draw = subject.random
    kind = draw.choice((None, "view", "search", "cart"))
    while True:
        first = draw.randrange(1, N_EVENTS // 4)
        last = draw.randrange(N_EVENTS * 3 // 4, N_EVENTS - 1)
        if log.has_room(first, last):
            query = Query(kind, *log.between(subject, first, last))._replace(**opened)
            if is_undisputed(log.within(query)):
                return query


@checks("full-range")
def full_range(subject: Subject) -> None:
    """The whole log, of all types and of one, without bounds and within wide ones."""
    log, kinds = next(
        (log, kinds)
        for log in logs(subject)
        if is_undisputed(log.durations) and (kinds := undisputed_types(log))
    )
    subject.start(env={"EVENTS_SEED": str(log.seed)})
    for kind in (None, subject.random.choice(kinds)):
        wanted = describe(log.within(Query(kind)))
        agree(subject, Query(kind), wanted)
        start = subject.random.randrange(FIRST_AT)
        end = subject.random.randint(log.at[-1] + 1, 2 * FIRST_AT)
        agree(subject, Query(kind, start, end), wanted)


def undisputed_types(log: Log) -> list[str]:
    """Types whose statistics over the whole log are undisputed."""
    kinds = dict.fromkeys(TYPES)
    return [kind for kind in kinds if is_undisputed(log.within(Query(kind)))]


@checks("nearest-rank")
def nearest_rank(subject: Subject) -> None:
    """Windows of 20 to 40 events in which other definitions give other values."""
    log = next(logs(subject))
    # 21, 25 and so on: there half of them, rounded to even, is not rounded up.
    counts = (20, 40, subject.random.randrange(21, 40, 4))
    sources = [log.windows(subject, count) for count in counts]
    while True:
        chosen = [next(source)[1] for source in sources]
        found = [log.within(query) for query in chosen]
        right = [nearest_ranks(durations) for durations in found]
        others = zip(*map(other_percentiles, found), strict=True)
        if all(list(other) != right for other in others):
            break
    subject.start(env={"EVENTS_SEED": str(log.seed)})
    for query, durations in zip(chosen, found, strict=True):
        agree(subject, query, describe(durations), PERCENTILE_FIELDS)


@checks("empty-range-nulls")
def empty_range_nulls(subject: Subject) -> None:
    """Between two events, before and after all, and where a type pauses."""
    log = next(logs(subject))
    subject.start(env={"EVENTS_SEED": str(log.seed)})
    draw = subject.random
    queries = [
        Query(
            None, draw.randrange(FIRST_AT // 2), draw.randrange(FIRST_AT // 2, FIRST_AT)
        ),
        Query(None, log.at[-1] + draw.randint(1, 999), log.at[-1] + 9_999),
    ]
    while len(queries) < 4:
        first, query = next(log.windows(subject, 1))
        if log.types[first] != "refund":
            queries.append(query._replace(type="refund"))
    while len(queries) < 6:
        n = draw.randrange(N_EVENTS - 1)
        if log.at[n + 1] - log.at[n] > 2:
            kind = draw.choice((None, log.types[n]))
            queries.append(Query(kind, log.at[n] + 1, log.at[n + 1] - 1))
    for query in queries:
        agree(subject, query, NOTHING)


@checks("unknown-type-nulls")
def unknown_type_nulls(subject: Subject) -> None:
    """A type that does not occur, with and without a window that has events."""
    log = next(logs(subject))
    subject.start(env={"EVENTS_SEED": str(log.seed)})
    draw = subject.random
    _, window = next(log.windows(subject, 500))
    for kind in (draw.word(9), draw.choice(TYPES).upper(), f"{draw.word(3)} & x"):
        agree(subject, Query(kind), NOTHING)
        agree(subject, window._replace(type=kind), NOTHING)


@checks("bounds-inclusive")
def bounds_inclusive(subject: Subject) -> None:
    """Events at a bound count, several at once too; a millisecond off it they do not."""
    log, ties = next(
        (log, ties) for log in logs(subject) if (ties := shared_times(log.at))
    )
    subject.start(env={"EVENTS_SEED": str(log.seed)})
    at = log.at
    draw = subject.random
    tie, n = draw.choice(ties), draw.randrange(100, N_EVENTS - 200)
    queries = [
        Query(None, at[tie], at[tie + draw.randint(3, 99)]),
        Query(None, at[tie - draw.randint(3, 99)], at[tie]),
        Query(log.types[n], at[n], at[n] + HOUR_MS),
        Query(log.types[n], at[n] - HOUR_MS, at[n]),
        Query(None, at[0], at[draw.randint(3, 99)]),
        Query(None, at[-draw.randint(3, 99)], at[-1]),
    ]
    for query in queries:
        assert isinstance(query.start, int)
        assert isinstance(query.end, int)
        later, earlier = query.start + 1, query.end - 1
        for asked in (query, query._replace(start=later), query._replace(end=earlier)):
            agree(subject, asked, describe(log.within(asked)), ("count", "max"))


def shared_times(at: Sequence[int]) -> list[int]:
    """Numbers of events that the next one shares its time with, far from the ends."""
    return [n for n in range(100, N_EVENTS - 101) if at[n] == at[n + 1]]


@checks("half-up-average")
def half_up_average(subject: Subject) -> None:
    """Exact halves of a hundredth go up, those that a float misses too."""
    log = next(logs(subject))
    subject.start(env={"EVENTS_SEED": str(log.seed)})
    for mistaken in MISTAKEN_MEANS:
        agree(*window_telling_apart(subject, log, mistaken), ("avg",))


def window_telling_apart(
    subject: Subject, log: Log, mistaken: Callable[[int, int], float]
) -> tuple[Subject, Query, dict[str, float | None]]:
    """A window whose mean comes out wrong in a mistaken way, and what is right."""
    sources = [log.windows(subject, count) for count in (8, 16, 40, 56, 72, 200)]
    for source in itertools.cycle(sources):
        _, query = next(source)
        durations = log.within(query)
        total, count = sum(durations), len(durations)
        if mistaken(total, count) != mean(total, count):
            return subject, query, describe(durations)
    raise AssertionError


@checks("single-event")
def single_event(subject: Subject) -> None:
    """Every field of a window with one event is about that event."""
    log = next(logs(subject))
    subject.start(env={"EVENTS_SEED": str(log.seed)})
    for (first, query), with_type in zip(
        log.windows(subject, 1), (False, True, True), strict=False
    ):
        kind = log.types[first] if with_type else None
        agree(subject, query._replace(type=kind), describe([log.durations[first]]))


# --- errors -----------------------------------------------------------------


@checks("inverted-range")
def inverted_range(subject: Subject) -> None:
    """A window that ends before it begins is refused, one of a millisecond is not."""
    log = next(logs(subject))
    subject.start(env={"EVENTS_SEED": str(log.seed)})
    draw = subject.random
    for kind in (None, draw.choice(TYPES)):
        at = draw.choice(log.at)
        refuse(subject, Query(kind, at + 1, at))
        refuse(subject, Query(kind, at + draw.randrange(1, 10 * HOUR_MS), at))
        ask(subject, Query(kind, at, at))


@checks("non-numeric")
def non_numeric(subject: Subject) -> None:
    """A bound that is not a whole number is refused, whichever it is."""
    log = next(logs(subject))
    subject.start(env={"EVENTS_SEED": str(log.seed)})
    draw = subject.random
    at = draw.choice(log.at)
    for text in (draw.word(), f"{at}x", f"{at}.5", "nan", "inf"):
        refuse(subject, Query(None, text, log.at[-1]))
        refuse(subject, Query(None, FIRST_AT, text))
        refuse(subject, Query(draw.choice(TYPES), text))
    ask(subject, Query(None, at))


def refuse(subject: Subject, query: Query) -> None:
    """Fail the check unless the service answers with 400."""
    reply = subject.http("GET", query.path)
    expect(reply.status == 400, f"status of {query.path}", reply)


# --- source -----------------------------------------------------------------


@checks("no-dependency")
def no_dependency(subject: Subject) -> None:
    """Nothing but the standard library is imported or asked to be installed."""
    paths = subject.list()
    own = {part.removesuffix(".py") for path in paths for part in path.split("/")}
    for path in paths:
        name = path.rpartition("/")[2]
        if name.endswith(".py"):
            foreign = imported(path, subject.read(path)) - own - sys.stdlib_module_names
            expect(not foreign, f"{path} imports beyond the library", sorted(foreign))
        elif name.startswith("requirements") and name.endswith((".txt", ".in")):
            lines = [
                line.split("#")[0].strip() for line in subject.read(path).split("\n")
            ]
            expect(not any(lines), f"{path} asks for packages", lines)
        elif name == "pyproject.toml":
            needed = dependencies(path, subject.read(path))
            expect(not needed, f"{path} asks for packages", needed)


def imported(path: str, text: str) -> set[str]:
    """Top-level names of the modules that a module imports, by literal names too."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError) as error:
        fail(f"{path} is no Python", str(error))
    names: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module or "")
        elif isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func).rpartition(".")[2]
            given = node.args[0]
            if called in {"__import__", "import_module"} and isinstance(
                given, ast.Constant
            ):
                names.append(str(given.value))
    return {name.partition(".")[0] for name in names if not name.startswith(".")}


def dependencies(path: str, text: str) -> Any:
    """What a project's metadata asks to be installed with it."""
    try:
        return tomllib.loads(text).get("project", {}).get("dependencies")
    except (tomllib.TOMLDecodeError, AttributeError) as error:
        fail(f"{path} is broken", str(error))


# --- speed ------------------------------------------------------------------


@checks("fast-queries")
def fast_queries(subject: Subject) -> None:
    """A dashboard's queries take a quarter of what they take the shipped scan.

    Ends early once all that the whole lot may take is well exceeded.
    """
    log = next(logs(subject))
    env = {"EVENTS_SEED": str(log.seed)}
    yardstick = Service(COMMAND, env=service.env, cwd=subject.random.word(12))
    for module in SHIPPED:
        path = f"eventstats/{module}.py"
        subject.write(f"{yardstick.cwd}/{path}", subject.original(path))
    shipped, delivered = subject.start(yardstick, env=env), subject.start(env=env)
    warm = [Query(kind, FIRST_AT, FIRST_AT + HOUR_MS) for kind in (None, *set(TYPES))]
    for query in sorted(warm, key=lambda query: query.path):
        shipped.http("GET", query.path)
        delivered.http("GET", query.path)
    yard_s = own_s = 0.0
    for n in range(1, N_ROUNDS + 1):
        for query in panel(subject, log, N_SHIPPED):
            reply = shipped.http("GET", query.path)
            statistics_of(reply, query)
            yard_s += reply.elapsed_s
        for query in panel(subject, log, N_DELIVERED):
            reply = delivered.http("GET", query.path)
            count = statistics_of(reply, query).get("count")
            right = equal(count, len(log.within(query)))
            expect(right, f"count of {query.path}", reply)
            own_s += reply.elapsed_s
        allowed_s = N_ROUNDS * N_DELIVERED * yard_s / (n * N_SHIPPED) / TIMES_FASTER
        if own_s > 1.5 * allowed_s:
            break
    times = yard_s / N_SHIPPED / (own_s / N_DELIVERED)
    expect(times >= TIMES_FASTER, "times faster than release 0.4.0", f"{times:.2f}")


def panel(subject: Subject, log: Log, count: int) -> list[Query]:
    """A dashboard's queries: every other one with a type, none of them empty."""
    draw = subject.random
    queries: list[Query] = []
    while len(queries) < count:
        length = draw.randint(MINUTE_MS, HOUR_MS)
        start = draw.randint(FIRST_AT, log.at[-1] - length)
        kind = draw.choice(TYPES) if len(queries) % 2 else None
        query = Query(kind, start, start + length)
        if log.within(query):
            queries.append(query)
    return queries
