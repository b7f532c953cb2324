"""TCP ports as the kernel lists them: looked at without making a connection."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

LISTENING = "0A"


def _rows() -> Iterator[tuple[int, int, str, int]]:
    """Local port, remote port, state and unread bytes of every TCP socket."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            with open(f"/proc/self/net/{table}", encoding="ascii") as told:
                rows = told.read().splitlines()
            for row in rows[1:]:
                _, local, remote, state, queues, *_ = row.split()
                yield _last(local), _last(remote), state, _last(queues)


def _last(pair: str) -> int:
    return int(pair.rpartition(":")[2], 16)


def listens(port: int) -> bool:
    """True where something listens on a TCP port."""
    return any(row[0] == port and row[2] == LISTENING for row in _rows())


def unread_bytes(port: int, peer_port: int) -> int | None:
    """Bytes that came to `port` from `peer_port` and were not read; None if closed."""
    found = (row[3] for row in _rows() if row[:2] == (port, peer_port))
    return next(found, None)


def free_port() -> int:
    """A TCP port nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
