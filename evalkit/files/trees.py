"""Trusted trees, which hold regular files only, and what an agent left, taken over.

A *trusted* tree (cases, graders, skills) that holds anything else is an error. Of an
*untrusted* one `snapshot` takes regular files within caps, and names what it left out.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import InputError
from evalkit.files import disk, untrusted
from evalkit.files.regular import read_regular


class Entry(NamedTuple):
    """One regular file of a tree; `path` is relative, with forward slashes."""

    path: str
    data: bytes
    executable: bool = False


def read_tree(
    folder: Path, *, max_bytes: int = untrusted.MAX_FILE_BYTES
) -> tuple[Entry, ...]:
    """All files of a trusted tree, sorted by path; caches are passed over.

    Raises:
        InputError: The folder is missing, holds a link or a special file, or a
            file over `max_bytes`.
    """
    if not folder.is_dir() or folder.is_symlink():
        raise InputError(
            folder, expected="a folder", found="none", cure="create the folder"
        )
    entries: list[Entry] = []
    len_above = len(os.path.join(folder, ""))
    for path, found, is_entered in _walk(folder):
        if is_entered:
            continue
        mode = found.st_mode
        if not stat.S_ISREG(mode):
            raise InputError(
                path,
                expected="regular files and folders only",
                found=untrusted.kind_name(mode),
                cure="replace it by what it stands for",
            )
        data = read_regular(Path(path), max_bytes=max_bytes)
        name = path[len_above:]
        entries.append(Entry(name, data, executable=bool(mode & stat.S_IXUSR)))
    return _sorted(entries)


def _sorted(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.path.encode()))


def digest_entries(entries: tuple[Entry, ...]) -> str:
    """sha256 over path, executable bit, size and bytes of each file, in order."""
    total = hashlib.sha256()
    for entry in entries:
        mode = "x" if entry.executable else "-"
        total.update(f"{entry.path}\0{mode}\0{len(entry.data)}\0".encode())
        total.update(hashlib.sha256(entry.data).digest())
    return total.hexdigest()


def tree_digest(folder: Path) -> str:
    """Digest of a trusted tree; see `digest_entries`."""
    return digest_entries(read_tree(folder))


class Watch:
    """Files, and folders with all below them, to tell later whether any was touched.

    Sizes and times only, so that asking is cheap enough before every block of a run,
    whose inputs are hundreds of files: nothing is listed again, for the time of a
    folder tells of what came and went, also where it went again. Caches are passed
    over, but for being made. A second change within one tick of the file system's
    clock, some milliseconds, that leaves the size as it was is not seen.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        given = list(paths)
        folders = [path for path in given if path.is_dir()]
        # Lazily: a folder's time is taken before it is listed, so that what comes
        # meanwhile is seen.
        below = (path for folder in folders for path, *_ in _walk(folder))
        self._seen = {path: _times(path) for path in chain(map(str, given), below)}

    def touched(self) -> bool:
        """True where one of them changed, came or went; a link is what it leads to."""
        return any(_times(path) != seen for path, seen in self._seen.items())


def _times(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def write_entries(entries: tuple[Entry, ...], folder: Path) -> None:
    """Write files below a folder, over what is there."""
    made: set[str] = set()
    for entry in entries:
        _write_entry(entry, folder, made)


def _write_entry(entry: Entry, folder: Path, made: set[str]) -> None:
    """Write a file below a folder; `made` are folders that are known to be there."""
    target = os.path.join(folder, safe_relative(entry.path))
    parent = os.path.dirname(target)
    if parent not in made:
        os.makedirs(parent, exist_ok=True)
        made.add(parent)
    with open(target, "wb", buffering=0) as opened:
        disk.write_all(opened, entry.data)
        os.fchmod(opened.fileno(), 0o755 if entry.executable else 0o644)


def safe_relative(path: str) -> Path:
    """`path` as a relative path that stays below its folder.

    Raises:
        InputError: It is absolute, empty, or climbs out.
    """
    relative = Path(path)
    if relative.is_absolute() or ".." in relative.parts or not relative.parts:
        raise InputError(
            path,
            expected="a relative path inside its folder",
            found=repr(path),
            cure="name a file below the folder, without `..`",
        )
    return relative


class Snapshot(NamedTuple):
    """What was taken, sorted by path, and what was left out.

    The latter each as `path: why`, sorted; the end of a long list is only counted.
    """

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...]


def snapshot(source: Path, target: Path, *, below: str = "") -> Snapshot:
    """Copy what an agent left, regular files only, into a new private folder.

    Args:
        source: A folder of ours, in which all may be somebody else's.
        target: Made.
        below: Path in the source to begin at; no link on the way is followed.
    """
    entries: list[Entry] = []
    left_out: list[str] = []
    made: set[str] = set()
    n_bytes = 0
    for found in untrusted.walk(source, below):
        why = found.why
        if found.data is not None:
            if len(entries) == untrusted.MAX_FILES:
                why = f"over {untrusted.MAX_FILES:,} files"
            elif n_bytes + len(found.data) > untrusted.MAX_BYTES:
                why = f"over {untrusted.MAX_BYTES:,} bytes in all"
            else:
                entry = Entry(found.path, found.data, executable=found.executable)
                _write_entry(entry, target, made)
                entries.append(entry)
                n_bytes += len(found.data)
        if why:
            left_out.append(f"{found.path}: {why}")
    target.mkdir(parents=True, exist_ok=True)
    told = sorted(left_out)[: untrusted.MAX_TOLD]
    n_more = len(left_out) - len(told)
    more = (f"... and {n_more:,} more",) if n_more else ()
    return Snapshot(_sorted(entries), (*told, *more))


def sync_tree(folder: Path) -> None:
    """Make every file and name below a folder durable; raises OSError where it cannot."""
    for inner, _, names in os.walk(folder, onerror=_raise):
        for path in (*(os.path.join(inner, name) for name in names), inner):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _raise(error: OSError) -> None:
    raise error


def remove_tree(folder: Path) -> None:
    """Remove a folder of ours with everything in it; none is fine."""
    with suppress(OSError):
        _empty(folder)
        folder.rmdir()


@contextmanager
def private_folder() -> Generator[Path]:
    """A short-lived folder that only we can enter; removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="evalkit-"))
    try:
        yield folder
    finally:
        remove_tree(folder)


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result, bool]]:
    """Every entry below a trusted folder, and whether it is a folder to be entered.

    Caches are left out. A folder nested deeper than `untrusted.MAX_DEPTH` is not
    entered. No Path is made of an entry: there may be thousands.
    """
    stack = [(str(folder), 0)]
    while stack:
        inner, depth = stack.pop()
        with os.scandir(inner) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                if not stat.S_ISDIR(found.st_mode):
                    if not entry.name.endswith(".pyc"):
                        yield entry.path, found, False
                elif entry.name not in untrusted.CACHE_FOLDERS:
                    entered = depth < untrusted.MAX_DEPTH
                    yield entry.path, found, entered
                    if entered:
                        stack.append((entry.path, depth + 1))


def _empty(folder: Path) -> None:
    """Remove all in a folder, however deep: what lies deep is moved up first."""
    n_moved = 0
    while left := list(os.scandir(folder)):
        for entry in left:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, 0o700)
                    n_moved += 1
                    above = os.path.join(folder, f".moved-{os.getpid()}-{n_moved}")
                    os.rename(inner.path, above)
                else:
                    os.unlink(inner.path)
            os.rmdir(entry.path)
