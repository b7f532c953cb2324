"""The driver inside the sandbox: carries out a grader's questions, one by one.

    PYTHON -I -S -B subject.py FD [WORKSPACE] [SCRATCH] [bwrap|none]

FD is one end of a stream socket. The driver writes `{"ready": true, "pid1":
bool, "python": "3.11.7"}`, then answers each line of strict JSON (a question as
described in `evalkit/questions.py`) with one line: `{"answer": ...}`, or
`{"refused": "why"}` where it cannot or will not do what was asked. At the end of
the stream it ends its children and itself.

It runs beside the program it questions, under the same uid. So it is undumpable,
its descriptors reach no child, and every child is made by a zygote, a process
forked before the first question, which knows none. What a child answers for
itself is checked for shape; whether it is right is the grader's business.
"""

from __future__ import annotations

import atexit
import base64
import binascii
import contextlib
import ctypes
import errno
import http.client
import http.server
import importlib
import io
import json
import math
import os
import resource
import runpy
import select
import shutil
import signal
import site
import socket
import socketserver
import stat
import sys
import threading
import time
import traceback
import types
import unittest
import unittest.loader
import urllib.request  # noqa: F401 - loaded once here, so that children need not
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn, cast

Json = dict[str, Any]

MAX_TEXT = 1_000_000
"""Bytes of a body, a file or a returned value that an answer may carry."""
MAX_OUTPUT = 256_000
"""Bytes kept of each output stream of a child: the first ones."""
MAX_LINES = 8_000_000
"""Bytes a child may write to its answer pipe."""
MAX_FILES = 5_000
MAX_DEPTH = 50
MAX_WAIT_S = 600.0
CACHES = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
LIMITS = {
    "fsize": resource.RLIMIT_FSIZE,
    "nofile": resource.RLIMIT_NOFILE,
    "as": resource.RLIMIT_AS,
}
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36


class RefusedError(Exception):
    """The question cannot be carried out; its text is the answer."""


class NotPlainError(Exception):
    """A value is not made of plain JSON values and bytes."""


# --- files: no path leaves the copy, no link is followed ---------------------


def copy_tree(source: Path, target: Path, root: Path | None = None) -> None:
    """Copy regular files and folders, without caches.

    Relative links that stay inside are kept as links, all others left out.
    """
    root = root or source.resolve()
    target.mkdir(parents=True)
    with os.scandir(source) as entries:
        for entry in entries:
            goal = target / entry.name
            if entry.is_symlink():
                if _stays_inside(Path(entry.path), root):
                    goal.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir():
                if entry.name not in CACHES:
                    copy_tree(Path(entry.path), goal, root)
            elif entry.is_file():
                shutil.copyfile(entry.path, goal)
                seen = entry.stat()
                goal.chmod(seen.st_mode & 0o777 | 0o600)
                os.utime(goal, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _stays_inside(link: Path, root: Path) -> bool:
    try:
        return not link.readlink().is_absolute() and link.resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def parts_of(path: str) -> tuple[str, ...]:
    """Parts of a relative path; refuses one that could leave the copy."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise RefusedError(f"path outside the copy: {path}")
    return pure.parts


@contextlib.contextmanager
def open_folder(root: Path, parts: Sequence[str], *, make: bool) -> Iterator[int]:
    """Descriptor of a folder below `root`, reached without following a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(root, flags)
    try:
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
            inner = os.open(part, flags, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def read_text(root: Path, path: str) -> str | None:
    """Text of a regular file, None where there is none; refuses a large one."""
    *folders, name = parts_of(path) or (".",)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open_folder(root, folders, make=False) as folder:
            fd = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}:
            return None
        raise RefusedError(f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    with io.FileIO(fd) as file:
        data = file.read(MAX_TEXT + 1)
    if len(data or b"") > MAX_TEXT:
        raise RefusedError(f"{path}: too large, over {MAX_TEXT} bytes")
    return text_of(data or b"")


def write_text(root: Path, path: str, text: str) -> None:
    """Write a regular file below `root`, making its folders."""
    *folders, name = parts_of(path) or (".",)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        with (
            open_folder(root, folders, make=True) as folder,
            io.FileIO(os.open(name, flags, 0o644, dir_fd=folder), "w") as file,
        ):
            write_all(file.fileno(), text.encode())
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from error


def list_files(root: Path, path: str) -> list[str]:
    """Paths, from `root`, of the regular files below a folder, sorted."""
    found: list[str] = []
    stack = [parts_of(path)]
    while stack:
        parts = stack.pop()
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            open_folder(root, parts, make=False) as folder,
            os.scandir(folder) as entries,
        ):
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in CACHES:
                        stack.append((*parts, entry.name))
                elif entry.is_file(follow_symlinks=False):
                    if not entry.name.endswith(".pyc"):
                        found.append("/".join((*parts, entry.name)))
        if len(found) + len(stack) > MAX_FILES:
            raise RefusedError(f"{path}: over {MAX_FILES} files")
    return sorted(text_of(os.fsencode(name)) for name in found)


def text_of(data: bytes) -> str:
    """Bytes as text that any JSON reader takes: what is no UTF-8 is U+FFFD."""
    return data.decode("utf-8", "replace")


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


# --- in a child: what the zygote's children do -------------------------------


def live_zygote(control: socket.socket) -> NoReturn:
    """Make a child for every message, until the driver is gone.

    A child is forked by a middle process that ends at once, so that the driver,
    which adopts orphans, is the one that waits for it.
    """
    os.closerange(3, control.fileno())
    os.closerange(control.fileno() + 1, 65_536)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)
    site.setquit()
    while True:
        message, fds, _, _ = socket.recv_fds(control, 16, 8)
        if not message:
            os._exit(0)
        middle = os.fork()
        if not middle:
            _live_middle(control, fds)
        for fd in fds:
            os.close(fd)
        os.waitpid(middle, 0)
        control.send(b"born")


def _live_middle(control: socket.socket, fds: list[int]) -> NoReturn:
    with contextlib.suppress(OSError):
        pid = os.fork()
        if not pid:
            control.close()
            _live_child(fds)
        control.send(str(pid).encode())
    os._exit(0)


def _live_child(fds: list[int]) -> NoReturn:
    code = 1
    try:
        os.setsid()
        for fd in fds:
            os.set_inheritable(fd, False)
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
    _become_fresh(job["cwd"], [module, *rest])
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


def _become_fresh(folder: str, argv: list[str]) -> None:
    sys.argv = argv
    sys.path.insert(0, folder)
    sys.modules["__main__"] = types.ModuleType("__main__")


def make_calls(job: Json, answer: int, go: int | None = None) -> int:
    """Make the calls of a job; each answers with a line of its own.

    A child with a `go` descriptor imports, says that it is ready, and waits.
    """
    _become_fresh(job["cwd"], ["-c"])
    calls: list[Json] = job["calls"]
    saved: Json = {}
    lock = threading.Lock()

    def tell(n: int, outcome: Json) -> None:
        with lock:
            write_all(answer, _line({"n": n, **outcome}))

    if job["how"] == "sequence":
        for n, call in enumerate(calls):
            tell(n, _outcome(lambda call=call: _prepare(call, saved)(), call, saved))
        return 0
    first = [n for n, call in enumerate(calls) if call.get("save")]
    for n in first:
        call = calls[n]
        tell(n, _outcome(lambda call=call: _prepare(call, saved)(), call, saved))
    ready = [
        (n, _prepared(calls[n], saved)) for n in range(len(calls)) if n not in first
    ]
    if go is not None:
        write_all(answer, _line({"ready": True}))
        os.read(go, 1)
    _behind_barrier(
        [
            lambda n=n, made=made: tell(n, _outcome(made, calls[n], saved))
            for n, made in ready
        ]
    )
    return 0


def _behind_barrier(tasks: Sequence[Callable[[], None]]) -> None:
    barrier = threading.Barrier(len(tasks) or 1)

    def live(task: Callable[[], None]) -> None:
        barrier.wait()
        task()

    threads = [threading.Thread(target=live, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _prepare(call: Json, saved: Json) -> Callable[[], Any]:
    target: str = call["target"]
    if target.startswith("$"):
        name, *names = target[1:].split(".")
        found = saved[name]
    else:
        module, _, path = target.partition(":")
        names = path.split(".")
        found = importlib.import_module(module)
    for name in names:
        found = getattr(found, name)
    args = _decoded(call.get("args", []), saved)
    kwargs = _decoded(call.get("kwargs", {}), saved)
    return lambda: found(*args, **kwargs)


def _prepared(call: Json, saved: Json) -> Callable[[], Any]:
    try:
        return _prepare(call, saved)
    except BaseException as error:  # noqa: BLE001 - it becomes the call's own answer
        kept = error

        def fail() -> NoReturn:
            raise kept

        return fail


def _decoded(value: Any, saved: Json) -> Any:
    if isinstance(value, list):
        return [_decoded(item, saved) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        items = cast(Json, value)
        if set(items) == {"$ref"}:
            return saved[items["$ref"]]
        if set(items) == {"$bytes"}:
            return base64.b64decode(items["$bytes"])
        return {key: _decoded(item, saved) for key, item in items.items()}
    return value


def _outcome(made: Callable[[], Any], call: Json, saved: Json) -> Json:
    """What a call came to, in the fields of `Returned`."""
    started = time.monotonic()
    outcome: Json = {}
    try:
        value = made()
        outcome["elapsed_s"] = round(time.monotonic() - started, 6)
        if call.get("save"):
            saved[call["save"]] = value
            value = None
        result = plain(value)
        if len(_line({"result": result})) > MAX_TEXT:
            raise NotPlainError(f"too large, over {MAX_TEXT} bytes")
        outcome |= {"result": result, "returned": True}
    except NotPlainError as error:
        outcome |= {"error": "not-plain", "message": str(error)}
    except BaseException as error:  # noqa: BLE001 - whatever was raised is the answer
        outcome |= {"mro": mro_of(error), "message": message_of(error)}
        outcome.setdefault("elapsed_s", round(time.monotonic() - started, 6))
    return outcome


def plain(value: Any, depth: int = 0, room: list[int] | None = None) -> Any:
    """`value` as plain JSON values, by exact type; bytes as `{"$bytes": base64}`.

    Raises:
        NotPlainError: Something in it is of another type, not finite, a text that
            is no Unicode, or it is too deep or too large.
    """
    room = room or [MAX_TEXT]
    room[0] -= 1 + (len(value) if type(value) in (str, bytes) else 0)
    if depth > MAX_DEPTH or room[0] < 0:
        raise NotPlainError("too deep" if depth > MAX_DEPTH else "too large")
    kind = type(value)
    if value is None or kind in (bool, int):
        return value
    if kind is float and math.isfinite(value):
        return value
    if kind is str and not any(
        "\ud800" <= character <= "\udfff" for character in value
    ):
        return value
    if kind is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    if kind in (list, tuple):
        return [plain(item, depth + 1, room) for item in value]
    if kind is dict and all(type(key) is str for key in value):
        return {plain(k): plain(item, depth + 1, room) for k, item in value.items()}
    shown = repr(value) if kind in (float, str) else ""
    raise NotPlainError(f"{kind.__module__}.{kind.__qualname__} {shown}".strip())


def mro_of(error: BaseException) -> list[str]:
    """Class names of an exception, most derived first."""
    return [kind.__name__ for kind in type(error).__mro__ if kind is not object]


def message_of(error: BaseException) -> str:
    """Text of an exception, shortened; it may not have one."""
    try:
        return text_of(str(error).encode("utf-8", "replace"))[:2_000]
    except BaseException as fault:  # noqa: BLE001 - its own __str__ may raise anything
        return f"(no text: {type(fault).__name__})"


def _line(value: Json) -> bytes:
    try:
        return json.dumps(value, allow_nan=False).encode() + b"\n"
    except ValueError as error:  # an integer too long for text
        raise NotPlainError(str(error)) from error


class Collected(unittest.TestResult):
    """A test result that keeps ids, and the class names of what was raised."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = True
        self.ran: dict[str, None] = {}
        self.skips: dict[str, None] = {}
        self.mros: dict[str, list[str]] = {}

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        """Note that a test began."""
        super().startTest(test)
        self.ran[test.id()] = None

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        """Note a skipped test."""
        super().addSkip(test, reason)
        self.skips[test.id()] = None

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """Note an error, of a test or of a fixture around it."""
        super().addError(test, err)
        self._note(test, err[1])

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """Note a failure."""
        super().addFailure(test, err)
        self._note(test, err[1])

    def addSubTest(  # noqa: N802
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any
    ) -> None:
        """Note a failed subtest under the id of its test."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, err[1])

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        """Note a success that was announced as a failure."""
        super().addUnexpectedSuccess(test)
        self.mros.setdefault(test.id(), ["UnexpectedSuccess"])

    def _note(self, test: unittest.TestCase, error: BaseException) -> None:
        names = mro_of(error)
        if error.__cause__ is not None and type(test).__name__ == "_FailedTest":
            cause = mro_of(error.__cause__)
            names = cause + [name for name in names if name not in cause]
        self.mros.setdefault(test.id(), names)


def run_tests(job: Json, answer: int) -> int:
    """Collect and run a unittest suite; one line tells all, as in `TestRun`."""
    _become_fresh(job["cwd"], ["-m", "unittest"])
    top, start = Path(job["cwd"]), Path(job["cwd"], job["start"])
    if not (start / "__init__.py").is_file():
        top = start
    _keep_causes()
    result = Collected()
    error = None
    try:
        suite = unittest.TestLoader().discover(str(start), top_level_dir=str(top))
        suite.run(result)
        if not result.ran and not result.mros:
            error = "no tests were collected"
    except BaseException as fault:  # noqa: BLE001 - a run that breaks says why
        error = f"{type(fault).__name__}: {message_of(fault)}"
    shown = "\n".join(text for _, text in (*result.errors, *result.failures))
    failed = dict(list(result.mros.items())[:MAX_FILES])
    outcome = {
        "ran": list(result.ran)[:MAX_FILES],
        "skipped": list(result.skips)[:MAX_FILES],
        "failed": failed,
        "error": error,
        "output": shortened(text_of(shown.encode("utf-8", "replace"))),
    }
    write_all(answer, _line(outcome))
    return 0


def _keep_causes() -> None:
    """Let a test module that cannot be imported say what really stopped it."""
    make = unittest.loader._make_failed_import_test  # type: ignore[attr-defined]  # pyright: ignore

    def keep(name: str, suite_class: Any) -> Any:
        suite, message = make(name, suite_class)
        for test in suite:
            test._exception.__cause__ = sys.exc_info()[1]
        return suite, message

    unittest.loader._make_failed_import_test = keep  # type: ignore[attr-defined]  # pyright: ignore


def shortened(text: str) -> str:
    """Text of an answer that has no field to say that it was cut."""
    if len(text) <= MAX_OUTPUT:
        return text
    return text[:MAX_OUTPUT] + "\n[truncated]"


JOBS: dict[str, Callable[..., int]] = {
    "execute": execute,
    "module": run_module,
    "calls": make_calls,
    "tests": run_tests,
}


# --- in the driver: children -------------------------------------------------


class Capture:
    """stdout and stderr of a child: the first bytes of each are kept.

    A thread drains the pipes, so that no child waits for a reader.
    """

    def __init__(self) -> None:
        pipes = os.pipe(), os.pipe()
        self.ends = tuple(end for _, end in pipes)
        self.truncated = False
        self._kept = {start: bytearray() for start, _ in pipes}
        self._open = set(self._kept)
        self._lock = threading.Lock()
        for start in self._open:
            os.set_blocking(start, False)

    def follow(self) -> None:
        """Begin to drain, once the child has its ends."""
        for end in self.ends:
            os.close(end)
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        poller = select.poll()
        for start in self._open:
            poller.register(start, select.POLLIN)
        while self._open:
            for start, _ in poller.poll():
                if self._take(start) == b"":
                    poller.unregister(start)
                    with self._lock:
                        self._open.discard(start)
                        os.close(start)

    def _take(self, start: int) -> bytes | None:
        with self._lock:
            if start not in self._open:
                return None
            try:
                data = os.read(start, 65_536)
            except BlockingIOError:
                return None
            kept = self._kept[start]
            room = MAX_OUTPUT - len(kept)
            kept += data[:room]
            self.truncated |= len(data) > room
            return data

    def texts(self) -> tuple[str, str]:
        """What was written so far to stdout and to stderr."""
        for start in self._kept:
            for _ in range(4):  # a pipe holds 64 KiB: this empties it
                if not self._take(start):
                    break
        out, err = (text_of(bytes(kept)) for kept in self._kept.values())
        return out, err

    def text(self) -> str:
        """Both together, saying so where something is missing."""
        return "".join(self.texts()) + ("\n[truncated]" if self.truncated else "")


class Family:
    """The zygote and the children it made: the one place that waits and kills.

    Every child leads a session and a process group of its own. When it ends, for
    whatever reason, the rest of its group is ended with it.

    Args:
        alone: The driver is pid 1 of a pid namespace made for it, so that every
            other process in sight may be ended.
    """

    def __init__(self, *, alone: bool) -> None:
        self.alone = alone
        self.living: set[int] = set()
        self.ended: dict[int, int] = {}
        self._zygote = 0
        self._fork_zygote()

    def _fork_zygote(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if not pid:
            live_zygote(theirs)
        theirs.close()
        ours.settimeout(5.0)
        self._zygote, self._control = pid, ours

    def renew(self) -> bool:
        """Fork another zygote where there is none; True where there was one."""
        self.reap()
        if self._zygote:
            return True
        self._control.close()
        self._fork_zygote()
        return False

    def make(self, job: Json, *fds: int) -> int:
        """Have a child made for a job; `fds` are its stdin, stdout, stderr, more."""
        with contextlib.closing(memory_file(json.dumps(job).encode())) as memory:
            try:
                socket.send_fds(self._control, [b"make"], [memory.fileno(), *fds])
                told = self._control.recv(32)
                if told != b"born":
                    self.living.add(int(told))
                    self._control.recv(32)
                    return int(told)
            except (OSError, ValueError) as error:
                with contextlib.suppress(ProcessLookupError):
                    if self._zygote:
                        os.kill(self._zygote, signal.SIGKILL)
                        os.waitpid(self._zygote, 0)
                self._zygote = 0
                self.renew()
                raise RefusedError("the zygote died; another was forked") from error
        raise RefusedError("no process could be made")

    def reap(self) -> None:
        """Wait for all that ended: our children, and orphans we inherited."""
        while True:
            try:
                flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
                seen = os.waitid(os.P_ALL, 0, flags)
            except ChildProcessError:
                return
            if seen is None:
                return
            pid = seen.si_pid
            if pid in self.living:  # not yet waited for: its number is still its own
                self._kill_group(pid)
            _, status = os.waitpid(pid, 0)
            if pid in self.living:
                self.living.discard(pid)
                self.ended[pid] = os.waitstatus_to_exitcode(status)
            if pid == self._zygote:
                self._zygote = 0

    def _kill_group(self, pid: int) -> None:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(pid, signal.SIGKILL)

    def wait(self, pid: int, within_s: float) -> int | None:
        """Exit code of a child (negative for a signal); None if it lives on."""
        deadline = time.monotonic() + within_s
        self.reap()
        if pid in self.ended:
            return self.ended[pid]
        handle = os.pidfd_open(pid)
        try:
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            while pid not in self.ended:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return None
                poller.poll(min(left_s, 0.05) * 1000)
                self.reap()
        finally:
            os.close(handle)
        return self.ended[pid]

    def signal(self, pid: int, name: str) -> None:
        """Send a signal, by its name without SIG, to a child that lives."""
        number = getattr(signal, f"SIG{name}", None)
        if not isinstance(number, signal.Signals):
            raise RefusedError(f"no such signal: {name}")
        self.reap()
        if pid in self.living:
            os.kill(pid, number)

    def end(self, pid: int) -> int | None:
        """End a child and its group now; its exit code."""
        if pid in self.living:
            self._kill_group(pid)
        return self.wait(pid, 5.0)

    def sweep(self) -> None:
        """End every child; where alone, also every process it left behind."""
        for pid in tuple(self.living):
            self._kill_group(pid)
        for pid in tuple(self.living):
            self.wait(pid, 5.0)
        for attempt in range(200 if self.alone else 0):
            self.reap()
            others = {
                int(entry)
                for entry in os.listdir("/proc")  # noqa: PTH208 - names only, in a loop
                if entry.isdigit() and int(entry) not in {1, self._zygote}
            }
            if not others:
                break
            if attempt > 100:  # they multiply faster than a walk can end them
                os.kill(-1, signal.SIGKILL)
            for pid in others:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.ended.clear()
        self.renew()

    def cpu_s(self) -> float:
        """CPU seconds of the driver, the zygote and all that has ended."""
        total = 0.0
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
            used = resource.getrusage(who)
            total += used.ru_utime + used.ru_stime
        fields = (
            Path(f"/proc/{self._zygote}/stat").read_text("ascii").rpartition(")")[2]
        )
        ticks = sum(int(field) for field in fields.split()[11:15])
        return total + ticks / os.sysconf("SC_CLK_TCK")


def memory_file(data: bytes) -> io.FileIO:
    """A file in memory that holds `data`, read from its start."""
    file = io.FileIO(os.memfd_create("input"), "r+")
    write_all(file.fileno(), data)
    file.seek(0)
    return file


class Talker:
    """A child that answers on a private pipe, line by line."""

    def __init__(self, pid: int, start: int, owed: int) -> None:
        self.pid = pid
        self.start = start
        self.owed = owed
        self.lines: list[Json] = []
        self.ready = False
        self.over: str | None = None
        self._rest = b""
        self._room = MAX_LINES
        os.set_blocking(start, False)

    @property
    def done(self) -> bool:
        """True where nothing more is to be read from it."""
        return self.over is not None or len(self.lines) >= self.owed

    def take(self) -> None:
        """Read what is there."""
        with contextlib.suppress(BlockingIOError):
            while not self.done and (data := os.read(self.start, 65_536)):
                self._room -= len(data)
                *lines, self._rest = (self._rest + data).split(b"\n")
                for line in lines:
                    self._hear(line)
                if self._room < 0:
                    self.over = "not-plain"

    def _hear(self, line: bytes) -> None:
        try:
            told = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            told = None
        if told == {"ready": True}:
            self.ready = True
        elif isinstance(told, dict) and len(self.lines) < self.owed:
            self.lines.append(cast(Json, told))
        else:
            self.over = "no-answer"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def listen(
    family: Family, talkers: Sequence[Talker], within_s: float, go: int | None = None
) -> None:
    """Hear children out, until each has answered, died or run out of time.

    Args:
        family: They belong to.
        talkers: The children.
        within_s: For all of them.
        go: Closed when all are ready, which lets them begin.
    """
    deadline = time.monotonic() + within_s
    while pending := [talker for talker in talkers if not talker.done]:
        poller = select.poll()
        for talker in pending:
            poller.register(talker.start, select.POLLIN)
        poller.poll(20)
        family.reap()
        for talker in pending:
            ended = talker.pid in family.ended
            talker.take()
            if ended and not talker.done:
                talker.over = "no-answer"
            elif time.monotonic() > deadline and not talker.done:
                talker.over = "timeout"
        if go is not None and all(talker.ready or talker.done for talker in talkers):
            os.close(go)
            go = None
    if go is not None:
        os.close(go)
    for talker in talkers:
        os.close(talker.start)
        if talker.over or family.wait(talker.pid, 1.0) is None:
            family.end(talker.pid)


# --- in the driver: HTTP -----------------------------------------------------


class Incoming(io.RawIOBase):
    """The bytes of a reply, each read bounded by what is left of the time."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self.n_bytes = 0

    def readable(self) -> bool:
        """True, as `BufferedReader` asks."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read what is there."""
        self._connection.settimeout(_left(self._deadline))
        n_bytes = self._connection.recv_into(buffer)
        self.n_bytes += n_bytes
        return n_bytes

    def makefile(self, mode: str) -> io.BufferedReader:
        """A buffered view, as `HTTPResponse` asks."""
        assert mode == "rb"
        return io.BufferedReader(self)


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


class Exchange:
    """One request on a connection of its own: connect, then send and read.

    Args:
        question: As made by `questions.Send`.
        port: Of the service on 127.0.0.1.
        signal_service: Called with a signal's name between two halves.
    """

    def __init__(
        self, question: Json, port: int, signal_service: Callable[[str], None]
    ) -> None:
        self._question = question
        self._port = port
        self._signal = signal_service
        self._connection: socket.socket | None = None
        self._failed: OSError | None = None
        self._timeout_s = min(float(question["timeout_s"]), MAX_WAIT_S)
        self._sent_s = 0.0

    def connect(self, *, again: bool = False) -> None:
        """Connect; `again` retries a refused connection until the time is up."""
        deadline = time.monotonic() + self._timeout_s
        source = self._question.get("source")
        while True:
            try:
                self._connection = socket.create_connection(
                    ("127.0.0.1", self._port),
                    timeout=_left(deadline),
                    source_address=(source, 0) if source else None,
                )
            except ConnectionRefusedError as error:
                if not again or time.monotonic() > deadline:
                    self._failed = error
                    return
                time.sleep(0.01)
            except OSError as error:
                self._failed = error
                return
            else:
                return

    def carry_out(self) -> Json:
        """Send the request and read the reply, in the fields of `Reply`."""
        self._sent_s = time.monotonic()
        if self._connection is None:
            kind = {
                ConnectionRefusedError: "refused",
                TimeoutError: "timeout",
            }.get(type(self._failed), "transport")
            return self._without(kind, str(self._failed))
        wait_s = float((self._question.get("halves") or {}).get("wait_s", 0))
        deadline = self._sent_s + self._timeout_s + wait_s
        incoming = Incoming(self._connection, deadline)
        with self._connection:
            try:
                self._send_all(deadline, wait_s)
                return self._read(incoming)
            except TimeoutError:
                return self._without("timeout", f"{incoming.n_bytes} bytes came")
            except (OSError, http.client.HTTPException) as error:
                what = "broke off" if incoming.n_bytes else "no byte of a reply came"
                detail = f"{what}: {type(error).__name__} {message_of(error)}"
                return self._without("transport", detail)

    def _without(self, error: str, detail: str) -> Json:
        return {"status": None, "error": error, "detail": detail[:500], **self._times()}

    def _times(self) -> Json:
        elapsed_s = time.monotonic() - self._sent_s
        return {"sent_s": round(self._sent_s, 6), "elapsed_s": round(elapsed_s, 6)}

    def _send_all(self, deadline: float, wait_s: float) -> None:
        """Send the request; stops where the peer replies or breaks off before."""
        head, body = self._bytes()
        halves = self._question.get("halves")
        if halves is None:
            self._send(head + body, deadline)
            return
        middle = len(body) // 2
        self._send(head + body[:middle], deadline)
        if halves.get("signal"):
            self._signal(halves["signal"])
        time.sleep(min(wait_s, MAX_WAIT_S))
        self._send(body[middle:], deadline)

    def _send(self, data: bytes, deadline: float) -> None:
        connection = cast(socket.socket, self._connection)
        poller = select.poll()
        poller.register(connection, select.POLLIN | select.POLLOUT)
        view = memoryview(data)
        while view:
            events = poller.poll(_left(deadline) * 1000)
            if not events:
                raise TimeoutError
            if events[0][1] & ~select.POLLOUT:
                return
            try:
                view = view[connection.send(view[:65_536]) :]
            except (BrokenPipeError, ConnectionResetError):
                return

    def _bytes(self) -> tuple[bytes, bytes]:
        question = self._question
        raw = question.get("body")
        body = base64.b64decode(raw) if raw else b""
        needed = {"Host": f"127.0.0.1:{self._port}", "Connection": "close"}
        if question.get("chunked"):
            needed["Transfer-Encoding"] = "chunked"
            body = _in_chunks(body)
        elif raw is not None or question["method"] in {"POST", "PUT", "PATCH"}:
            needed["Content-Length"] = str(len(body))
        given = {str(name).lower() for name, _ in question["headers"]}
        headers = [
            *(
                (name, value)
                for name, value in needed.items()
                if name.lower() not in given
            ),
            *question["headers"],
        ]
        first = f"{question['method']} {question['path']} HTTP/1.1\r\n"
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        return f"{first}{lines}\r\n".encode(), body

    def _read(self, incoming: Incoming) -> Json:
        method = self._question["method"]
        reply = http.client.HTTPResponse(cast(Any, incoming), method=method)
        reply.begin()
        body = reply.read(MAX_TEXT + 1)
        truncated = len(body) > MAX_TEXT
        if not truncated and reply.length:
            raise http.client.IncompleteRead(body, reply.length)
        return {
            "status": reply.status,
            "headers": [
                pair for pair in reply.getheaders() if pair[0].lower() != "date"
            ],
            "body": text_of(body[:MAX_TEXT]),
            "truncated": truncated,
            **self._times(),
        }


def _in_chunks(body: bytes) -> bytes:
    size = max(1, min(16_384, -(-len(body) // 2)))
    pieces = [body[n : n + size] for n in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


class Sink(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """A receiver that answers the n-th request with the n-th reply; the last repeats."""

    request_queue_size = 128
    daemon_threads = True

    def __init__(self, replies: Sequence[Json]) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.replies = replies
        self.calls: list[Json] = []
        self.lock = threading.Lock()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                request, address = self.socket.accept()
            except OSError:
                return
            self.process_request(request, address)

    def end(self) -> None:
        """Accept nothing more."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a sender that leaves is no fault of the sink."""


class Receiver(http.server.BaseHTTPRequestHandler):
    """Records one request and replies as scripted."""

    server: Sink  # pyright: ignore[reportIncompatibleVariableOverride]

    def handle_one_request(self) -> None:
        """Take any method, which the base class would want a method for."""
        at_s = time.monotonic()
        self.raw_requestline = self.rfile.readline(65_537)
        self.close_connection = True
        if not self.raw_requestline or not self.parse_request():
            return
        call = {
            "at_s": round(at_s, 6),
            "method": self.command,
            "path": self.path,
            "headers": list(self.headers.items()),
            "body": text_of(self._body()[:MAX_TEXT]),
        }
        with self.server.lock:
            n = min(len(self.server.calls), len(self.server.replies) - 1)
            if len(self.server.calls) < MAX_FILES:
                self.server.calls.append(call)
        self._reply(self.server.replies[n])

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(100).split(b";")[0] or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline(100)
        return body

    def _reply(self, reply: Json) -> None:
        time.sleep(min(float(reply.get("delay_s", 0)), MAX_WAIT_S))
        body = str(reply.get("body", "")).encode()
        self.send_response_only(int(reply.get("status", 200)))
        for name, value in dict(reply.get("headers", {})).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def fits(wanted: Any, seen: Any) -> bool:
    """True where `seen` equals `wanted`; objects may hold more keys."""
    if isinstance(wanted, dict):
        return isinstance(seen, dict) and all(
            key in seen and fits(value, seen[key])
            for key, value in cast(Json, wanted).items()
        )
    if isinstance(wanted, list):
        ours, theirs = cast(list[Any], wanted), cast(list[Any], seen)
        return (
            isinstance(seen, list)
            and len(ours) == len(theirs)
            and all(map(fits, ours, theirs))
        )
    return isinstance(wanted, bool) == isinstance(seen, bool) and bool(wanted == seen)


def listens(port: int) -> bool:
    """True where something listens on a TCP port; no connection is made."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path("/proc/self/net", table).read_text("ascii").splitlines():
                fields = line.split()
                if fields[3] == "0A" and fields[1].endswith(f":{port:04X}"):
                    return True
    return False


# --- in the driver: questions ------------------------------------------------


class Service:
    """A started service: how it is started, and the process that it is now."""

    def __init__(self, spec: Json, port: int) -> None:
        self.spec = spec
        self.port = port
        self.pid = 0
        self.capture: Capture


class Driver:
    """Answers questions; one method for each, `answer_<op>`.

    Args:
        workspace: The delivered program, read only.
        scratch: Folder that is the driver's alone; emptied for every check.
        alone: See `Family`.
    """

    def __init__(self, workspace: Path, scratch: Path, *, alone: bool) -> None:
        self.workspace = workspace
        self.scratch = scratch
        self.copy = scratch / "workspace"
        self.family = Family(alone=alone)
        self.services: dict[int, Service] = {}
        self.sinks: dict[int, Sink] = {}
        self.n_suites = 0
        self.begun = False
        folder = Path(sys.executable).parent
        self.env = {
            "PATH": os.environ.get("PATH") or f"{folder}:/usr/bin:/bin",
            "HOME": str(scratch / "home"),
            "TMPDIR": str(scratch / "tmp"),
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
        }
        if "LD_LIBRARY_PATH" in os.environ:
            self.env["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]

    def respond(self, line: bytes) -> Json:
        """Answer one question; a fault of the driver is a refusal, not an end."""
        try:
            return {"answer": self.answer(json.loads(line))}
        except RefusedError as error:
            return {"refused": str(error)}
        except (KeyError, ValueError, TypeError, binascii.Error) as error:
            return {"refused": f"bad question: {type(error).__name__}: {error}"}
        except Exception as error:  # noqa: BLE001 - every question gets its answer
            return {"refused": f"driver: {type(error).__name__}: {message_of(error)}"}

    def answer(self, question: Json) -> Any:
        """Answer a question by its op."""
        op = str(question.get("op"))
        method = getattr(self, f"answer_{op}", None)
        if method is None:
            raise RefusedError(f"unknown op: {op}")
        if not self.begun and op not in {"begin", "cpu"}:
            raise RefusedError("no check has begun")
        self.family.reap()
        return method(question)

    def end(self) -> None:
        """End all children and remove the copy."""
        self._clear()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _clear(self) -> None:
        for sink in self.sinks.values():
            sink.end()
        self.family.sweep()
        self.sinks, self.services = {}, {}
        places = [self.scratch]
        if self.family.alone:  # then these are the sandbox's own
            places += [Path("/tmp"), Path("/dev/shm")]
        for place in places:
            for path in place.iterdir() if place.is_dir() else ():
                if path == self.scratch:
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()

    def answer_begin(self, _: Json) -> None:
        """A new check: nothing of the one before is left."""
        self.begun = False
        self._clear()
        for name in ("HOME", "TMPDIR"):
            Path(self.env[name]).mkdir(parents=True)
        copy_tree(self.workspace, self.copy)
        self.begun = True

    def answer_cpu(self, _: Json) -> Json:
        """CPU seconds so far; ends what runs, so that it is counted."""
        self.family.sweep()
        return {"cpu_s": round(self.family.cpu_s(), 3)}

    # files

    def answer_read(self, question: Json) -> str | None:
        """Text of a file."""
        return read_text(self.copy, question["path"])

    def answer_list(self, question: Json) -> list[str]:
        """Paths of files."""
        return list_files(self.copy, question["path"])

    def answer_write(self, question: Json) -> None:
        """Write a file."""
        write_text(self.copy, question["path"], question["text"])

    def _folder(self, path: str) -> str:
        folder = self.copy.joinpath(*parts_of(path))
        if not folder.resolve().is_relative_to(self.copy.resolve()):
            raise RefusedError(f"path outside the copy: {path}")
        if not folder.is_dir():
            raise RefusedError(f"no such folder: {path}")
        return str(folder)

    # commands and services

    def _spawn(
        self, job: Json, capture: Capture, *more: int, stdin: bytes = b""
    ) -> int:
        """Have a child made, its output captured."""
        for name in job.get("limits") or {}:
            if name not in LIMITS:
                raise RefusedError(f"no such limit: {name}")
        try:
            with contextlib.closing(memory_file(stdin)) as source:
                return self.family.make(job, source.fileno(), *capture.ends, *more)
        finally:
            capture.follow()

    def _command(self, argv: Sequence[str]) -> list[str]:
        if not argv:
            raise RefusedError("empty command")
        return [sys.executable if argv[0] == "python" else argv[0], *argv[1:]]

    def answer_run(self, question: Json) -> Json:
        """Run a command to its end."""
        job = {
            "kind": "execute",
            "argv": self._command(question["argv"]),
            "env": self.env | question["env"],
            "cwd": self._folder(question["cwd"]),
            "limits": question["limits"],
        }
        started = time.monotonic()
        capture = Capture()
        pid = self._spawn(job, capture, stdin=question["stdin"].encode())
        code = self.family.wait(pid, min(question["timeout_s"], MAX_WAIT_S))
        elapsed_s = time.monotonic() - started
        if code is None:
            self.family.end(pid)
        out, err = capture.texts()
        return {
            "exit": code,
            "stdout": out,
            "stderr": err,
            "timed_out": code is None,
            "truncated": capture.truncated,
            "elapsed_s": round(elapsed_s, 6),
        }

    def answer_start(self, question: Json) -> Json:
        """Start a service and wait for its port."""
        service = Service(dict(question), question["port"] or free_port())
        number = len(self.services) + 1
        self.services[number] = service
        ready = self._start(service)
        return {
            "service": number,
            "port": service.port,
            "ready": ready,
            "exit": self.family.ended.get(service.pid),
            "output": "" if ready else service.capture.text(),
        }

    def _start(self, service: Service) -> bool:
        spec, port = service.spec, str(service.port)
        if listens(service.port):
            raise RefusedError(f"port {port} is taken")
        argv = [word.replace("{port}", port) for word in spec["argv"]]
        fork = spec.get("fork")
        if fork and (argv[:2] != ["python", "-m"] or len(argv) < 3):
            raise RefusedError("a forked service is started as python -m MODULE")
        job = {
            "kind": "module" if fork else "execute",
            "argv": argv if fork else self._command(argv),
            "env": self.env
            | {
                name: text.replace("{port}", port) for name, text in spec["env"].items()
            },
            "cwd": self._folder(spec["cwd"]),
            "limits": spec["limits"],
        }
        service.capture = Capture()
        service.pid = self._spawn(job, service.capture)
        deadline = time.monotonic() + min(spec["ready_s"], MAX_WAIT_S)
        while not listens(service.port):
            if self.family.wait(service.pid, 0.002) is not None:
                return False
            if time.monotonic() > deadline:
                self.family.end(service.pid)
                self.family.ended.pop(service.pid, None)
                return False
        return True

    def _service(self, question: Json) -> Service:
        number = question["service"]
        if number not in self.services:
            raise RefusedError(f"no such service: {number}")
        return self.services[number]

    def answer_stop(self, question: Json) -> Json:
        """Send a signal to a service and wait; end it where that does not."""
        service = self._service(question)
        started = time.monotonic()
        self.family.signal(service.pid, question["signal"])
        code = self.family.wait(service.pid, min(question["within_s"], MAX_WAIT_S))
        elapsed_s = time.monotonic() - started
        out_exit = self.family.end(service.pid) if code is None else code
        out, err = service.capture.texts()
        return {
            "exit": out_exit,
            "killed": code is None,
            "elapsed_s": round(elapsed_s, 6),
            "stdout": out,
            "stderr": err,
            "truncated": service.capture.truncated,
        }

    def answer_restart(self, question: Json) -> Json:
        """Stop a service, then start it again on the same port."""
        service = self._service(question)
        stopped = self.answer_stop(question)
        service.spec["env"] = service.spec["env"] | question["env"]
        if question["limits"] is not None:
            service.spec["limits"] = question["limits"]
        if not self._start(service):
            said = service.capture.text()[-2_000:]
            raise RefusedError(f"the service did not start again: {said}")
        return stopped

    def answer_output(self, question: Json) -> str:
        """What a service wrote so far, stdout before stderr."""
        return self._service(question).capture.text()

    # requests and sinks

    def _exchange(self, question: Json) -> Exchange:
        service = self._service(question)

        def signal_service(name: str) -> None:
            self.family.signal(service.pid, name)

        return Exchange(question, service.port, signal_service)

    def answer_http(self, question: Json) -> Json:
        """Send one request."""
        exchange = self._exchange(question)
        exchange.connect()
        return exchange.carry_out()

    def answer_http_many(self, question: Json) -> list[Json]:
        """Connect all, then send all behind one barrier."""
        exchanges = [self._exchange(request) for request in question["requests"]]
        replies: list[Json] = [{} for _ in exchanges]
        barrier = threading.Barrier(len(exchanges) or 1)

        def live(n: int) -> None:
            exchanges[n].connect(again=True)
            barrier.wait()
            replies[n] = exchanges[n].carry_out()

        threads = [
            threading.Thread(target=live, args=(n,), daemon=True)
            for n in range(len(exchanges))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return replies

    def answer_sink(self, question: Json) -> Json:
        """Open a scripted receiver."""
        sink = Sink(question["replies"] or [{"status": 200}])
        number = len(self.sinks) + 1
        self.sinks[number] = sink
        return {"sink": number, "url": f"http://127.0.0.1:{sink.server_port}"}

    def answer_sink_calls(self, question: Json) -> list[Json]:
        """What a sink received so far."""
        number = question["sink"]
        if number not in self.sinks:
            raise RefusedError(f"no such sink: {number}")
        with self.sinks[number].lock:
            return list(self.sinks[number].calls)

    def answer_until(self, question: Json) -> Json:
        """Ask a question again until its answer fits."""
        polled, test = question["question"], question["test"]
        if polled.get("op") not in {"http", "sink_calls"}:
            raise RefusedError(f"cannot wait for {polled.get('op')}")
        started = time.monotonic()
        n_polls = 0
        while True:
            last = self.answer(polled)
            n_polls += 1
            ok = _holds(test, last)
            elapsed_s = time.monotonic() - started
            if ok or elapsed_s >= min(question["within_s"], MAX_WAIT_S):
                break
            time.sleep(max(float(question["every_s"]), 0.001))
        elapsed_s = round(elapsed_s, 6)
        return {"ok": ok, "last": last, "polls": n_polls, "elapsed_s": elapsed_s}

    # calls and tests

    def _talk(self, job: Json, owed: int, *more: int) -> tuple[Talker, Capture]:
        start, end = os.pipe()
        capture = Capture()
        try:
            pid = self._spawn(job, capture, end, *more)
        except RefusedError:
            os.close(start)
            raise
        finally:
            os.close(end)
        return Talker(pid, start, owed), capture

    def answer_call(self, question: Json) -> list[Json]:
        """Make calls, in one child or in a child each."""
        calls, how = question["calls"], question["how"]
        if how not in {"sequence", "threads", "processes"}:
            raise RefusedError(f"unknown way to call: {how}")
        job = {
            "kind": "calls",
            "how": how,
            "env": self.env | question["env"],
            "cwd": str(self.copy),
        }
        within_s = min(question["timeout_s"], MAX_WAIT_S)
        started = time.monotonic()
        if how != "processes":
            talker, _ = self._talk({**job, "calls": calls}, len(calls))
            listen(self.family, [talker], within_s)
            return _returned(talker, len(calls), time.monotonic() - started)
        begin, go = os.pipe()
        talkers = [self._talk({**job, "calls": [call]}, 1, begin)[0] for call in calls]
        os.close(begin)
        listen(self.family, talkers, within_s, go)
        elapsed_s = time.monotonic() - started
        return [answer for t in talkers for answer in _returned(t, 1, elapsed_s)]

    def answer_unittest(self, question: Json) -> Json:
        """Run the workspace's tests in a copy of their own, with files over it."""
        self.n_suites += 1
        suite = self.scratch / f"suite-{self.n_suites}"
        copy_tree(self.workspace, suite)
        for path, text in question["files"].items():
            write_text(suite, path, text)
        parts = parts_of(question["start"])
        if not suite.joinpath(*parts).is_dir():
            return {"error": f"no such folder: {question['start']}"}
        job = {
            "kind": "tests",
            "start": "/".join(parts),
            "env": self.env,
            "cwd": str(suite),
        }
        talker, capture = self._talk(job, 1)
        listen(self.family, [talker], min(question["timeout_s"], MAX_WAIT_S))
        answer = _test_run(talker)
        if "output" not in answer:
            answer["output"] = capture.text()
        shutil.rmtree(suite, ignore_errors=True)
        return answer


def free_port() -> int:
    """A TCP port nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _holds(test: Json, last: Any) -> bool:
    if isinstance(last, list):
        return len(cast(list[Any], last)) >= (test.get("calls") or 0)
    if test.get("status") is not None and last["status"] != test["status"]:
        return False
    if "json" not in test:
        return last["status"] is not None
    try:
        body = json.loads(last.get("body", ""), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return fits(test["json"], body)


RETURNED: dict[str, tuple[type, ...]] = {
    "returned": (bool,),
    "mro": (list,),
    "message": (str,),
    "error": (str,),
    "elapsed_s": (float, int),
}


def _returned(talker: Talker, n_calls: int, elapsed_s: float) -> list[Json]:
    """The answers of a child in the order of its calls, shape checked."""
    told: dict[int, Json] = {}
    for line in talker.lines:
        n = line.pop("n", None)
        good = all(
            name == "result" or type(value) in RETURNED.get(name, ())
            for name, value in line.items()
        ) and all(type(name) is str for name in line.get("mro", ()))
        if good and type(n) is int and 0 <= n < n_calls:
            told.setdefault(n, line)
    missing = {"error": talker.over or "no-answer", "elapsed_s": round(elapsed_s, 6)}
    return [told.get(n, missing) for n in range(n_calls)]


def _test_run(talker: Talker) -> Json:
    """The answer of a test run, shape checked."""
    if not talker.lines:
        return {"error": talker.over or "no-answer"}
    told = talker.lines[0]
    ids = [told.get("ran"), told.get("skipped"), told.get("failed")]
    names = (
        list(told["failed"].values())
        if isinstance(told.get("failed"), dict)
        else [None]
    )
    good = (
        [type(group) for group in ids] == [list, list, dict]
        and all(type(name) is str for group in ids for name in cast(list[Any], group))
        and all(
            type(group) is list and all(type(name) is str for name in group)
            for group in names
        )
        and type(told.get("error")) in (str, type(None))
        and type(told.get("output")) is str
    )
    return told if good else {"error": "no-answer"}


def main(argv: Sequence[str]) -> None:
    """Serve questions from a passed socket until it ends."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) or prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    given = dict(enumerate(argv))
    fd = int(given[1])
    os.set_inheritable(fd, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    alone = given.get(4, "bwrap") == "bwrap" and os.getpid() == 1
    workspace = Path(given.get(2, "/workspace"))
    driver = Driver(workspace, Path(given.get(3, "/tmp/work")), alone=alone)
    with socket.socket(fileno=fd) as wire, wire.makefile("rb") as questions:
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.close(null)
        version = ".".join(map(str, sys.version_info[:3]))
        wire.sendall(
            _line({"ready": True, "pid1": os.getpid() == 1, "python": version})
        )
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for line in questions:
                wire.sendall(_line(driver.respond(line)))
    driver.end()


if __name__ == "__main__":
    main(sys.argv)
