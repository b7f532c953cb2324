"""The only door to files: safe reading, tree digests, deterministic tar, atomic writes.

Two kinds of trees are told apart. A *trusted* tree (cases, graders, skills) must
hold regular files only; anything else is an error. An *untrusted* tree (what an
agent left) is copied by `snapshot`, which takes regular files within caps and
names what it left out.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
import tempfile
import tomllib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from evalkit.errors import InputError
from evalkit.files import disk, untrusted

T = TypeVar("T")


class Entry(NamedTuple):
    """One regular file of a tree; `path` is relative, with forward slashes."""

    path: str
    data: bytes
    executable: bool = False


def open_regular(path: Path, *, follow: bool = False) -> io.BufferedReader:
    """Open a regular file to read it, without waiting on a pipe.

    Args:
        path: The file.
        follow: Follow a link to it.

    Raises:
        InputError: It is missing, or not a regular file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        handle = os.open(path, flags)
    except OSError as error:
        raise InputError(
            path,
            expected="a readable regular file",
            found=error.strerror or str(error),
            cure="restore the file",
        ) from error
    found = os.fstat(handle).st_mode
    if not stat.S_ISREG(found):
        os.close(handle)
        is_folder = stat.S_ISDIR(found)
        raise InputError(
            path,
            expected="a regular file",
            found="a folder" if is_folder else untrusted.kind_name(found),
            cure="put a regular file there",
        )
    return os.fdopen(handle, "rb")


def read_regular(path: Path, *, max_bytes: int = untrusted.MAX_FILE_BYTES) -> bytes:
    """Read a regular file without following a link or waiting on a pipe.

    Raises:
        InputError: It is missing, not a regular file, or over `max_bytes`.
    """
    with open_regular(path) as opened:
        data = untrusted.read_at_most(opened, max_bytes + 1)
        if len(data) > max_bytes:
            raise InputError(
                path,
                expected=f"at most {max_bytes:,} bytes",
                found=f"{os.fstat(opened.fileno()).st_size:,} bytes",
                cure="make the file smaller",
            )
    return data


def expect_writable(path: Path) -> None:
    """Raise InputError where a file cannot be put: it would replace something else."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InputError(
            path,
            expected="a regular file that is written anew, or none yet",
            found="a link" if path.is_symlink() else "a folder or special file",
            cure="remove it",
        )


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
    for path, found in _walk(folder):
        mode = found.st_mode
        if not stat.S_ISREG(mode):
            raise InputError(
                path,
                expected="regular files and folders only",
                found=untrusted.kind_name(mode),
                cure="replace it by what it stands for",
            )
        data = read_regular(Path(path), max_bytes=max_bytes)
        name = os.path.relpath(path, folder)
        entries.append(Entry(name, data, executable=bool(mode & stat.S_IXUSR)))
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


def sha256(data: bytes) -> str:
    """Hexadecimal sha256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """Hexadecimal sha256 of a file of any size."""
    with open_regular(path, follow=True) as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def watch(paths: Iterable[Path]) -> tuple[tuple[str, int, int, int], ...]:
    """Path, size, and times (ns) of change of files, and of all below folders."""
    return tuple(
        sorted(
            (str(path), found.st_size, found.st_mtime_ns, found.st_ctime_ns)
            for given in paths
            if given.exists()
            for path, found in (
                _walk(given) if given.is_dir() else [(given, given.lstat())]
            )
        )
    )


def write_entries(entries: tuple[Entry, ...], folder: Path) -> None:
    """Write files below a folder, over what is there."""
    made: set[Path] = set()
    for entry in entries:
        _write_entry(entry, folder, made)


def _write_entry(entry: Entry, folder: Path, made: set[Path]) -> None:
    """Write a file below a folder; `made` are folders that are known to be there."""
    target = folder / safe_relative(entry.path)
    if target.parent not in made:
        target.parent.mkdir(parents=True, exist_ok=True)
        made.add(target.parent)
    with target.open("wb", buffering=0) as opened:
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


def snapshot(source: Path, target: Path, *, below: str = "") -> tuple[str, ...]:
    """Copy what an agent left, regular files only, into a new private folder.

    Args:
        source: A folder of ours, in which all may be somebody else's.
        target: Made.
        below: Path in the source to begin at; no link on the way is followed.

    Returns:
        What was left out, each as `path: why`, sorted; the end of a long list is
        only counted.
    """
    left_out: list[str] = []
    made: set[Path] = set()
    n_files = n_bytes = 0
    for found in untrusted.walk(source, below):
        why = found.why
        if found.data is not None:
            if n_files == untrusted.MAX_FILES:
                why = f"over {untrusted.MAX_FILES:,} files"
            elif n_bytes + len(found.data) > untrusted.MAX_BYTES:
                why = f"over {untrusted.MAX_BYTES:,} bytes in all"
            else:
                entry = Entry(found.path, found.data, executable=found.executable)
                _write_entry(entry, target, made)
                n_files, n_bytes = n_files + 1, n_bytes + len(found.data)
        if why:
            left_out.append(f"{found.path}: {why}")
    target.mkdir(parents=True, exist_ok=True)
    told = sorted(left_out)[: untrusted.MAX_TOLD]
    n_more = len(left_out) - len(told)
    return (*told, f"... and {n_more:,} more") if n_more else tuple(told)


def pack(folder: Path, *, max_bytes: int = untrusted.MAX_FILE_BYTES) -> bytes:
    """A tar of a trusted tree whose bytes depend on its content alone.

    Raises:
        InputError: As `read_tree` does.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in read_tree(folder, max_bytes=max_bytes):
            info = tarfile.TarInfo(entry.path)
            info.size = len(entry.data)
            info.mode = 0o755 if entry.executable else 0o644
            tar.addfile(info, io.BytesIO(entry.data))
    return buffer.getvalue()


def unpack(archive: bytes, folder: Path, *, leaving_out: str | None = None) -> None:
    """Extract a tar of ours below a folder; nothing may leave it.

    Args:
        archive: The tar.
        folder: Made if missing.
        leaving_out: Path of a file in it that is not wanted.

    Raises:
        InputError: It is no plain tar of regular files, as `pack` makes them, and
            of folders, which git adds.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            entries = tuple(e for e in _unpacked(tar) if e.path != leaving_out)
    except (tarfile.TarError, ValueError) as error:
        raise InputError(
            "archive of a workspace",
            expected="a plain tar of regular files",
            found=str(error),
            cure="restore it from a copy",
        ) from error
    folder.mkdir(parents=True, exist_ok=True)
    write_entries(entries, folder)


def _unpacked(tar: tarfile.TarFile) -> Iterator[Entry]:
    # Not extractall: its filters came with Python 3.11.4.
    for member in tar:
        opened = tar.extractfile(member) if member.isreg() else None
        if opened is not None and not member.issparse():
            executable = bool(member.mode & stat.S_IXUSR)
            yield Entry(member.name, opened.read(), executable=executable)
        elif not member.isdir():
            raise ValueError(f"{member.name}, which is no regular file")


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file so that a crash leaves the old or the new one, never half.

    Args:
        path: The file.
        data: What it is to hold.
        durable: Wait for the disk; else that holds for a crash of this process only,
            not for one of the machine.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with temporary.open("wb") as opened:
            opened.write(data)
            opened.flush()
            if durable:
                os.fsync(opened.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def clear_unwritten(path: Path) -> None:
    """Remove what a killed `write_atomic` left; nobody may write it meanwhile."""
    for left in path.parent.glob(f".{path.name}.*.new"):
        left.unlink()


def write_once(path: Path, data: bytes) -> None:
    """Create a file that must not exist yet, and make it durable.

    Raises:
        InputError: It exists already.
    """
    try:
        with path.open("xb") as opened:
            try:
                opened.write(data)
                opened.flush()
                os.fsync(opened.fileno())
            except BaseException:
                path.unlink()
                raise
    except FileExistsError as error:
        raise InputError(
            path,
            expected="no such file yet",
            found="a file",
            cure="it is written once; start a new one",
        ) from error
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Make every file and name below a folder durable."""
    for path in (folder, *sorted(folder.rglob("*"))):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file.

    Raises:
        InputError: It is missing, not UTF-8, or not TOML; names file and line.
    """
    data = read_regular(path)
    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(
            path, expected="TOML in UTF-8", found=str(error), cure="mend the file"
        ) from error


def convert(table: object, kind: type[T], where: object) -> T:
    """Convert parsed TOML to a record.

    Raises:
        InputError: A key is unknown, missing or of a wrong type.
    """
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise InputError(
            where,
            expected="the keys and types of its kind of file",
            found=str(error),
            cure="mend the key named",
        ) from error


def expect_subset(where: object, what: str, wanted: set[str], found: set[str]) -> None:
    """Raise InputError unless every wanted name is among those found."""
    missing = sorted(wanted - found)
    if missing:
        raise InputError(
            where,
            expected=f"{what} named {', '.join(missing)}",
            found=", ".join(sorted(found)) or "none",
            cure="choose among these",
        )


def decode_json(data: bytes, kind: type[T], where: object) -> T:
    """Decode JSON that evalkit wrote.

    Raises:
        InputError: It is no such record.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            where,
            expected=f"a {kind.__name__} as evalkit wrote it",
            found=str(error),
            cure="restore the file from a copy",
        ) from error


def encode_json(value: object) -> bytes:
    """Readable JSON of a record, keys in a fixed order, with a final newline."""
    encoded = msgspec.json.encode(value, order="deterministic")
    return msgspec.json.format(encoded, indent=1) + b"\n"


def expect_same(where: object, what: str, wanted: set[str], found: set[str]) -> None:
    """Raise InputError unless two sets of names are the same."""
    if wanted != found:
        raise InputError(
            where,
            expected=f"the {what} {', '.join(sorted(wanted))}",
            found=", ".join(sorted(found)) or "none",
            cure="let the folders and the file name the same ones",
        )


def package_data(name: str) -> bytes:
    """Bytes of a file that ships in `evalkit/data`."""
    return resources.files("evalkit").joinpath("data", name).read_bytes()


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry below a trusted folder that is no folder; caches left out.

    A folder nested deeper than `untrusted.MAX_DEPTH` is given itself, and not entered.
    Of a run's inputs it gives thousands, before every block: no Path is made of one.
    """
    stack = [(str(folder), 0)]
    while stack:
        inner, depth = stack.pop()
        with os.scandir(inner) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                if not stat.S_ISDIR(found.st_mode):
                    if not entry.name.endswith(".pyc"):
                        yield entry.path, found
                elif depth == untrusted.MAX_DEPTH:
                    yield entry.path, found
                elif entry.name not in untrusted.CACHE_FOLDERS:
                    stack.append((entry.path, depth + 1))


def _empty(folder: Path) -> None:
    """Remove all in a folder, however deep: what lies deep is moved up first."""
    n_moved = 0
    while left := list(os.scandir(folder)):
        for entry in left:
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
                continue
            path = Path(entry.path)
            path.chmod(0o700)
            for inner in list(os.scandir(path)):
                if inner.is_dir(follow_symlinks=False):
                    Path(inner.path).chmod(0o700)
                    n_moved += 1
                    Path(inner.path).rename(folder / f".moved-{os.getpid()}-{n_moved}")
                else:
                    Path(inner.path).unlink()
            path.rmdir()
