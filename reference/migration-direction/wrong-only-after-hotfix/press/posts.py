"""Posts, live and archived."""

import sqlite3

from press import times

OLD, NEW = "archived_at", "archived_at_utc"


def add(conn: sqlite3.Connection, title: str, published_at: int) -> int:
    """Add a live post and return its id."""
    row = conn.execute(
        "INSERT INTO posts (title, published_at) VALUES (?, ?)", (title, published_at)
    )
    return row.lastrowid


def archive(conn: sqlite3.Connection, post_id: int, at: int) -> None:
    """Archive a post."""
    _set_archived_at(conn, post_id, at)


def restore(conn: sqlite3.Connection, post_id: int) -> None:
    """Make an archived post live again."""
    _set_archived_at(conn, post_id, None)


def live(conn: sqlite3.Connection) -> list[dict]:
    """Posts that are not archived, the latest first."""
    rows = conn.execute(
        f"SELECT id, title, published_at FROM posts WHERE {_column(conn)} IS NULL"
        " ORDER BY published_at DESC, id DESC"
    )
    return [{"id": id, "title": title, "published_at": at} for id, title, at in rows]


def archived(conn: sqlite3.Connection, since: int | None = None) -> list[dict]:
    """Archived posts, the latest archived first."""
    column = _column(conn)
    start = since if since is None or column == OLD else times.to_text(since)
    rows = conn.execute(
        f"SELECT id, title, {column} FROM posts"
        f" WHERE {column} IS NOT NULL AND (?1 IS NULL OR {column} >= ?1)"
        f" ORDER BY {column} DESC, id DESC",
        (start,),
    ).fetchall()
    return [
        {"id": id, "title": title, "archived_at": at if column == OLD else times.to_seconds(at)}
        for id, title, at in rows
    ]


def _column(conn: sqlite3.Connection) -> str:
    names = {row[1] for row in conn.execute("PRAGMA table_info(posts)")}
    return NEW if NEW in names else OLD


def _set_archived_at(conn: sqlite3.Connection, post_id: int, at: int | None) -> None:
    column = _column(conn)
    value = at if at is None or column == OLD else times.to_text(at)
    changed = conn.execute(f"UPDATE posts SET {column} = ? WHERE id = ?", (value, post_id))
    if changed.rowcount == 0:
        raise LookupError(f"no post {post_id}")
