"""The process that children are forked from, and what a child does first.

It is forked before the first question and knows none; it has loaded what
children usually need. A child leads its own session and holds no descriptor but
0, 1, 2 and, where it is to answer, its private pipe.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import resource
import runpy
import signal
import site
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import NoReturn, cast

from evalkit.inside.subject.bounds import Json
from evalkit.inside.subject.calls import become_fresh, make_calls
from evalkit.inside.subject.suite import run_tests

LIMITS = {
    "fsize": resource.RLIMIT_FSIZE,
    "nofile": resource.RLIMIT_NOFILE,
    "as": resource.RLIMIT_AS,
}


def live_zygote(control: socket.socket) -> NoReturn:
    """Make a child for every message, until the driver is gone.

    A child is forked by a middle process that ends at once, so that the driver,
    which adopts orphans, is the one that waits for it. It begins when the middle one
    is buried: a process that is ending has lost its memory, and with it the mark that
    it may not be looked into, some time before it loses its descriptors.
    """
    os.closerange(3, control.fileno())
    os.closerange(control.fileno() + 1, 65_536)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)
    site.setquit()
    # A program under question may have modules of these names.
    for name in [n for n in sys.modules if n.partition(".")[0] == "evalkit"]:
        del sys.modules[name]
    while True:
        message, fds, _, _ = socket.recv_fds(control, 16, 8)
        if not message:
            os._exit(0)
        if not fds:  # the driver asks whether anybody is here
            control.send(message)
            continue
        buried, burying = os.pipe()
        middle = os.fork()
        if not middle:
            _live_middle(control, fds, buried, burying)
        for fd in (*fds, buried):
            os.close(fd)
        os.waitpid(middle, 0)
        os.close(burying)
        control.send(b"born")


def _live_middle(
    control: socket.socket, fds: list[int], buried: int, burying: int
) -> NoReturn:
    with contextlib.suppress(OSError):
        pid = os.fork()
        if not pid:
            control.close()
            os.close(burying)
            os.read(buried, 1)
            os.close(buried)
            _live_child(fds)
        control.send(str(pid).encode())
    os._exit(0)


def _live_child(fds: list[int]) -> NoReturn:
    code = 1
    try:
        os.setsid()
        for fd in fds:
            os.set_inheritable(fd, False)  # noqa: FBT003 - takes no keyword
        with io.FileIO(fds[0]) as file:
            job = json.loads(file.readall())
        for number, fd in enumerate(fds[1:4]):
            os.dup2(fd, number)
            os.close(fd)
        _settle(job)
        code = JOBS[job["kind"]](job, *fds[4:])
    except SystemExit as leaving:
        code = _exit_code(leaving.code)
    except BaseException:  # noqa: BLE001 - as the interpreter does at its top
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 0xFF)


def _settle(job: Json) -> None:
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name, value in job.get("limits", {}).items():
        resource.setrlimit(LIMITS[name], (value, value))


def _exit_code(code: object) -> int:
    if code is None or isinstance(code, int):
        return int(code or 0)
    sys.stderr.write(f"{code}\n")
    return 1


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


def run_module(job: Json) -> int:
    """Do as `python -m MODULE` does, in this process."""
    _, _, module, *rest = job["argv"]
    become_fresh(job["cwd"], [module, *rest])
    cast(io.TextIOWrapper, sys.stdout).reconfigure(line_buffering=True)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        while others := [
            thread
            for thread in threading.enumerate()
            if thread is not threading.current_thread() and not thread.daemon
        ]:
            others[0].join()
    return 0


JOBS: dict[str, Callable[..., int]] = {
    "execute": execute,
    "module": run_module,
    "calls": make_calls,
    "tests": run_tests,
}
