"""The cache that all services of a host share."""

import json
import sqlite3
import time

TTL_S = 300
SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    db INTEGER, key TEXT, value TEXT, expires_at REAL, PRIMARY KEY (db, key)
)
"""


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


class Field:
    """One field of every entry of a cache, as if it were an entry."""

    def __init__(self, cache, name):
        self._cache = cache
        self._name = name

    def get(self, key):
        return self._fields(key).get(self._name)

    def set(self, key, value):
        self._cache.set(key, {**self._fields(key), self._name: value})

    def delete(self, key):
        fields = self._fields(key)
        fields.pop(self._name, None)
        self._cache.set(key, fields)

    def _fields(self, key):
        return self._cache.get(key) or {}
