"""One process at a time makes a case in a root; nothing stays of how that is seen to."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

from evalkit.errors import InputError

LOCK = ".new-case.lock"
WAIT_S = 60.0
"""How long to wait for another process."""


@contextmanager
def alone(root: Path) -> Generator[None]:
    """Keep others from making a case in a root; the root is made where there is none.

    A root in which nothing was made is taken back.

    Raises:
        InputError: Another process keeps the root for too long.
    """
    begun = not root.is_dir()
    root.mkdir(exist_ok=True)
    # Its file is gone once it is released, which that of a FileLock is not.
    lock = filelock.SoftFileLock(root / LOCK, timeout=WAIT_S)
    try:
        with lock:
            yield
    except filelock.Timeout as error:
        raise InputError(
            root / LOCK,
            expected="no other process that makes a case here",
            found=f"its lock, held for {WAIT_S:g} s",
            cure="wait for that process; where there is none, remove the file",
        ) from error
    finally:
        if begun:
            with suppress(OSError):  # not empty, so something was made
                root.rmdir()
