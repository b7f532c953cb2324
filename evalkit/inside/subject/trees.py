"""Files of a check's copy: no path leaves it, no link is followed."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
from collections.abc import Callable, Generator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from evalkit.inside.subject.bounds import (
    MAX_FILES,
    MAX_TEXT,
    Json,
    RefusedError,
    text_of,
    write_all,
)

CACHES = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}


class Places(NamedTuple):
    """The folders of a driver.

    `delivered` is the program, read only. The others are the driver's alone, and
    emptied for every check: a copy of it to work in, a home, and room beside.
    """

    delivered: Path
    work: Path
    home: Path
    scratch: Path


def empty(folder: Path, keep: Path | None = None) -> None:
    """Remove all in a folder but `keep`, and what is mounted from elsewhere."""
    if not folder.is_dir():
        return
    device = folder.stat().st_dev
    with os.scandir(folder) as entries:
        for entry in entries:
            path = Path(entry.path)
            if path == keep or entry.stat(follow_symlinks=False).st_dev != device:
                continue
            if entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):  # a mount stands in it
                    path.chmod(0o700)
                    empty(path, keep)
                    path.rmdir()
            else:
                path.unlink()


def copy_tree(source: Path, target: Path, root: Path | None = None) -> None:
    """Copy regular files and folders, without caches.

    Relative links that stay inside are kept as links, all others left out.
    """
    root = root or source.resolve()
    target.mkdir(parents=True, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            goal = target / entry.name
            if entry.is_symlink():
                if _stays_inside(Path(entry.path), root):
                    goal.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir():
                if entry.name not in CACHES:
                    copy_tree(Path(entry.path), goal, root)
            elif entry.is_file():
                shutil.copyfile(entry.path, goal)
                seen = entry.stat()
                goal.chmod(seen.st_mode & 0o777 | 0o600)
                os.utime(goal, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _stays_inside(link: Path, root: Path) -> bool:
    try:
        return not link.readlink().is_absolute() and link.resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def parts_of(path: str) -> tuple[str, ...]:
    """Parts of a relative path; refuses one that could leave the copy."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise RefusedError(f"path outside the copy: {path}")
    return pure.parts


@contextlib.contextmanager
def open_folder(root: Path, parts: Sequence[str], *, make: bool) -> Generator[int]:
    """Descriptor of a folder below `root`, reached without following a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(root, flags)
    try:
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
            inner = os.open(part, flags, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def read_text(root: Path, path: str) -> str | None:
    """Text of a regular file, None where there is none; refuses a large one."""
    *folders, name = parts_of(path) or (".",)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open_folder(root, folders, make=False) as folder:
            fd = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}:
            return None
        raise RefusedError(f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    with io.FileIO(fd) as file:
        data = file.read(MAX_TEXT + 1)
    if len(data or b"") > MAX_TEXT:
        raise RefusedError(f"{path}: too large, over {MAX_TEXT} bytes")
    return text_of(data or b"")


def write_text(root: Path, path: str, text: str) -> None:
    """Write a regular file below `root`, making its folders."""
    *folders, name = parts_of(path) or (".",)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        with (
            open_folder(root, folders, make=True) as folder,
            io.FileIO(os.open(name, flags, 0o644, dir_fd=folder), "w") as file,
        ):
            write_all(file.fileno(), text.encode())
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from error


def list_files(root: Path, path: str) -> list[str]:
    """Paths, from `root`, of the regular files below a folder, sorted."""
    found: list[str] = []
    stack = [parts_of(path)]
    while stack:
        parts = stack.pop()
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            open_folder(root, parts, make=False) as folder,
            os.scandir(folder) as entries,
        ):
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in CACHES:
                        stack.append((*parts, entry.name))
                elif entry.is_file(follow_symlinks=False) and not entry.name.endswith(
                    ".pyc"
                ):
                    found.append("/".join((*parts, entry.name)))
        if len(found) + len(stack) > MAX_FILES:
            raise RefusedError(f"{path}: over {MAX_FILES} files")
    return sorted(text_of(os.fsencode(name)) for name in found)


class Copy:
    """A check's own copy of the delivered program."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ops: dict[str, Callable[[Json], Any]] = {
            "read": lambda question: read_text(root, question["path"]),
            "list": lambda question: list_files(root, question["path"]),
            "write": lambda q: write_text(root, q["path"], q["text"]),
        }

    def folder(self, path: str) -> str:
        """Absolute path of a folder in it, to run a process in."""
        folder = self.root.joinpath(*parts_of(path))
        if not folder.resolve().is_relative_to(self.root.resolve()):
            raise RefusedError(f"path outside the copy: {path}")
        if not folder.is_dir():
            raise RefusedError(f"no such folder: {path}")
        return str(folder)
