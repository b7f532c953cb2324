"""Posts, live and archived."""

import sqlite3

from press import times


def add(conn: sqlite3.Connection, title: str, published_at: int) -> int:
    """Add a live post and return its id."""
    row = conn.execute(
        "INSERT INTO posts (title, published_at) VALUES (?, ?)", (title, published_at)
    )
    return row.lastrowid


def archive(conn: sqlite3.Connection, post_id: int, at: int) -> None:
    """Archive a post."""
    _set_archived_at(conn, post_id, times.to_text(at))


def restore(conn: sqlite3.Connection, post_id: int) -> None:
    """Make an archived post live again."""
    _set_archived_at(conn, post_id, None)


def live(conn: sqlite3.Connection) -> list[dict]:
    """Posts that are not archived, the latest first."""
    rows = conn.execute(
        "SELECT id, title, published_at FROM posts WHERE archived_at_utc IS NULL"
        " ORDER BY published_at DESC, id DESC"
    )
    return [{"id": id, "title": title, "published_at": at} for id, title, at in rows]


def archived(conn: sqlite3.Connection, since: int | None = None) -> list[dict]:
    """Archived posts, the latest archived first."""
    rows = conn.execute(
        "SELECT id, title, archived_at_utc FROM posts"
        " WHERE archived_at_utc IS NOT NULL AND archived_at_utc >= ?"
        " ORDER BY archived_at_utc DESC, id DESC",
        ("" if since is None else times.to_text(since),),
    )
    return [
        {"id": id, "title": title, "archived_at": times.to_seconds(text)}
        for id, title, text in rows
    ]


def _set_archived_at(conn: sqlite3.Connection, post_id: int, text: str | None) -> None:
    changed = conn.execute(
        "UPDATE posts SET archived_at_utc = ? WHERE id = ?", (text, post_id)
    )
    if changed.rowcount == 0:
        raise LookupError(f"no post {post_id}")
