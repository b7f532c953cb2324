"""The rules for links."""

import contextlib
import re
import secrets
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from hop.limit import Limiter
from hop.store import Link, Store

MAX_TTL_S = 30 * 24 * 3600
MAX_URL_CHARACTERS = 2048
SCHEMES = ("http", "https")
MAX_CREATES = 20
"""A minute, by one client. Twice as many can fall into one second."""


class Refused(Exception):
    """A request that cannot be served; `code` is one of those in API.md."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Service:
    """Creates, finds and deletes links."""

    def __init__(self, store: Store, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now
        self._limiter = Limiter(MAX_CREATES, 60)

    def admit(self, client: str) -> None:
        """Refuse a client that creates too much."""
        if not self._limiter.allows(client, self._now()):
            raise Refused("rate_limited", "too many links, wait a minute")

    def create(self, url: Any, ttl_s: Any) -> Link:
        """Make a link from what a client sent."""
        check_url(url)
        expires_at = None
        if ttl_s is not None:
            if type(ttl_s) is not int or not 1 <= ttl_s <= MAX_TTL_S:
                raise Refused("invalid_request", "ttl_seconds is out of range")
            expires_at = self._now() + ttl_s
        link = Link(secrets.token_urlsafe(9), url, expires_at)
        self._store.add(link)
        return link

    def follow(self, code: str) -> str:
        """Where a link leads to; counts as a hit."""
        link = self._find(code)
        if link.expires_at is not None and self._now() >= link.expires_at:
            raise Refused("gone", "this link has expired")
        with contextlib.suppress(OSError):  # better a hit uncounted than no redirect
            self._store.count(code)
        return link.url

    def hits(self, code: str) -> int:
        """How often a link was followed."""
        return self._find(code).hits

    def delete(self, code: str) -> None:
        """Make a code unknown."""
        if not self._store.remove(code):
            raise unknown()

    def _find(self, code: str) -> Link:
        link = self._store.get(code)
        if link is None:
            raise unknown()
        return link


def unknown() -> Refused:
    """The refusal of an unknown code."""
    return Refused("not_found", "no such link")


def check_url(url: Any) -> None:
    """Refuse what is no web address in printable ASCII characters."""
    if not isinstance(url, str) or not re.fullmatch("[!-~]+", url):
        raise Refused("invalid_request", "url is no text without spaces")
    if len(url) > MAX_URL_CHARACTERS:
        raise Refused("invalid_request", "url is too long")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise Refused("invalid_request", "url is no URL") from None
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise Refused("invalid_request", "url needs http or https, and a host")
