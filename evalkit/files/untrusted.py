"""What somebody else left: read without following, running or waiting on anything.

Every folder is opened from the one above it and every file from its folder, so that
no name is looked up twice and no link is followed, also where something changes
meanwhile.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

CACHE_FOLDERS = frozenset({"__pycache__", ".pytest_cache", ".ruff_cache"})
MAX_BYTES = 64 * 1024 * 1024
MAX_FILES = 20_000
MAX_DEPTH = 32
MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_PATH_BYTES = 1_024
MAX_PATH_SHOWN = 100
MAX_TOLD = 1_000
"""Entries named one by one when they were left out."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Found(NamedTuple):
    """An entry that is no folder: its bytes, or why it was left out."""

    path: str
    data: bytes | None
    executable: bool
    why: str = ""


def walk(folder: Path, below: str = "") -> Iterator[Found]:
    """Every entry below a folder, and why those without bytes have none.

    Args:
        folder: A folder of ours.
        below: Path in it to begin at; a link on the way to it is not followed.
    """
    try:
        with ExitStack() as opened:
            fd = opened.enter_context(_opened(str(folder), _FOLDER, None))
            for part in Path(below).parts:
                fd = opened.enter_context(_opened(part, _FOLDER, fd))
            yield from _walk(fd, "", 0)
    except FileNotFoundError:
        return
    except OSError as error:
        yield Found(below or ".", None, executable=False, why=_reason(error))


def read_at_most(opened: BinaryIO, max_bytes: int) -> bytes:
    """An open file from its beginning, or its first bytes where it has more.

    Memory is taken for the file's own size: `read` takes it for all that it may give.
    """
    n_bytes = os.fstat(opened.fileno()).st_size
    data = opened.read(min(n_bytes + 1, max_bytes))
    if len(data) > n_bytes:  # it has grown, or tells no size
        data += opened.read(max_bytes - len(data))
    return data


def kind_name(mode: int) -> str:
    """What an entry is that is neither a regular file nor a folder, in words."""
    kinds = {
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFDIR: "a folder nested too deep",
    }
    return kinds.get(stat.S_IFMT(mode), "a special file")


def _walk(fd: int, prefix: str, depth: int) -> Iterator[Found]:
    with os.scandir(fd) as entries:
        for entry in entries:
            path = prefix + entry.name
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
                if not stat.S_ISDIR(mode):
                    if not entry.name.endswith(".pyc"):
                        yield _read(fd, entry.name, path, mode)
                elif depth == MAX_DEPTH:
                    yield _left_out(path, kind_name(mode))
                elif entry.name not in CACHE_FOLDERS:
                    with _opened(entry.name, _FOLDER, fd) as inner:
                        yield from _walk(inner, f"{path}/", depth + 1)
            except OSError as error:
                yield _left_out(path, _reason(error))


def _read(folder: int, name: str, path: str, mode: int) -> Found:
    if not stat.S_ISREG(mode):
        return _left_out(path, kind_name(mode))
    if not path.isascii() and _is_broken(path):
        return _left_out(path, "a name that is no Unicode")
    if len(path.encode()) > MAX_PATH_BYTES:
        return _left_out(path[:MAX_PATH_SHOWN], f"a path over {MAX_PATH_BYTES:,} bytes")
    with _opened(name, _FILE, folder) as fd:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return _left_out(path, kind_name(found.st_mode))
        if found.st_size > MAX_FILE_BYTES:
            return _left_out(path, f"{found.st_size:,} bytes")
        with os.fdopen(os.dup(fd), "rb") as opened:
            data = read_at_most(opened, MAX_FILE_BYTES)
    return Found(path, data, executable=bool(found.st_mode & stat.S_IXUSR))


@contextmanager
def _opened(name: str, flags: int, folder: int | None) -> Generator[int]:
    fd = os.open(name, flags, dir_fd=folder)
    try:
        yield fd
    finally:
        os.close(fd)


def _left_out(path: str, why: str) -> Found:
    shown = path.encode("utf-8", "backslashreplace").decode()
    return Found(shown, None, executable=False, why=why)


def _is_broken(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return True
    return False


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
