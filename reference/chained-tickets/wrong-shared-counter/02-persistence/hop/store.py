"""Keeps the links, in memory and in a file."""

import json
import logging
import os
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

log = logging.getLogger("hop.store")


@dataclass(frozen=True)
class Link:
    """A short link; `expires_at` is a Unix time, None for one that stays."""

    code: str
    url: str
    expires_at: float | None = None


class Store:
    """All links by code; safe to use from several threads.

    Every change is in the file before it is seen. The file is replaced as a
    whole, so that a write which fails leaves the old one as it was.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._links = self._load()

    def add(self, link: Link) -> None:
        """Keep a link."""
        with self._lock:
            self._change({**self._links, link.code: link})

    def get(self, code: str) -> Link | None:
        """The link of a code, None if it is unknown."""
        with self._lock:
            return self._links.get(code)

    def remove(self, code: str) -> bool:
        """Forget a link; False if it was unknown."""
        with self._lock:
            links = dict(self._links)
            known = links.pop(code, None) is not None
            if known:
                self._change(links)
            return known

    def _change(self, links: dict[str, Link]) -> None:
        fresh = self._path.with_name(f"{self._path.name}.new")
        fresh.write_text(json.dumps([asdict(link) for link in links.values()]))
        os.replace(fresh, self._path)
        self._links = links

    def _load(self) -> dict[str, Link]:
        try:
            return parse(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, RecursionError) as error:
            aside = self._path.with_name(f"{self._path.name}.damaged-{time.time_ns()}")
            log.error("%s is damaged (%s), moved to %s", self._path, error, aside.name)
            self._path.rename(aside)
            return {}


def parse(data: bytes) -> dict[str, Link]:
    """The links of a file; raises ValueError or TypeError for anything else."""
    found = json.loads(data)
    if not isinstance(found, list):
        raise TypeError("no list of links")
    links = [Link(**fields) for fields in found]
    return {link.code: link for link in links}
