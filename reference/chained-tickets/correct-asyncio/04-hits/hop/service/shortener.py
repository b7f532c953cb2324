"""Makes short links and finds them again."""

import random
import string
import time
from typing import Any

from ..errors import Expired, TooMany, Unknown
from ..store import Links
from .checks import checked_ttl, checked_url
from .throttle import Throttle

ALPHABET = string.ascii_letters + string.digits


class Shortener:
    """Everything one can do with links; `clock` tells Unix time."""

    def __init__(self, links: Links | None = None, clock: Any = time.time) -> None:
        self.links = links if links is not None else Links()
        self.clock = clock
        self.throttle = Throttle()

    def create(self, wanted: dict[str, Any], client: str) -> dict[str, Any]:
        if not self.throttle.admits(client, self.clock()):
            raise TooMany("too many links within a minute")
        url, ttl = checked_url(wanted.get("url")), checked_ttl(wanted.get("ttl_seconds"))
        expires_at = None if ttl is None else self.clock() + ttl
        code = "".join(random.SystemRandom().choices(ALPHABET, k=8))
        self.links.put(code, url, expires_at)
        return {"code": code, "url": url, "expires_at": expires_at}

    def follow(self, code: str) -> str:
        url, expires_at = self.found(code)
        if expires_at is not None and expires_at <= self.clock():
            raise Expired("link has expired")
        self.links.hit(code)
        return url

    def delete(self, code: str) -> None:
        self.found(code)
        self.links.drop(code)

    def hits(self, code: str) -> int:
        self.found(code)
        return self.links.hits(code)

    def found(self, code: str) -> tuple[str, float | None]:
        row = self.links.find(code)
        if row is None:
            raise Unknown("no such link")
        return row
