"""Files of a check's copy: no path leaves it, no link is followed."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Callable, Generator, Sequence

from evalkit.inside.subject.bounds import (
    MAX_FILES,
    MAX_TEXT,
    Any,
    Json,
    RefusedError,
    text_of,
    write_all,
)

CACHES = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
CHUNK_BYTES = 1_048_576
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Places:
    """The folders of a driver.

    `delivered` is the program, read only. The others are the driver's alone, and
    emptied for every check: a copy of it to work in, a home, and room beside.
    """

    def __init__(self, delivered: str, work: str, home: str, scratch: str) -> None:
        self.delivered = delivered
        self.work = work
        self.home = home
        self.scratch = scratch


def empty(folder: str, keep: str | None = None) -> None:
    """Remove all in a folder but `keep`, and what is mounted from elsewhere.

    A program may nest folders deeper than calls or paths go: one is open at a time,
    entered by its name and left by `..`. A link or file in the folder's place goes too.

    Raises:
        OSError: Something cannot be removed.
    """
    try:
        fd = os.open(folder, FOLDER)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        os.unlink(folder)
        return
    device, above = os.fstat(fd).st_dev, list[tuple[int, str, list[str]]]()
    try:
        name, inner = "", _unlink_files(fd, device)
        inner = [one for one in inner if f"{folder}/{one}" != keep]
        while inner or above:
            if inner:
                entered, here = inner.pop(), os.fstat(fd).st_ino
                with contextlib.suppress(PermissionError):  # it is the sandbox's own
                    os.chmod(entered, 0o700, dir_fd=fd)
                fd = _moved(fd, entered)
                above.append((here, name, inner))
                name, inner = entered, _unlink_files(fd, device)
            else:
                emptied = name
                inode, name, inner = above.pop()
                fd = _moved(fd, "..")
                if os.fstat(fd).st_ino != inode:
                    raise OSError(errno.ESTALE, "moved while it was emptied", emptied)
                with contextlib.suppress(OSError):  # a mount stands in it
                    os.rmdir(emptied, dir_fd=fd)
    finally:
        os.close(fd)


def _unlink_files(fd: int, device: int) -> list[str]:
    """Remove what is no folder; the folders, without those mounted from elsewhere."""
    folders: list[str] = []
    with os.scandir(fd) as entries:
        for entry in entries:
            if entry.stat(follow_symlinks=False).st_dev != device:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=fd)
    return folders


def _moved(fd: int, name: str) -> int:
    """Descriptor of a folder beside another's, which is closed."""
    reached = os.open(name, FOLDER, dir_fd=fd)
    os.close(fd)
    return reached


def remove(folder: str) -> None:
    """Remove a folder, as far as that can be done."""
    with contextlib.suppress(OSError):
        empty(folder)
        os.rmdir(folder)


def copy_tree(source: str, target: str, root: str | None = None) -> None:
    """Copy regular files and folders, without caches.

    Relative links that stay inside are kept as links, all others left out.
    """
    root = root or os.path.realpath(source)
    os.makedirs(target, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            goal = f"{target}/{entry.name}"
            if entry.is_symlink():
                if _stays_inside(entry.path, root):
                    os.symlink(os.readlink(entry.path), goal)
            elif entry.is_dir():
                if entry.name not in CACHES:
                    copy_tree(entry.path, goal, root)
            elif entry.is_file():
                _copy_file(entry.path, goal)
                seen = entry.stat()
                os.chmod(goal, seen.st_mode & 0o777 | 0o600)
                os.utime(goal, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _copy_file(source: str, target: str) -> None:
    with io.FileIO(source) as read, io.FileIO(target, "w") as written:
        while chunk := read.read(CHUNK_BYTES):
            write_all(written.fileno(), chunk)


def _stays_inside(link: str, root: str) -> bool:
    """Whether a link is relative and leads, not in circles, to somewhere in `root`."""
    if os.path.isabs(os.readlink(link)):
        return False
    try:
        return is_inside(os.path.realpath(link, strict=True), root)
    except (FileNotFoundError, NotADirectoryError):
        return is_inside(os.path.realpath(link), root)
    except OSError:
        return False


def is_inside(path: str, root: str) -> bool:
    """Whether a resolved path is a folder, or lies in it."""
    return f"{path}/".startswith(f"{root}/")


def parts_of(path: str) -> tuple[str, ...]:
    """Parts of a relative path; refuses one that could leave the copy."""
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise RefusedError(f"path outside the copy: {path}")
    return parts


@contextlib.contextmanager
def open_folder(root: str, parts: Sequence[str], *, make: bool) -> Generator[int]:
    """Descriptor of a folder below `root`, reached without following a link."""
    fd = os.open(root, FOLDER)
    try:
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
            fd = _moved(fd, part)
        yield fd
    finally:
        os.close(fd)


def read_text(root: str, path: str) -> str | None:
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


def write_text(root: str, path: str, text: str) -> None:
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


def list_files(root: str, path: str) -> list[str]:
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

    def __init__(self, root: str) -> None:
        self.root = root
        self.ops: dict[str, Callable[[Json], Any]] = {
            "read": lambda question: read_text(root, question["path"]),
            "list": lambda question: list_files(root, question["path"]),
            "write": lambda q: write_text(root, q["path"], q["text"]),
        }

    def folder(self, path: str) -> str:
        """Absolute path of a folder in it, to run a process in."""
        folder = os.path.join(self.root, *parts_of(path))
        if not is_inside(os.path.realpath(folder), os.path.realpath(self.root)):
            raise RefusedError(f"path outside the copy: {path}")
        if not os.path.isdir(folder):
            raise RefusedError(f"no such folder: {path}")
        return folder
