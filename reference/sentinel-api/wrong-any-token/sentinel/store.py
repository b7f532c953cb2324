"""Pastes in memory."""

import hashlib
import secrets
import threading
from dataclasses import dataclass


@dataclass(frozen=True)
class Paste:
    """A posted text."""

    id: str
    title: str
    text: str
    delete_token: str


class Store:
    """All pastes; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pastes: dict[str, Paste] = {}
        self._last_id = 0
        self._tokens: set[bytes] = set()

    def add(self, title: str, text: str) -> Paste:
        """Keep a new paste."""
        with self._lock:
            self._last_id += 1
            paste_id = str(self._last_id)
            paste = Paste(paste_id, title, text, make_token())
            self._pastes[paste_id] = paste
            self._tokens.add(digest(paste.delete_token))
        return paste

    def get(self, paste_id: str) -> Paste | None:
        """The paste of an id."""
        with self._lock:
            return self._pastes.get(paste_id)

    def may_delete(self, token: str) -> bool:
        """True for a token that was handed out."""
        with self._lock:
            return digest(token) in self._tokens

    def remove(self, paste_id: str) -> None:
        """Forget a paste."""
        with self._lock:
            self._pastes.pop(paste_id, None)

    def all(self) -> list[Paste]:
        """All pastes, oldest first."""
        with self._lock:
            return list(self._pastes.values())

    def find(self, query: str) -> list[Paste]:
        """Pastes whose title contains the query, in any case."""
        wanted = query.casefold()
        return [paste for paste in self.all() if wanted in paste.title.casefold()]


def digest(token: str) -> bytes:
    """What is looked up of a token; takes no longer for a near miss."""
    return hashlib.sha256(token.encode()).digest()


def make_token() -> str:
    """A fresh delete token."""
    return secrets.token_urlsafe(24)
