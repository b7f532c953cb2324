"""The grader's side of grading: checks, expectations and questions to the subject.

A grader is a module `graders/<case>/grade.py` that declares `Checks` and one
function per check. It runs in its own process, outside the sandbox; all it
learns of the delivered program comes as answers to the questions below, which
a driver inside the sandbox carries out. So a grade replays from its answers.

    relay = Service(("python", "-m", "relay"), env={"PORT": "{port}"})
    checks = Checks({"accepts": 1}, service=relay)

    @checks("accepts")
    def accepts(subject):
        reply = subject.http("POST", "/hooks", json={"url": "http://x/"})
        expect(reply.status == 202, "status of an accepted hook", reply.status)
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from evalkit.biting import Suite
from evalkit.mutants import Mutant, mutants_of
from evalkit.questions import (
    Answer,
    Call,
    Failed,
    Get,
    Question,
    Ran,
    Reply,
    Returned,
    Send,
    Service,
    SinkCall,
    Stopped,
    TestRun,
    expect,
    fail,
    parse_json,
    shorten,
)
from evalkit.records import CheckResult

__all__ = [
    "Call",
    "Checks",
    "Failed",
    "Get",
    "Mutant",
    "Send",
    "Service",
    "Subject",
    "expect",
    "fail",
    "mutants_of",
    "parse_json",
]

NOT_ASKED = "not carried out: a check before it failed"
CheckFunction = Callable[["Subject"], None]


class Channel(Protocol):
    """Carries questions to the subject: live, recording, or from a record."""

    def ask(self, check: str, question: Question) -> Answer:
        """Return the one answer to `question`; a dead subject is an answer too."""
        ...


class Running:
    """A service that was started in the current check."""

    def __init__(self, subject: Subject, number: int, port: int) -> None:
        self._subject = subject
        self.number = number
        self.port = port

    def http(self, method: str, path: str, **options: Any) -> Reply:
        """Send one request to this service; options as `Send`."""
        return self._subject.http(method, path, service=self.number, **options)

    def stop(self, signal: str | None = "TERM", *, within_s: float = 5.0) -> Stopped:
        """Send a signal and wait; a service that stays is killed and says so.

        None sends nothing: for a service that was signalled already, by `halves`.
        (A second signal may meet it while it leaves, and become its exit code.)
        """
        question = {"op": "stop", "service": self.number}
        return self._subject.ask(
            {**question, "signal": signal, "within_s": within_s}, Stopped
        )

    def restart(
        self,
        *,
        signal: str = "TERM",
        env: Mapping[str, str] | None = None,
        limits: Mapping[str, int] | None = None,
        within_s: float = 5.0,
    ) -> Stopped:
        """Stop, then start again on the same port; `env` adds, `limits` replaces."""
        question = {
            "op": "restart",
            "service": self.number,
            "signal": signal,
            "within_s": within_s,
            "env": dict(env or {}),
            "limits": None if limits is None else dict(limits),
        }
        return self._subject.ask(question, Stopped)

    def output(self) -> str:
        """What the service wrote so far, stdout before stderr."""
        return self._subject.ask({"op": "output", "service": self.number}, str)


class Sink:
    """A scripted HTTP receiver inside the sandbox; the last reply repeats."""

    def __init__(self, subject: Subject, number: int, url: str) -> None:
        self._subject = subject
        self.number = number
        self.url = url

    @property
    def question(self) -> Question:
        """The question for `until`, which counts the calls received."""
        return {"op": "sink_calls", "sink": self.number}

    def calls(self) -> tuple[SinkCall, ...]:
        """All requests received so far, in order of arrival."""
        return self._subject.ask(self.question, tuple[SinkCall, ...])


class Inputs(random.Random):
    """Random inputs of one check, reproducible from the grade's seed."""

    def word(self, length: int = 8) -> str:
        """Lower-case ASCII letters."""
        return "".join(self.choices(string.ascii_lowercase, k=length))

    def text(self, length: int = 16) -> str:
        """Letters, digits and spaces, with a letter at both ends."""
        inner = self.choices(string.ascii_letters + string.digits + " ", k=length - 2)
        return self.word(1) + "".join(inner) + self.word(1)


# --- the subject ------------------------------------------------------------


class Subject:
    """The delivered program under question, in one check.

    Every check works in a fresh copy of the delivered workspace. Every method
    is one question with exactly one answer; a subject that dies fails the
    check that asked.
    """

    def __init__(
        self,
        channel: Channel,
        check: str,
        *,
        seed: int,
        service: Service | None,
        original: Callable[[str], str],
    ) -> None:
        self._channel = channel
        self._check = check
        self._service = service
        self._running: Running | None = None
        self.original = original
        self.random = Inputs(f"{seed}:{check}")

    def ask(self, question: Question, kind: Any = None) -> Any:
        """Ask one question and return its answer as `kind`."""
        answer = self._channel.ask(self._check, question)
        if "gone" in answer:
            fail("the subject ended before it answered", answer["gone"])
        if "refused" in answer:
            fail("the subject could not do what was asked", answer["refused"])
        return msgspec.convert(answer["answer"], kind)

    def start(
        self, service: Service | None = None, *, env: Mapping[str, str] | None = None
    ) -> Running:
        """Start a service (the declared one by default) and wait for its port."""
        service = service or self._service
        if service is None:
            raise TypeError("no service: pass one, or declare it with Checks(service=)")
        question = {"op": "start", **msgspec.to_builtins(service)}
        question["env"] = {**service.env, **(env or {})}
        started = self.ask(question, _Started)
        if not started.ready:
            fail(
                "the service did not start",
                started.exit if started.exit is not None else started.output,
            )
        self._running = Running(self, started.service, started.port)
        return self._running

    def http(self, method: str, path: str, **options: Any) -> Reply:
        """Send one request; starts the declared service where none runs yet."""
        return self.ask(self._sent(Send(method, path, **options)), Reply)

    def http_many(self, requests: Sequence[Question]) -> tuple[Reply, ...]:
        """Send all requests at the same moment, each on its own connection.

        Connections are made first (refused ones are tried again), then all send
        behind one barrier. Replies come in the order of `requests`.
        """
        sent = [self._sent(request) for request in requests]
        return self.ask({"op": "http_many", "requests": sent}, tuple[Reply, ...])

    def sink(self, replies: Sequence[int | Mapping[str, Any]] = (200,)) -> Sink:
        """Open a receiver that answers the n-th request with the n-th reply.

        A reply is a status, or `{"status", "body", "headers", "delay_s"}`.
        """
        scripted = [{"status": r} if isinstance(r, int) else dict(r) for r in replies]
        opened = self.ask({"op": "sink", "replies": scripted}, _Opened)
        return Sink(self, opened.sink, opened.url)

    def call(
        self, target: str, *args: Any, timeout_s: float = 10.0, **kwargs: Any
    ) -> Returned:
        """Call a function in a fresh child; arguments as for `Call`."""
        return self.call_many([Call(target, *args, **kwargs)], timeout_s=timeout_s)[0]

    def call_many(
        self,
        calls: Sequence[Question],
        *,
        how: str = "sequence",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
    ) -> tuple[Returned, ...]:
        """Make several calls.

        Args:
            calls: Made by `Call`.
            how: `sequence`: one after the other in one child, sharing its state;
                `threads`: behind a barrier in one child; `processes`: behind a
                barrier, a child each. With `threads`, calls that save come first.
            env: Added to the child's environment.
            timeout_s: For all of them together.
        """
        question = {
            "op": "call",
            "calls": list(calls),
            "how": how,
            "env": dict(env or {}),
            "timeout_s": timeout_s,
        }
        return self.ask(question, tuple[Returned, ...])

    def run(
        self,
        *argv: str,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str = ".",
        limits: Mapping[str, int] | None = None,
        timeout_s: float = 10.0,
    ) -> Ran:
        """Run a command to its end; `python` is the sandbox's interpreter."""
        question = {
            "op": "run",
            "argv": list(argv),
            "stdin": stdin,
            "env": dict(env or {}),
            "cwd": cwd,
            "limits": dict(limits or {}),
            "timeout_s": timeout_s,
        }
        return self.ask(question, Ran)

    def read(self, path: str) -> str:
        """Text of a regular file; fails the check where there is none.

        Links are not followed; what is no UTF-8 reads as U+FFFD.
        """
        text = self.ask({"op": "read", "path": path}, str | None)
        return fail("no such file", path) if text is None else text

    def exists(self, path: str) -> bool:
        """True where a regular file of that path exists."""
        return self.ask({"op": "read", "path": path}, str | None) is not None

    def list(self, path: str = ".") -> tuple[str, ...]:
        """Paths from the root of all regular files below a folder, sorted.

        Caches and links are left out; a folder that is not there has none.
        """
        return self.ask({"op": "list", "path": path}, tuple[str, ...])

    def write(self, path: str, text: str) -> None:
        """Write a file into this check's own copy, making its folders."""
        self.ask({"op": "write", "path": path, "text": text}, None)

    def until(
        self,
        question: Question | Sink,
        *,
        status: int | None = None,
        json: Any = msgspec.UNSET,
        calls: int | None = None,
        within_s: float = 5.0,
        every_s: float = 0.02,
    ) -> Reply | tuple[SinkCall, ...]:
        """Ask again, inside the sandbox, until the answer fits; else fail.

        Args:
            question: A request made by `Get` or `Send`, or a sink.
            status: Wanted status of the reply.
            json: Wanted body: objects may hold more keys than named here.
            calls: Wanted number of calls received by the sink, or more.
            within_s: For how long to ask.
            every_s: Pause between two tries.

        Returns:
            The last answer: the reply, or the sink's calls.
        """
        polled = (
            question.question if isinstance(question, Sink) else self._sent(question)
        )
        test = {"status": status, "calls": calls}
        if json is not msgspec.UNSET:
            test["json"] = json
        asked = {
            "op": "until",
            "question": polled,
            "test": test,
            "within_s": within_s,
            "every_s": every_s,
        }
        seen = self.ask(asked, _Seen)
        if not seen.ok:
            fail(f"not seen within {within_s} s", seen.last)
        kind = tuple[SinkCall, ...] if isinstance(question, Sink) else Reply
        return msgspec.convert(seen.last, kind)

    def tests(
        self,
        files: Mapping[str, str] | None = None,
        *,
        start: str = "tests",
        timeout_s: float = 60.0,
    ) -> TestRun:
        """Collect and run the workspace's unittest suite in a fresh child.

        Args:
            files: Put over a copy of the workspace before the run.
            start: Folder to collect from.
            timeout_s: For the whole run.
        """
        question = {
            "op": "unittest",
            "files": dict(files or {}),
            "start": start,
            "timeout_s": timeout_s,
        }
        return self.ask(question, TestRun)

    def mutant(
        self,
        files: Mapping[str, str],
        *,
        shipped: Sequence[str] = (),
        start: str = "tests",
        timeout_s: float = 60.0,
    ) -> None:
        """Fail the check unless the delivered tests bite on a mutant.

        They bite where they pass on the delivered code, and at least one fails
        on it with `files` put over it, other than by not fitting it
        (`biting.NO_KILL`). The shipped tests must pass on the mutant, so that what
        bites is new.

        Args:
            files: The mutant, as in `{path: subject.original(path)}`.
            shipped: Paths of test files as shipped, put back for the control.
            start: Folder to collect from.
            timeout_s: For each run.
        """
        Suite(self, start, timeout_s).bite_on_original(files, shipped)

    def bites(
        self,
        paths: Sequence[str],
        *,
        shipped: Sequence[str] = (),
        counts: Callable[[Mapping[str, str]], bool] | None = None,
        limit: int = 40,
        start: str = "tests",
        timeout_s: float = 60.0,
    ) -> None:
        """Fail the check unless the delivered tests bite on a mutant of their code.

        For code that has no original. Statement mutants of the delivered modules
        are tried in seeded order until a test that is not as shipped fails on one,
        as in `mutant`.

        Args:
            paths: Modules to mutate, as delivered.
            shipped: Paths of the shipped test files.
            counts: Of a mutant as `{path: text}`, does it count? By default each.
            limit: How many mutants to try.
            start: Folder to collect from.
            timeout_s: For the run on the delivered code.
        """
        suite = Suite(self, start, timeout_s)
        suite.bite_on_mutants(paths, shipped, counts, limit)

    def _sent(self, request: Question) -> Question:
        """The request with its service filled in; starts the declared one if needed."""
        if request.get("op") != "http":
            return request
        if request["service"] is None:
            running = self._running or self.start()
            request = {**request, "service": running.number}
        source = request["source"] or (self._service.source if self._service else None)
        return {**request, "source": source}


class _Started(msgspec.Struct, frozen=True):
    service: int
    port: int
    ready: bool
    exit: int | None = None
    output: str = ""


class _Opened(msgspec.Struct, frozen=True):
    sink: int
    url: str


class _Seen(msgspec.Struct, frozen=True):
    ok: bool
    last: Any
    polls: int
    elapsed_s: float


# --- checks -----------------------------------------------------------------


class Checks:
    """The checks of one step: every id and weight, before anything runs."""

    def __init__(
        self,
        weights: Mapping[str, int],
        *,
        step: str | None = None,
        service: Service | None = None,
    ) -> None:
        """Declare checks.

        Args:
            weights: Integer weight by check id, in the order they run.
            step: Slug of the step these belong to; None for a case without steps.
            service: Started when a check first sends a request.

        Raises:
            TypeError: A weight is not a positive integer.
        """
        for name, weight in weights.items():
            if type(weight) is not int or weight < 1:
                raise TypeError(f"weight of {name!r}: a positive int, got {weight!r}")
        self.weights = dict(weights)
        self.step = step
        self.service = service
        self.functions: dict[str, CheckFunction] = {}

    def __call__(self, name: str) -> Callable[[CheckFunction], CheckFunction]:
        """Decorator: the function that carries out check `name`."""
        if name not in self.weights or name in self.functions:
            raise TypeError(f"check {name!r} is not declared, or defined twice")

        def register(function: CheckFunction) -> CheckFunction:
            self.functions[name] = function
            return function

        return register

    def carry_out(
        self,
        channel: Channel,
        *,
        seed: int,
        original: Callable[[str], str],
        until_failed: bool = False,
    ) -> tuple[CheckResult, ...]:
        """Run every check in declared order; one that raises fails alone.

        Args:
            channel: Carries the questions.
            seed: Of the check's random inputs.
            original: Text of a file of the fixture, by its path.
            until_failed: Carry out none after the first that fails; they fail.
        """
        missing = sorted(set(self.weights) - set(self.functions))
        if missing:
            raise TypeError(f"checks without a function: {', '.join(missing)}")
        found: list[CheckResult] = []
        for name, weight in self.weights.items():
            if until_failed and found and not found[-1].passed:
                found.append(CheckResult(name, weight, passed=False, reason=NOT_ASKED))
            else:
                found.append(
                    self._carry_out_one(name, channel, seed=seed, original=original)
                )
        return tuple(found)

    def _carry_out_one(
        self, name: str, channel: Channel, *, seed: int, original: Callable[[str], str]
    ) -> CheckResult:
        subject = Subject(
            channel, name, seed=seed, service=self.service, original=original
        )
        reason = ""
        try:
            subject.ask({"op": "begin", "check": name}, None)
            self.functions[name](subject)
        except Failed as failed:
            reason = str(failed) or "failed, and did not say why"
        except Exception as error:  # noqa: BLE001 - any fault fails this check alone
            reason = f"{type(error).__name__}: {shorten(str(error))}"
        return CheckResult(name, self.weights[name], not reason, reason)
