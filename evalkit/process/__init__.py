"""The only door to processes.

Every process leads its own session and gets an explicit environment, /dev/null
where nothing else is said, and no descriptor that was not named. What it leaves
in its process group is killed when it ends. Linux only (pidfd). All of it may
be used from worker threads.

    running    starting and ending a process
    following  running one to its end
    caps       what it and all it started may take together
"""

from __future__ import annotations

import ctypes
import re
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalkit.process.caps import Caps, can_watch
from evalkit.process.following import MINIMAL_ENV, Finished, output, run
from evalkit.process.running import (
    GIVEN,
    CommandError,
    Exit,
    Running,
    end_all,
    start,
)

__all__ = [
    "GIVEN",
    "MINIMAL_ENV",
    "Caps",
    "CommandError",
    "Exit",
    "Finished",
    "Running",
    "can_watch",
    "die_with_parent",
    "end_all",
    "fill",
    "find_program",
    "output",
    "run",
    "start",
]

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that made it ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL):
        raise OSError(ctypes.get_errno(), "prctl")


def find_program(name: str) -> str | None:
    """Absolute path of a program on PATH, or None."""
    found = shutil.which(name)
    return None if found is None else str(Path(found).absolute())


def fill(argv: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """A command line whose `{name}` are filled in, once; others stay as they are."""
    names = "|".join(map(re.escape, values))
    return tuple(
        re.sub(rf"\{{({names})\}}", lambda found: values[found[1]], word)
        for word in argv
    )
