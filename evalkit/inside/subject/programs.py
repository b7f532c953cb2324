"""A child that becomes another program."""

from __future__ import annotations

import os
import signal
import sys

from evalkit.inside.subject.bounds import Json


def execute(job: Json) -> int:
    """Become another program."""
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    argv = job["argv"]
    try:
        os.execvpe(argv[0], argv, job["env"])
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
    return 127
