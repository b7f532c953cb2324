"""Changes of the schema, in order, each applied once."""

import sqlite3


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
        conn.execute("ALTER TABLE posts ADD COLUMN archived_at_utc TEXT")
    else:
        indexes = conn.execute(
            "SELECT name, sql FROM sqlite_master"
            " WHERE type = 'index' AND tbl_name = 'posts' AND sql NOT NULL"
        ).fetchall()
        conn.execute(
            """
            CREATE TABLE posts_new (
                id INTEGER PRIMARY KEY,
                title TEXT NOT NULL,
                published_at INTEGER NOT NULL,
                archived_at TEXT,
                archived_at_utc TEXT
            )
            """
        )
        conn.execute(
            "INSERT INTO posts_new"
            " SELECT *, strftime('%Y-%m-%dT%H:%M:%SZ', archived_at) FROM posts"
        )
        conn.execute("DROP TABLE posts")
        conn.execute("ALTER TABLE posts_new RENAME TO posts")
        for _, statement in indexes:
            conn.execute(statement)


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
