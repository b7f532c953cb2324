"""The driver inside the sandbox: carries out a grader's questions, one by one.

    PYTHON -P -S -B FOLDER/__main__.py FD LEVEL DELIVERED WORK HOME SCRATCH

FD is one end of a stream socket. The driver writes `{"ready": true, "apart":
bool, "python": "3.11.7"}`, then answers each line of strict JSON (a question as
described in `evalkit/questions.py`) with one line: `{"answer": ...}`, or
`{"refused": "why"}` where it cannot or will not do what was asked. At the end of
the stream it ends its children and itself. Its environment names a TMPDIR, where
its own files without a name lie.

It runs beside the program it questions, under the same uid. So it is undumpable,
its descriptors reach no child, and every child is made by a zygote, a process
forked before the first question, which knows none. What a child answers for
itself is checked for shape; whether it is right is the grader's business.

It needs the standard library and this folder only; children find neither this
folder on their path nor its modules among the loaded ones.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import socket
import sys
from collections.abc import Sequence

gc.disable()  # what is imported stays: nothing of it is worth looking for
sys.path.insert(0, os.path.abspath(f"{__file__}/../../../.."))

from evalkit.inside.subject.bounds import Any  # noqa: E402 - found by the path
from evalkit.inside.subject.driver import Driver  # noqa: E402
from evalkit.inside.subject.plain import NotPlainError, json_line  # noqa: E402
from evalkit.inside.subject.trees import Places  # noqa: E402

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36


def main(argv: Sequence[str]) -> None:
    """Serve questions from a passed socket until it ends."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) or prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    fd, level, *folders = int(argv[1]), *argv[2:]
    os.set_inheritable(fd, False)  # noqa: FBT003 - takes no keyword
    # As pid 1 it can be signalled from inside only where it has a handler.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Pid 2, after the sandbox's own, where it has given up root: on a machine that
    # is a thread of the kernel.
    apart = os.getpid() <= 2
    places = Places(*folders)
    driver = Driver(places, alone=apart and level == "bwrap")
    gc.freeze()
    gc.enable()
    with socket.socket(fileno=fd) as wire, wire.makefile("rb") as questions:
        _silence()
        python = ".".join(map(str, sys.version_info[:3]))
        wire.sendall(json_line({"ready": True, "apart": apart, "python": python}))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for question in questions:
                wire.sendall(_encoded(driver.respond(question)))
    driver.end()


def _encoded(answer: dict[str, Any]) -> bytes:
    try:
        return json_line(answer)
    except NotPlainError as error:
        return json_line({"refused": f"the answer is {error}"})


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)


if __name__ == "__main__":
    main(sys.argv)
