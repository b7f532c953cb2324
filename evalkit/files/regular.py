"""Single files: opened without waiting or following, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import stat
from importlib import resources
from pathlib import Path

from evalkit.errors import InputError
from evalkit.files import untrusted


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


def sha256(data: bytes) -> str:
    """Hexadecimal sha256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """Hexadecimal sha256 of a file of any size."""
    with open_regular(path, follow=True) as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


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


def package_data(name: str) -> bytes:
    """Bytes of a file that ships in `evalkit/data`."""
    return resources.files("evalkit").joinpath("data", name).read_bytes()
