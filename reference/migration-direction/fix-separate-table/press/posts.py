"""Posts, live and archived."""

import sqlite3


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
        "SELECT id, title, published_at FROM posts WHERE id NOT IN (SELECT post_id FROM archive)"
        " ORDER BY published_at DESC, id DESC"
    )
    return [{"id": id, "title": title, "published_at": at} for id, title, at in rows]


def archived(conn: sqlite3.Connection, since: int | None = None) -> list[dict]:
    """Archived posts, the latest archived first."""
    rows = conn.execute(
        "SELECT id, title, at FROM posts JOIN archive ON post_id = id"
        " WHERE ?1 IS NULL OR at >= ?1"
        " ORDER BY at DESC, id DESC",
        (since,),
    )
    return [{"id": id, "title": title, "archived_at": at} for id, title, at in rows]


def _set_archived_at(conn: sqlite3.Connection, post_id: int, at: int | None) -> None:
    known = conn.execute("SELECT 1 FROM posts WHERE id = ?", (post_id,)).fetchone()
    if known is None:
        raise LookupError(f"no post {post_id}")
    conn.execute("DELETE FROM archive WHERE post_id = ?", (post_id,))
    if at is not None:
        conn.execute("INSERT INTO archive VALUES (?, ?)", (post_id, at))
