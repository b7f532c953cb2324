"""What a process in the sandbox may take.

Limits of the kernel bind each process, and its count of processes the sandbox's
user; a root that cannot be dropped is bound by none. What all processes take
together, and their number, is watched from outside; see `process.Caps`.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping

GIB = 1024**3
MIB = 1024**2

AGENT_TMP_BYTES = 512 * MIB
SUBJECT_TMP_BYTES = 64 * MIB
SHM_BYTES = 16 * MIB

AGENT_MEMORY_BYTES = 8 * GIB
AGENT_DISK_BYTES = 4 * GIB
"""Of workspace and home together."""
SUBJECT_MEMORY_BYTES = 2 * GIB

AGENT = {"core": 0, "nproc": 1024, "nofile": 16_384, "fsize": 1 * GIB}
"""No address space is denied: JavaScript engines reserve more than there is."""
SUBJECT = {
    "core": 0,
    "nproc": 512,
    "nofile": 4096,
    "fsize": 2 * SUBJECT_TMP_BYTES,
    "as": 4 * GIB,
}


LEAST = {"nofile": 512, "nproc": 128}
"""Limits of the caller's own below which honest work would fail."""


def lacking() -> tuple[str, str, str] | None:
    """Which limit of the caller's is too low: expected, found, and the cure."""
    for name, least in LEAST.items():
        number = getattr(resource, f"RLIMIT_{name.upper()}")
        soft, hard = resource.getrlimit(number)
        if hard != resource.RLIM_INFINITY and hard < least:
            flag = {"nofile": "-n", "nproc": "-u"}[name]
            return (
                f"a limit of {least} {name} or more",
                str(hard),
                f"ulimit {flag} {least}",
            )
        if soft != resource.RLIM_INFINITY and soft < least:
            resource.setrlimit(number, (least, hard))
    return None


def words(limits: Mapping[str, int]) -> list[str]:
    """The words of `prlimit` that set limits; none above the caller's own."""
    return ["prlimit", *(_word(name, value) for name, value in limits.items())]


def _word(name: str, value: int) -> str:
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    least = value if hard == resource.RLIM_INFINITY else min(value, hard)
    return f"--{name}={least}:{least}"
