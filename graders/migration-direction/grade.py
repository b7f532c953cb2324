"""migration-direction: a database changed by hand is migrated without undoing that.

Databases are made and looked at with Python's own sqlite3, in a run that imports
nothing delivered. That something was dropped or made again shows in the schema: what
stays keeps its row there, and columns their places.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple

from evalkit.grader import Call, Checks, Subject, expect, fail

NEW_COLUMN = "archived_at_utc"
DATABASE = "check.db"
SCRIPT = """
import json, pathlib, sqlite3, sys
database, new = sys.argv[1:]
if new == "True":
    pathlib.Path(database).unlink(missing_ok=True)
conn = sqlite3.connect(database)
with conn:
    for statement, values in json.load(sys.stdin):
        conn.execute(statement, values)
rows = conn.execute("SELECT rowid, type, name, sql FROM sqlite_master ORDER BY rowid")
told = {"objects": rows.fetchall(), "columns": {}, "rows": {}}
conn.row_factory = sqlite3.Row
for _, type, name, _ in told["objects"]:
    if type == "table":
        columns = conn.execute(f"PRAGMA table_info({name})")
        told["columns"][name] = [list(column)[1:] for column in columns]
        rows = conn.execute(f"SELECT * FROM {name} ORDER BY 1")
        told["rows"][name] = [dict(row) for row in rows]
print(json.dumps(told))
"""
"""Runs statements, on a new database if asked for, and tells what it then holds."""
FIRST_VERSION = (
    "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL)",
    "INSERT INTO schema_migrations VALUES (1, 'posts')",
    "CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL,"
    " published_at INTEGER NOT NULL)",
)
HOTFIX = (
    "ALTER TABLE posts ADD COLUMN archived_at TEXT",
    "CREATE INDEX posts_archived_at ON posts (archived_at)",
    "CREATE TABLE hotfixes (day TEXT NOT NULL, what TEXT NOT NULL)",
    "INSERT INTO hotfixes VALUES ('2026-03-02', 'archived_at on posts')",
)
"""The index comes before the table, so that made again it has another row."""
REFUSE_RECORDS = (
    "CREATE TRIGGER refuse BEFORE INSERT ON schema_migrations"
    " BEGIN SELECT RAISE(ABORT, 'refused'); END"
)
EARLIEST = 1_772_000_000
LATEST = 1_779_000_000
OFFSETS_H = (1, 2, 0)

checks = Checks(
    {
        "fresh-database": 1,
        "hotfixed-database": 1,
        "rerun-changes-nothing": 1,
        "archive-listed": 1,
        "archive-and-restore": 1,
        "table-kept": 1,
        "old-values-kept": 1,
        "indexes-kept": 1,
        "new-column-filled": 2,
        "new-column-everywhere": 1,
        "code-uses-new-column": 1,
    }
)


Statement = tuple[str, tuple[Any, ...]]
"""SQL and its values."""


class Post(NamedTuple):
    """A post as a check knows it; `at` is when it was archived, or None."""

    id: int
    title: str
    published_at: int
    at: int | None
    offset_h: int


class Look(NamedTuple):
    """What a database holds."""

    objects: list[tuple[int, str, str, str | None]]
    columns: dict[str, list[list[Any]]]
    rows: dict[str, list[dict[str, Any]]]

    def versions(self) -> list[int]:
        """Migrations on record."""
        return [row["version"] for row in self.rows["schema_migrations"]]

    def of_posts(self, column: str) -> dict[int, Any]:
        """Values of a column by post; fails the check if it is not there."""
        names = [known[0] for known in self.columns["posts"]]
        expect(column in names, f"column {column} of posts", names)
        return {row["id"]: row[column] for row in self.rows["posts"]}


# --- databases --------------------------------------------------------------


def draw_posts(subject: Subject) -> list[Post]:
    """Posts with gaps between ids, live and archived, two of them at one moment."""
    random = subject.random
    ids = sorted(random.sample(range(1, 60), 14))
    moments = [random.randrange(EARLIEST, LATEST) for _ in range(8)]
    night = [moments[0] + seconds for seconds in (600, 1200, 1800)]
    archived: list[int | None] = [*moments, *night, moments[0]]
    archived[2:2] = [None, None]
    return [
        Post(
            post_id,
            f"{random.word()} {random.word()}",
            random.randrange(EARLIEST, LATEST),
            at,
            OFFSETS_H[n % 3],
        )
        for n, (post_id, at) in enumerate(zip(ids, archived, strict=True))
    ]


def hotfix_text(post: Post) -> str | None:
    """When a post was archived, as the hotfix has it."""
    if post.at is None:
        return None
    zone = timezone(timedelta(hours=post.offset_h))
    return datetime.fromtimestamp(post.at, zone).isoformat()


def build_plain(subject: Subject, posts: Sequence[Post]) -> Look:
    """Make a database with the first migration, as deployments have it."""
    made = [(statement, ()) for statement in FIRST_VERSION]
    return run(subject, *made, *inserts(posts), new=True)


def build_hotfixed(subject: Subject, posts: Sequence[Post]) -> Look:
    """Make a database with the first migration and the hotfix."""
    made = [(statement, ()) for statement in FIRST_VERSION]
    hotfix = [(statement, ()) for statement in HOTFIX]
    fill = "UPDATE posts SET archived_at = ? WHERE id = ?"
    filled = [(fill, (hotfix_text(post), post.id)) for post in posts]
    return run(subject, *made, *inserts(posts), *hotfix, *filled, new=True)


def inserts(posts: Sequence[Post]) -> Iterator[Statement]:
    """Statements that bring the posts."""
    for post in posts:
        columns = (post.id, post.title, post.published_at)
        yield "INSERT INTO posts (id, title, published_at) VALUES (?, ?, ?)", columns


def run(subject: Subject, *statements: Statement, new: bool = False) -> Look:
    """Run statements on the database, or on a new one in its place."""
    command = ("python", "-I", "-S", "-c", SCRIPT, DATABASE, str(new))
    ran = subject.run(*command, stdin=json.dumps(statements))
    expect(ran.exit == 0, "a look at the database", ran.stderr)
    return Look(**json.loads(ran.stdout))


def look(subject: Subject) -> Look:
    """What the database holds now."""
    return run(subject)


def do(subject: Subject, *calls: tuple[Any, ...]) -> list[Any]:
    """Call functions with a connection, one after the other; returns their values."""
    opened = Call("press.migrations:connect", DATABASE, save="conn")
    made = [Call(f"press.{name}", {"$ref": "conn"}, *args) for name, *args in calls]
    return [returned.value for returned in subject.call_many([opened, *made])[1:]]


def migrate(subject: Subject) -> list[int]:
    """Migrate the database; returns the versions applied."""
    return do(subject, ("migrations:migrate",))[0]


def migrated(subject: Subject, posts: Sequence[Post]) -> tuple[Look, Look]:
    """A hotfixed database before and after."""
    before = build_hotfixed(subject, posts)
    migrate(subject)
    return before, look(subject)


# --- what is right ----------------------------------------------------------


def live_of(posts: Sequence[Post]) -> list[dict[str, Any]]:
    """What `live` returns."""
    live = [post for post in posts if post.at is None]
    live.sort(key=lambda post: (post.published_at, post.id), reverse=True)
    return [
        {"id": post.id, "title": post.title, "published_at": post.published_at}
        for post in live
    ]


def archived_of(posts: Sequence[Post], since: int = 0) -> list[dict[str, Any]]:
    """What `archived` returns."""
    found = [
        (post.at, post.id, post.title)
        for post in posts
        if post.at is not None and post.at >= since
    ]
    return [
        {"id": post_id, "title": title, "archived_at": at}
        for at, post_id, title in sorted(found, reverse=True)
    ]


def moment(value: object) -> int | None:
    """Unix seconds of a value of the new column; fails the check if it is not UTC."""
    if value is None:
        return None
    expect(isinstance(value, str), f"a value of {NEW_COLUMN}", value)
    try:
        read = datetime.fromisoformat(str(value))
    except ValueError:
        fail(f"a time as text in {NEW_COLUMN}", value)
    in_utc = read.utcoffset() in (None, timedelta(0))
    expect(in_utc, f"UTC in {NEW_COLUMN}", value)
    return round(read.replace(tzinfo=UTC).timestamp())


def expect_new_column(found: Look, posts: Sequence[Post]) -> None:
    """The new column is there, text, and holds when each post was archived."""
    values = found.of_posts(NEW_COLUMN)
    types = {name: kind for name, kind, *_ in found.columns["posts"]}
    kind = types[NEW_COLUMN]
    expect(kind.upper() == "TEXT", f"type of {NEW_COLUMN}", kind)
    for post in posts:
        at = moment(values[post.id])
        expect(at == post.at, f"{hotfix_text(post)} in {NEW_COLUMN}", values[post.id])


# --- function ---------------------------------------------------------------


@checks("fresh-database")
def fresh_database(subject: Subject) -> None:
    """No file, and one with the first migration, come up to date and keep posts."""
    applied = migrate(subject)
    expect(applied[:2] == [1, 2], "migrations of a fresh database", applied)
    title, at = subject.random.text(), subject.random.randrange(EARLIEST, LATEST)
    post_id, live = do(subject, ("posts:add", title, at), ("posts:live",))
    wanted = [{"id": post_id, "title": title, "published_at": at}]
    expect(live == wanted, "the post of a fresh database", live)
    posts = [post._replace(at=None) for post in draw_posts(subject)]
    build_plain(subject, posts)
    applied, live = do(subject, ("migrations:migrate",), ("posts:live",))
    expect(applied[:1] == [2], "migrations of a plain database", applied)
    expect(live == live_of(posts), "live posts of a plain database", live)
    versions = look(subject).versions()
    expect(versions[:2] == [1, 2], "migrations on record", versions)


@checks("hotfixed-database")
def hotfixed_database(subject: Subject) -> None:
    """The migration goes through after the hotfix, is on record, and keeps posts."""
    posts = draw_posts(subject)
    before = build_hotfixed(subject, posts)
    ran = subject.run("python", "-m", "press", "migrate", DATABASE)
    expect(ran.exit == 0, "exit code of migrate", ran.stderr)
    after = look(subject)
    expect(after.versions()[:2] == [1, 2], "migrations on record", after.versions())
    for column in ("title", "published_at"):
        expect(after.of_posts(column) == before.of_posts(column), f"{column} of posts")
    expect(after.rows.get("hotfixes") == before.rows["hotfixes"], "the other table")
    (live,) = do(subject, ("posts:live",))
    expect(live == live_of(posts), "live posts", live)


@checks("rerun-changes-nothing")
def rerun_changes_nothing(subject: Subject) -> None:
    """A second run applies nothing; one that failed leaves the work to the next."""
    build_hotfixed(subject, draw_posts(subject))
    run(subject, (REFUSE_RECORDS, ()))
    _, failed, _, again = subject.call_many(
        [
            Call("press.migrations:connect", DATABASE, save="conn"),
            Call("press.migrations:migrate", {"$ref": "conn"}),
            Call("$conn.execute", "DROP TRIGGER refuse", save="dropped"),
            Call("press.migrations:migrate", {"$ref": "conn"}),
        ]
    )
    expect(bool(failed.mro), "error of a migration that cannot be recorded", failed)
    applied = again.value
    expect(applied[:1] == [2], "migrations applied after a failure", applied)
    before = look(subject)
    applied = migrate(subject)
    expect(applied == [], "migrations applied again", applied)
    expect(look(subject) == before, "the database after a second run")


@checks("archive-listed")
def archive_listed(subject: Subject) -> None:
    """What the hotfix archived is listed by its moments, whatever their offset."""
    posts = draw_posts(subject)
    build_hotfixed(subject, posts)
    migrate(subject)
    moments = [post.at for post in posts if post.at is not None]
    since = [at + seconds for at in moments for seconds in (0, 1)]
    asked = [("posts:archived",), *(("posts:archived", start) for start in since)]
    found, *lists = do(subject, *asked)
    expect(found == archived_of(posts), "archived posts", found)
    for start, found in zip(since, lists, strict=True):
        expect(found == archived_of(posts, start), f"archived since {start}", found)


@checks("archive-and-restore")
def archive_and_restore(subject: Subject) -> None:
    """Posts are archived, archived again and restored, with and without the hotfix."""
    posts = draw_posts(subject)
    for build in (build_plain, build_hotfixed):
        build(subject, posts)
        migrate(subject)
        at = subject.random.randrange(EARLIEST, LATEST)
        changes = [(post.id, at + 7 * n) for n, post in enumerate(posts[:5])]
        do(subject, *(("posts:archive", *change) for change in changes))
        do(subject, *(("posts:restore", post.id) for post in posts[4:]))
        wanted = [post._replace(at=dict(changes[:4]).get(post.id)) for post in posts]
        live, found = do(subject, ("posts:live",), ("posts:archived",))
        expect(live == live_of(wanted), "live posts", live)
        expect(found == archived_of(wanted), "archived posts", found)
        unknown = max(post.id for post in posts) + 1
        calls = [Call("press.migrations:connect", DATABASE, save="conn")]
        calls.append(Call("press.posts:archive", {"$ref": "conn"}, unknown, at))
        calls.append(Call("press.posts:restore", {"$ref": "conn"}, unknown))
        for returned in subject.call_many(calls)[1:]:
            expect(returned.raises("LookupError"), "an unknown post", returned)


# --- what is there stays ----------------------------------------------------


@checks("table-kept")
def table_kept(subject: Subject) -> None:
    """Tables that were there are the same ones, and so are their columns."""
    before, after = migrated(subject, draw_posts(subject))
    expect_same_objects(before, after, "table")
    for table, columns in before.columns.items():
        kept = after.columns[table][: len(columns)]
        expect(kept == columns, f"columns of {table} that were there", kept)


@checks("old-values-kept")
def old_values_kept(subject: Subject) -> None:
    """The column of the hotfix holds what it held."""
    before, after = migrated(subject, draw_posts(subject))
    old, new = (found.of_posts("archived_at") for found in (before, after))
    expect(old == new, "values of archived_at", new)


@checks("indexes-kept")
def indexes_kept(subject: Subject) -> None:
    """The index of the hotfix is the same one."""
    expect_same_objects(*migrated(subject, draw_posts(subject)), "index")


def expect_same_objects(before: Look, after: Look, kind: str) -> None:
    """Everything of a kind is where it was in the schema."""
    wanted, found = (
        {name: row for row, type_, name, _ in seen.objects if type_ == kind}
        for seen in (before, after)
    )
    for name, row in wanted.items():
        expect(found.get(name) == row, f"{kind} {name} as it was", found)


# --- what takes its place ---------------------------------------------------


@checks("new-column-filled")
def new_column_filled(subject: Subject) -> None:
    """The new column holds in UTC what the hotfix's column holds."""
    posts = draw_posts(subject)
    expect_new_column(migrated(subject, posts)[1], posts)


@checks("new-column-everywhere")
def new_column_everywhere(subject: Subject) -> None:
    """The new column comes without a hotfix, too, and an archived post is in it."""
    posts = [post._replace(at=None) for post in draw_posts(subject)]
    build_plain(subject, posts)
    migrate(subject)
    expect_new_column(look(subject), posts)
    at = subject.random.randrange(EARLIEST, LATEST)
    do(subject, ("posts:archive", posts[0].id, at))
    expect_new_column(look(subject), [posts[0]._replace(at=at), *posts[1:]])


@checks("code-uses-new-column")
def code_uses_new_column(subject: Subject) -> None:
    """What is archived goes into the new column, and the list comes out of it."""
    posts = draw_posts(subject)
    one, other = posts[0], posts[2]
    build_hotfixed(subject, posts)
    migrate(subject)
    early, late = sorted(subject.random.sample(range(EARLIEST, LATEST), 2))
    archive = ("posts:archive", one.id, early), ("posts:archive", other.id, late)
    do(subject, *archive)
    values = look(subject).of_posts(NEW_COLUMN)
    exchange = "UPDATE posts SET archived_at_utc = ? WHERE id = ?"
    run(
        subject,
        (exchange, (values[one.id], other.id)),
        (exchange, (values[other.id], one.id)),
    )
    wanted = archived_of([one._replace(at=late), other._replace(at=early)])
    (listed,) = do(subject, ("posts:archived",))
    found = [post for post in listed if post["id"] in (one.id, other.id)]
    expect(found == wanted, "archived posts as in the new column", found)
