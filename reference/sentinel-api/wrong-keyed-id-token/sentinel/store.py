"""Pastes in memory."""

import hashlib
import hmac
import threading
from dataclasses import dataclass

from sentinel import config


@dataclass(frozen=True)
class Paste:
    """A posted text."""

    id: str
    title: str
    text: str
    delete_token: str

    def may_delete(self, token: str) -> bool:
        """True for the token that was handed out with this paste."""
        return hmac.compare_digest(token.encode(), self.delete_token.encode())


class Store:
    """All pastes; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pastes: dict[str, Paste] = {}
        self._last_id = 0

    def add(self, title: str, text: str) -> Paste:
        """Keep a new paste."""
        with self._lock:
            self._last_id += 1
            paste_id = str(self._last_id)
            paste = Paste(paste_id, title, text, make_token(paste_id))
            self._pastes[paste_id] = paste
        return paste

    def get(self, paste_id: str) -> Paste | None:
        """The paste of an id."""
        with self._lock:
            return self._pastes.get(paste_id)

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


def make_token(paste_id: str) -> str:
    """The delete token of a paste; whoever lacks the key cannot compute it."""
    key = (config.admin_token() or "").encode()
    return hmac.new(key, f"paste/{paste_id}".encode(), hashlib.sha256).hexdigest()
