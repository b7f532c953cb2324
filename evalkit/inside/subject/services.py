"""Commands and services of a check: how they are started, signalled and stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from evalkit.inside.subject.bounds import MAX_WAIT_S, Any, Json, RefusedError
from evalkit.inside.subject.family import Family
from evalkit.inside.subject.pipes import Capture, spawn
from evalkit.inside.subject.ports import free_port, listens
from evalkit.inside.subject.trees import Copy
from evalkit.inside.subject.zygote import LIMITS


class Service:
    """A started service: how it is started, and the process that it is now."""

    def __init__(self, spec: Json, port: int) -> None:
        self.spec = spec
        self.port = port
        self.pid = 0
        self.capture: Capture


class Commands:
    """Runs commands to their end, and services until they are stopped.

    Args:
        family: Makes and ends the processes.
        copy: Where they run.
        env: What every one of them has in its environment.
    """

    def __init__(self, family: Family, copy: Copy, env: dict[str, str]) -> None:
        self._family = family
        self._copy = copy
        self._env = env
        self._services: dict[int, Service] = {}
        self.ops: dict[str, Callable[[Json], Any]] = {
            "run": self.run,
            "start": self.start,
            "stop": self.stop,
            "restart": self.restart,
            "output": self.output,
        }

    def clear(self) -> None:
        """Forget the services; the family has ended them."""
        self._services.clear()

    def service(self, question: Json) -> Service:
        """The service that a question names."""
        number = question["service"]
        if number not in self._services:
            raise RefusedError(f"no such service: {number}")
        return self._services[number]

    def run(self, question: Json) -> Json:
        """Run a command to its end: the fields of `Ran`."""
        job = self._job(question, _command(question["argv"]), question["env"])
        started = time.monotonic()
        capture = Capture()
        pid = spawn(self._family, job, capture, stdin=question["stdin"].encode())
        code = self._family.wait(pid, min(question["timeout_s"], MAX_WAIT_S))
        elapsed_s = time.monotonic() - started
        if code is None:
            self._family.end(pid)
        out, err = capture.texts()
        return {
            "exit": code,
            "stdout": out,
            "stderr": err,
            "timed_out": code is None,
            "truncated": capture.truncated,
            "elapsed_s": round(elapsed_s, 6),
        }

    def start(self, question: Json) -> Json:
        """Start a service and wait for its port."""
        service = Service(dict(question), question["port"] or free_port())
        number = len(self._services) + 1
        self._services[number] = service
        ready = self._start(service)
        return {
            "service": number,
            "port": service.port,
            "ready": ready,
            "exit": self._family.ended.get(service.pid),
            "output": "" if ready else service.capture.text(),
        }

    def stop(self, question: Json) -> Json:
        """Signal a service, or not, and wait: the fields of `Stopped`."""
        service = self.service(question)
        started = time.monotonic()
        if question["signal"] is not None:
            self._family.signal(service.pid, question["signal"])
        code = self._family.wait(service.pid, min(question["within_s"], MAX_WAIT_S))
        elapsed_s = time.monotonic() - started
        found = self._family.end(service.pid) if code is None else code
        out, err = service.capture.texts()
        return {
            "exit": found,
            "killed": code is None,
            "elapsed_s": round(elapsed_s, 6),
            "stdout": out,
            "stderr": err,
            "truncated": service.capture.truncated,
        }

    def restart(self, question: Json) -> Json:
        """Stop a service, then start it again on the same port."""
        service = self.service(question)
        stopped = self.stop(question)
        service.spec["env"] = service.spec["env"] | question["env"]
        if question["limits"] is not None:
            service.spec["limits"] = question["limits"]
        if not self._start(service):
            said = service.capture.text()[-2_000:]
            raise RefusedError(f"the service did not start again: {said}")
        return stopped

    def output(self, question: Json) -> str:
        """What a service wrote so far, stdout before stderr."""
        return self.service(question).capture.text()

    def _start(self, service: Service) -> bool:
        """Start; True once the port listens, False where the process does not get so far."""
        spec, port = service.spec, str(service.port)
        if listens(service.port):
            raise RefusedError(f"port {port} is taken")
        argv = [word.replace("{port}", port) for word in spec["argv"]]
        env = {name: text.replace("{port}", port) for name, text in spec["env"].items()}
        if spec.get("fork"):
            if argv[:2] != ["python", "-m"] or len(argv) < 3:
                raise RefusedError("a forked service is started as python -m MODULE")
            job = self._job(spec, argv, env) | {"kind": "module"}
        else:
            job = self._job(spec, _command(argv), env)
        service.capture = Capture()
        service.pid = spawn(self._family, job, service.capture)
        deadline = time.monotonic() + min(spec["ready_s"], MAX_WAIT_S)
        while not listens(service.port):
            if self._family.wait(service.pid, 0.002) is not None:
                return False
            if time.monotonic() > deadline:
                self._family.end(service.pid)
                self._family.ended.pop(service.pid, None)
                return False
        return True

    def _job(self, question: Json, argv: list[str], env: Json) -> Json:
        for name in question["limits"]:
            if name not in LIMITS:
                raise RefusedError(f"no such limit: {name}")
        return {
            "kind": "execute",
            "argv": argv,
            "env": self._env | env,
            "cwd": self._copy.folder(question["cwd"]),
            "limits": question["limits"],
        }


def _command(argv: Sequence[str]) -> list[str]:
    if not argv:
        raise RefusedError("empty command")
    return [sys.executable if argv[0] == "python" else argv[0], *argv[1:]]
