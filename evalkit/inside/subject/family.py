"""The zygote and the children it made: the one place that waits and kills."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import select
import signal
import socket
import time

from evalkit.inside.subject.bounds import Json, RefusedError, write_all
from evalkit.inside.subject.zygote import live_zygote


class Family:
    """The zygote and the children it made: the one place that waits and kills.

    Every child leads a session and a process group of its own. When it ends, for
    whatever reason, the rest of its group is ended with it.

    Args:
        alone: The driver is in a pid namespace made for it, so that every other
            process in sight may be ended.
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
        if self._zygote and self._zygote_answers():
            return True
        self._bury_zygote()
        self._control.close()
        self._fork_zygote()
        return False

    def _zygote_answers(self) -> bool:
        # One that was just killed may look alive until it has the processor again.
        try:
            self._control.send(b"here?")
            return self._control.recv(32) == b"here?"
        except OSError:
            return False

    def make(self, job: Json, *fds: int) -> int:
        """Have a child made for a job; `fds` are its stdin, stdout, stderr, more."""
        with contextlib.closing(nameless_file(json.dumps(job).encode())) as memory:
            try:
                kind = [job["kind"].encode()]
                socket.send_fds(self._control, kind, [memory.fileno(), *fds])
                told = self._control.recv(32)
                if told != b"born":
                    self.living.add(int(told))
                    self._control.recv(32)
                    return int(told)
            except (OSError, ValueError) as error:
                self._bury_zygote()
                self.renew()
                raise RefusedError("the zygote died; another was forked") from error
        raise RefusedError("no process could be made")

    def _bury_zygote(self) -> None:
        """End the zygote, if there is one, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            if self._zygote:
                os.kill(self._zygote, signal.SIGKILL)
                os.waitpid(self._zygote, 0)
        self._zygote = 0

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
                for entry in os.listdir("/proc")
                if entry.isdigit() and int(entry) not in {1, os.getpid(), self._zygote}
            }
            if not others:
                break
            if attempt > 100:  # they multiply faster than a walk can end them
                os.kill(-1, signal.SIGKILL)
                self._bury_zygote()
            for pid in others:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            # What was killed needs the processor once more before it is gone.
            time.sleep(0.001 if attempt else 0)
        self.ended.clear()
        self.renew()

    def cpu_s(self) -> float:
        """CPU seconds of the driver, the zygote and all that has ended."""
        total = 0.0
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
            used = resource.getrusage(who)
            total += used.ru_utime + used.ru_stime
        with open(f"/proc/{self._zygote}/stat", encoding="ascii") as told:
            fields = told.read().rpartition(")")[2].split()
        ticks = sum(map(int, fields[11:15]))
        return total + ticks / os.sysconf("SC_CLK_TCK")


def nameless_file(data: bytes) -> io.FileIO:
    """A file without a name that holds `data`, read from its start."""
    flags = os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC
    file = io.FileIO(os.open(os.environ["TMPDIR"], flags, 0o600), "r+")
    write_all(file.fileno(), data)
    file.seek(0)
    return file
