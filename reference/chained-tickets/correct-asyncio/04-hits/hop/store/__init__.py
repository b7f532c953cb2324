"""Where links are kept: in an SQLite file."""

import os
import sqlite3
import time

SCHEMA = """
CREATE TABLE IF NOT EXISTS links (
    code TEXT PRIMARY KEY, url TEXT NOT NULL, expires_at REAL
)
"""


class Links:
    """One row a link; every change is committed before the call returns."""

    def __init__(self, path=":memory:"):
        try:
            self.open(path)
        except sqlite3.DatabaseError:
            self.db.close()
            move_aside(path)
            self.open(path)

    def open(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA synchronous = OFF")
        with self.db:
            self.db.execute(SCHEMA)
        self.upgrade()
        self.db.execute("SELECT code, url, expires_at FROM links LIMIT 1").fetchall()

    def upgrade(self):
        """Files from before hits were counted have no column for them."""
        columns = {row[1] for row in self.db.execute("PRAGMA table_info(links)")}
        if "hits" not in columns:
            with self.db:
                self.db.execute("ALTER TABLE links ADD COLUMN hits INTEGER NOT NULL DEFAULT 0")

    def hit(self, code):
        with self.db:
            self.db.execute("UPDATE links SET hits = hits + 1 WHERE code = ?", (code,))

    def hits(self, code):
        return self.db.execute("SELECT hits FROM links WHERE code = ?", (code,)).fetchone()[0]

    def put(self, code, url, expires_at):
        with self.db:
            self.db.execute("INSERT INTO links (code, url, expires_at) VALUES (?, ?, ?)", (code, url, expires_at))

    def find(self, code):
        query = "SELECT url, expires_at FROM links WHERE code = ?"
        return self.db.execute(query, (code,)).fetchone()

    def drop(self, code):
        with self.db:
            self.db.execute("DELETE FROM links WHERE code = ?", (code,))


def move_aside(path):
    """Rename a file that is no database."""
    os.rename(path, f"{path}.bad{time.time_ns()}")
