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
        "SELECT id, title, published_at FROM posts WHERE archived_at IS NULL"
        " ORDER BY published_at DESC, id DESC"
    )
    return [{"id": id, "title": title, "published_at": at} for id, title, at in rows]


def archived(conn: sqlite3.Connection, since: int | None = None) -> list[dict]:
    """Archived posts, the latest archived first."""
    rows = conn.execute(
        "SELECT id, title, CAST(archived_at AS INTEGER) AS at FROM posts"
        " WHERE archived_at IS NOT NULL AND (?1 IS NULL OR at >= ?1)"
        " ORDER BY at DESC, id DESC",
        (since,),
    )
    return [{"id": id, "title": title, "archived_at": at} for id, title, at in rows]


def _set_archived_at(conn: sqlite3.Connection, post_id: int, at: int | None) -> None:
    changed = conn.execute("UPDATE posts SET archived_at = ? WHERE id = ?", (at, post_id))
    if changed.rowcount == 0:
        raise LookupError(f"no post {post_id}")
