"""What a process and all it started take together, looked at from outside.

The kernel's own limits bind single processes; a control group would bind them all,
but most users may not make one.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Sequence
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

    The memory counted is anonymous and shared memory in use by them, a page that
    several use counted once; the disk is what lies in `folders`.
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
        if _holds_over(caps.memory_bytes, members):
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


def _holds_over(n_bytes: int, members: Sequence[int]) -> bool:
    """True where processes together hold more memory than so many bytes."""
    # What is resident counts pages of files and of several processes too often, but
    # costs little: only where that passes is it worth looking closer.
    if sum(resident_bytes(pid) for pid in members) <= n_bytes:
        return False
    return sum(map(memory_bytes, members)) > n_bytes


def resident_bytes(pid: int) -> int:
    """Bytes of memory a process has in use; 0 once it ended."""
    return _statm(pid)[0]


def memory_bytes(pid: int) -> int:
    """A process' share of the anonymous and shared memory it uses, in bytes.

    Of a process that lets nobody look, the whole of its anonymous memory.
    """
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()[1:]
    except OSError:
        resident, shared = _statm(pid)
        return resident - shared
    counts = {row.split()[0]: int(row.split()[1]) for row in rows}
    return sum(counts.get(name, 0) for name in ("Pss_Anon:", "Pss_Shmem:")) * 1024


def _statm(pid: int) -> tuple[int, int]:
    """Bytes resident, and of these such as files or shared memory back."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text("ascii").split()
    except OSError:  # it ended meanwhile
        return 0, 0
    return int(fields[1]) * PAGE_BYTES, int(fields[2]) * PAGE_BYTES


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
