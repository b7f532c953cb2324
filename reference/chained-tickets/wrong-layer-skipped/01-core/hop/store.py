"""Keeps the links, in memory."""

import threading
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A short link; `expires_at` is a Unix time, None for one that stays."""

    code: str
    url: str
    expires_at: float | None = None


class Store:
    """All links by code; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._links: dict[str, Link] = {}

    def add(self, link: Link) -> None:
        """Keep a link."""
        with self._lock:
            self._links[link.code] = link

    def get(self, code: str) -> Link | None:
        """The link of a code, None if it is unknown."""
        with self._lock:
            return self._links.get(code)

    def remove(self, code: str) -> bool:
        """Forget a link; False if it was unknown."""
        with self._lock:
            return self._links.pop(code, None) is not None
