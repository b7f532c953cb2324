"""Trees as tar, whose bytes depend on content alone."""

from __future__ import annotations

import io
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

from evalkit.errors import InputError
from evalkit.files.trees import Entry, write_entries


def pack(entries: tuple[Entry, ...]) -> bytes:
    """A tar whose bytes depend on the files of a tree alone, which are sorted by path."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in entries:
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
