"""What a process and all it started take together, looked at from outside.

The kernel's own limits bind single processes; a control group would bind them all,
but most users may not make one.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from evalkit.records import Record

MEMORY_EVERY_S = 0.1
DISK_EVERY_S = 1.0
DISK_SHARE = 20
"""A walk that takes long comes so many times its own time later again."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
BLOCK_BYTES = 512


class Caps(Record, frozen=True):
    """What a process and all it started may take together.

    The memory counted is what is theirs alone (anonymous pages), the disk what
    lies in `folders`.
    """

    memory_bytes: int
    n_processes: int
    disk_bytes: int | None = None
    folders: tuple[str, ...] = ()


def can_watch() -> bool:
    """True where the kernel tells the children of a process."""
    return Path("/proc/thread-self/children").exists()


def first_excess(pid: int, caps: Caps, ended: threading.Event) -> str | None:
    """Wait until a process takes too much, and say what; None once it ended."""
    disk_at = time.monotonic()
    while not ended.wait(MEMORY_EVERY_S):
        members = family(pid)
        if len(members) > caps.n_processes:
            return f"it ran over {caps.n_processes:,} processes"
        if sum(map(own_memory_bytes, members)) > caps.memory_bytes:
            return f"its processes held over {caps.memory_bytes:,} bytes of memory"
        if caps.disk_bytes is None or time.monotonic() < disk_at:
            continue
        started = time.monotonic()
        if disk_bytes(caps.folders) > caps.disk_bytes:
            return f"it filled over {caps.disk_bytes:,} bytes of disk"
        took_s = time.monotonic() - started
        disk_at = time.monotonic() + max(DISK_EVERY_S, DISK_SHARE * took_s)
    return None


def end_family(pid: int) -> None:
    """Kill a process and all its descendants, children before their parents."""
    for member in reversed(family(pid)):
        with suppress(OSError):
            os.kill(member, signal.SIGKILL)


def family(pid: int) -> list[int]:
    """A process and all its descendants that are there now."""
    found = [pid]
    for member in found:
        with suppress(OSError):
            for task in os.scandir(f"/proc/{member}/task"):
                with suppress(OSError):
                    found += map(int, Path(task.path, "children").read_text().split())
    return found


def own_memory_bytes(pid: int) -> int:
    """Resident pages of a process that no file or shared memory backs, in bytes."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text("ascii").split()
    except OSError:  # it ended meanwhile
        return 0
    return (int(fields[1]) - int(fields[2])) * PAGE_BYTES


def disk_bytes(folders: Iterable[str]) -> int:
    """Bytes of disk that the files below some folders take."""
    total = 0
    stack = list(folders)
    while stack:
        with suppress(OSError), os.scandir(stack.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
                    if entry.is_dir(follow_symlinks=False):
                        stack.append(entry.path)
    return total
