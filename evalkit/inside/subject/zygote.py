"""The process that children are forked from, and what a child does first.

It is forked before the first question and knows none: of a job it is told the kind
alone, and loads what that needs when it is first asked for, so that each child has it
and none waits for what it does not need. A child leads its own session and holds no
descriptor but 0, 1, 2 and, where it is to answer, its private pipe.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import resource
import signal
import site
import socket
import sys
import time
from collections.abc import Callable
from types import ModuleType

from evalkit.inside.subject.bounds import Json, NoReturn

JOBS = {
    "calls": "calls:make_calls",
    "execute": "programs:execute",
    "module": "modules:run_module",
    "tests": "suite:run_tests",
}
"""Where the function of each kind is; it is given the job and the answer's pipe."""
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
    jobs = _Jobs()
    while True:
        message, fds, _, _ = socket.recv_fds(control, 16, 8)
        if not message:
            os._exit(0)
        if not fds:  # the driver asks whether anybody is here
            control.send(message)
            continue
        work = jobs.of(message.decode())
        buried, burying = os.pipe()
        middle = os.fork()
        if not middle:
            _live_middle(control, work, fds, buried, burying)
        for fd in (*fds, buried):
            os.close(fd)
        os.waitpid(middle, 0)
        os.close(burying)
        control.send(b"born")


class _Jobs:
    """The functions of jobs, each loaded when it is first asked for.

    A program under question may have modules of the names of ours: between loads
    these are not among the loaded ones, nor is their folder, which is first on the
    driver's path, on that.
    """

    def __init__(self) -> None:
        self._folder = sys.path[0]
        self._ours: dict[str, ModuleType] = {}
        self._found: dict[str, Callable[..., int]] = {}
        self._hide()

    def of(self, kind: str) -> Callable[..., int]:
        """The function of a kind of job."""
        if kind not in self._found:
            module, _, name = JOBS[kind].partition(":")
            sys.path.insert(0, self._folder)
            sys.modules.update(self._ours)
            self._found[kind] = getattr(
                importlib.import_module(f"{__package__}.{module}"), name
            )
            self._hide()
        return self._found[kind]

    def _hide(self) -> None:
        del sys.path[0]
        for name in [n for n in sys.modules if n.partition(".")[0] == "evalkit"]:
            self._ours[name] = sys.modules.pop(name)
        gc.freeze()  # a collection in a child would copy all pages that it has of ours


def _live_middle(
    control: socket.socket,
    work: Callable[..., int],
    fds: list[int],
    buried: int,
    burying: int,
) -> NoReturn:
    with contextlib.suppress(OSError):
        pid = os.fork()
        if not pid:
            control.close()
            os.close(burying)
            os.read(buried, 1)
            os.close(buried)
            _live_child(work, fds)
        control.send(str(pid).encode())
    os._exit(0)


def _live_child(work: Callable[..., int], fds: list[int]) -> NoReturn:
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
        code = work(job, *fds[4:])
    except SystemExit as leaving:
        code = _exit_code(leaving.code)
    except BaseException as fault:  # noqa: BLE001 - as the interpreter does at its top
        sys.excepthook(type(fault), fault, fault.__traceback__)
    finally:
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 0xFF)


def _settle(job: Json) -> None:
    gc.enable()
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
