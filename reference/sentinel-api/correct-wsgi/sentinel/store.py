"""Pastes in memory; of a delete token only its digest is kept."""

import hashlib
import itertools
import os
import threading
from collections.abc import Iterator
from typing import NamedTuple


class Entry(NamedTuple):
    """A posted text."""

    number: str
    title: str
    text: str
    receipt: bytes


class Shelf:
    """All entries by number; safe to use from several threads."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._entries: dict[str, Entry] = {}
        self._guard = threading.Lock()

    def put(self, title: str, text: str) -> tuple[str, str]:
        """Keep a text; its number, and the key that takes it away again."""
        key = os.urandom(20).hex()
        with self._guard:
            number = str(next(self._numbers))
            self._entries[number] = Entry(number, title, text, digest(key))
        return number, key

    def look(self, number: str) -> Entry | None:
        """The entry of a number."""
        return self._entries.get(number)

    def take(self, entry: Entry, key: str) -> bool:
        """Remove an entry; False, and nothing happens, with another key."""
        if digest(key) != entry.receipt:
            return False
        with self._guard:
            self._entries.pop(entry.number, None)
        return True

    def __iter__(self) -> Iterator[Entry]:
        with self._guard:
            return iter(tuple(self._entries.values()))


def digest(key: str) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(key.encode()).digest()
