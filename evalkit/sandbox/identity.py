"""The user a sandboxed process runs as.

An ordinary user keeps its own uid, in a user namespace. Root would be exempt from
the limit on processes, and could read what it finds: it builds the sandbox itself,
so that a home that only root can enter may still be bound, and gives up to a uid
that nobody uses before the program starts. Each sandbox gets another one, so that
each has its own count of processes.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from evalkit.records import Record

UNUSED = ((1_900_000_000, 100_000_000), (65_000, 500))
"""First of users that nobody is, and how many; Debian keeps 65000 to 65533 free."""
NEEDED_RIGHTS = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "SETPCAP": 8,
    "NET_ADMIN": 12,
    "SYS_ADMIN": 21,
}
"""Bits of the capabilities with which root builds a sandbox, then gives itself up."""


class Identity(Record, frozen=True):
    """Numbers of a user; `drops` says that root gives itself up for it."""

    uid: int
    gid: int
    drops: bool

    @property
    def namespace(self) -> tuple[str, ...]:
        """Words of bwrap that make the process fit to become this user."""
        if not self.drops:
            return ("--unshare-user", "--cap-drop", "ALL")
        needed = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
        return ("--cap-drop", "ALL", *(w for c in needed for w in ("--cap-add", c)))

    @property
    def become(self) -> tuple[str, ...]:
        """Words before the program's own that become this user for good."""
        if not self.drops:
            return ()
        return (
            "setpriv",
            f"--reuid={self.uid}",
            f"--regid={self.gid}",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
        )

    def give(self, folder: Path) -> None:
        """Make a folder of ours this user's own, once, with all we put into it."""
        if self.drops and folder.exists() and folder.stat().st_uid != self.uid:
            for inner, folders, names in os.walk(folder):
                for name in (*folders, *names):
                    path = f"{inner}/{name}"
                    os.chown(path, self.uid, self.gid, follow_symlinks=False)
            # Last: it says that all is given.
            os.chown(folder, self.uid, self.gid, follow_symlinks=False)


def next_identity() -> Identity:
    """Who the next sandbox runs as."""
    if may_drop():
        first, n_unused = unused()
        # Drawn, not counted: another evalkit may count in a namespace of its own.
        number = first + secrets.randbelow(n_unused)
        return Identity(number, number, drops=True)
    return Identity(os.getuid(), os.getgid(), drops=False)


def unused() -> tuple[int, int]:
    """The first of the users set aside here, and how many there are; (0, 0): none."""
    spans = ((first, n) for first, n in UNUSED if _maps(first) and _maps(first + n - 1))
    return next(spans, (0, 0))


def may_drop() -> bool:
    """True for a root that has the rights, and could become the users set aside.

    Other roots, in most containers and in user namespaces, are as ordinary users.
    """
    return os.geteuid() == 0 and _has_rights() and unused()[1] > 0


def _has_rights() -> bool:
    status = Path("/proc/self/status").read_text("ascii", "replace")
    line = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    held = int(line.split()[1], 16)
    return all(held >> bit & 1 for bit in NEEDED_RIGHTS.values())


def _maps(uid: int) -> bool:
    rows = Path("/proc/self/uid_map").read_text("ascii").splitlines()
    spans = [(int(first), int(count)) for first, _, count in map(str.split, rows)]
    return any(first <= uid < first + count for first, count in spans)
