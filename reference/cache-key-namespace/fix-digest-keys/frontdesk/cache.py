"""The cache that all services of a host share."""

import hashlib
import json
import sqlite3
import time

TTL_S = 300
SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    db INTEGER, key TEXT, value TEXT, expires_at REAL, PRIMARY KEY (db, key)
)
"""


def digest(*parts):
    """A key of fixed length for what identifies an entry."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Cache:
    """Entries of one database in the file at `path`."""

    def __init__(self, path, db=0, clock=time.time):
        self._entries = sqlite3.connect(path, timeout=10, isolation_level=None)
        self._entries.execute(SCHEMA)
        self._db = db
        self._clock = clock

    def get(self, key):
        """The value of an entry, or None where there is none that is good."""
        found = self._entries.execute(
            "SELECT value FROM entries WHERE db = ? AND key = ? AND expires_at > ?",
            (self._db, key, self._clock()),
        ).fetchone()
        return None if found is None else json.loads(found[0])

    def set(self, key, value):
        self._entries.execute(
            "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)",
            (self._db, key, json.dumps(value), self._clock() + TTL_S),
        )

    def delete(self, key):
        self._entries.execute(
            "DELETE FROM entries WHERE db = ? AND key = ?", (self._db, key)
        )

    def close(self):
        self._entries.close()
