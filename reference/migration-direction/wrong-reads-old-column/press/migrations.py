"""Changes of the schema, in order, each applied once."""

import sqlite3

from press import times


def connect(path: str) -> sqlite3.Connection:
    """Open a database; statements outside a transaction commit at once."""
    return sqlite3.connect(path, isolation_level=None)


def _posts(conn: sqlite3.Connection) -> None:
    conn.execute(
        """
        CREATE TABLE posts (
            id INTEGER PRIMARY KEY,
            title TEXT NOT NULL,
            published_at INTEGER NOT NULL
        )
        """
    )


def _archive(conn: sqlite3.Connection) -> None:
    columns = {row[1] for row in conn.execute("PRAGMA table_info(posts)")}
    if "archived_at" not in columns:
        conn.execute("ALTER TABLE posts ADD COLUMN archived_at INTEGER")
    conn.execute("ALTER TABLE posts ADD COLUMN archived_at_utc TEXT")
    if "archived_at" in columns:
        rows = conn.execute("SELECT id, archived_at FROM posts WHERE archived_at NOT NULL")
        for post_id, text in rows.fetchall():
            conn.execute(
                "UPDATE posts SET archived_at_utc = ? WHERE id = ?",
                (times.to_text(times.to_seconds(text)), post_id),
            )


MIGRATIONS = (
    (1, "posts", _posts),
    (2, "archive", _archive),
)


def migrate(conn: sqlite3.Connection) -> list[int]:
    """Apply what is not on record yet; returns the versions applied."""
    conn.execute(
        "CREATE TABLE IF NOT EXISTS schema_migrations"
        " (version INTEGER PRIMARY KEY, name TEXT NOT NULL)"
    )
    done = {version for (version,) in conn.execute("SELECT version FROM schema_migrations")}
    applied = []
    for version, name, change in MIGRATIONS:
        if version in done:
            continue
        conn.execute("BEGIN IMMEDIATE")
        try:
            change(conn)
            conn.execute("INSERT INTO schema_migrations VALUES (?, ?)", (version, name))
        except BaseException:
            conn.execute("ROLLBACK")
            raise
        conn.execute("COMMIT")
        applied.append(version)
    return applied
