"""A disk that takes no more: nothing half written is kept, and what to do is said."""

from __future__ import annotations

import errno
import io
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from evalkit.errors import InfrastructureError

FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})


@contextmanager
def faults_named(folder: Path) -> Generator[None]:
    """Say what to do about a disk that takes no more of what belongs in a folder.

    Raises:
        InfrastructureError: No room, no quota left, or the device failed.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FAULTS:
            raise
        free = ", ".join(
            f"{shutil.disk_usage(place).free:,} bytes free at {place}"
            for place in (folder, Path(tempfile.gettempdir()))
        )
        raise InfrastructureError(
            f"{error.filename or folder}: expected a disk that takes what is written, "
            f"found: {error.strerror} ({free}); make room, or copy the folder to a "
            f"larger disk, then do the same again: nothing finished is lost"
        ) from error


def write_all(opened: io.FileIO, data: bytes) -> None:
    """Write all of some bytes to an unbuffered file; a full disk takes some first."""
    left = memoryview(data)
    while left:
        left = left[opened.write(left) :]
