"""Questions to a delivered program as data, and the types of their answers.

The driver in the sandbox (`inside/subject/`) carries out questions; it sees
inputs only. What is expected stays with the grader.

A question is an object with an `op`; beside those that `grader.Subject` asks
there are `begin` (a fresh copy; ends all that the check before left running) and
`cpu`, asked last, which ends what runs and answers `{"cpu_s": seconds}` of driver
and children. An answer is `{"answer": ...}`, or `{"refused": why}` where the
driver will not or cannot: a path that leaves the copy, a file over 1 MB, a port
that is taken, a service that does not start again. Texts are cut at 1 MB, output
at 256 kB, which `truncated` says, or a last line `[truncated]`. A line is at most
8 MB, and no wait is longer than 600 s.
"""

from __future__ import annotations

import base64
import json as jsonlib
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

Question = dict[str, Any]
Answer = dict[str, Any]


class Failed(Exception):  # noqa: N818 - read in graders as an outcome, not a fault
    """A check does not hold; its text is the reason shown to people."""


def expect(condition: bool, what: str, seen: object = None) -> None:  # noqa: FBT001 - reads as prose
    """Fail the check unless `condition` is True.

    Args:
        condition: A real bool; anything else is a fault of the grader.
        what: Names the expectation, as in "attempts reported".
        seen: What was found instead, shown shortened in the reason.
    """
    if type(condition) is not bool:
        raise TypeError(f"expect() takes a bool for {what!r}, got {condition!r}")
    if not condition:
        fail(what, seen)


def fail(what: str, seen: object = None) -> NoReturn:
    """Fail the check."""
    raise Failed(what if seen is None else f"{what}: {shorten(seen)}")


def shorten(seen: object, limit: int = 300) -> str:
    """Text of a value for a reason, cut at `limit` characters."""
    text = seen if isinstance(seen, str) else repr(seen)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def parse_json(text: str, what: str) -> Any:
    """Parse strict JSON (no NaN, no duplicate keys); fails the check otherwise."""
    try:
        return jsonlib.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_unique
        )
    except (ValueError, RecursionError) as error:
        fail(f"{what} is not JSON ({error})", text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


# --- answers ----------------------------------------------------------------


class _Timed(msgspec.Struct, frozen=True):
    """An answer with times, which no reason shows: reasons are the same each time."""

    def __repr__(self) -> str:
        shown = (
            f"{name}={getattr(self, name)!r}"
            for name in self.__struct_fields__
            if not name.endswith("_s")
        )
        return f"{type(self).__name__}({', '.join(shown)})"


class Reply(_Timed, frozen=True):
    """Answer to an HTTP request.

    `status` is None where no reply came; `error` then is `transport`,
    `refused` or `timeout`, and `detail` says more. Times are seconds on the
    driver's monotonic clock. `headers` keep their order and repetition.
    """

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    truncated: bool = False
    sent_s: float = 0.0
    elapsed_s: float = 0.0
    error: str | None = None
    detail: str = ""

    def header(self, name: str) -> str | None:
        """First value of a header, by case-insensitive name."""
        wanted = name.lower()
        return next((v for k, v in self.headers if k.lower() == wanted), None)

    @property
    def json(self) -> Any:
        """The body as plain JSON values; fails the check if it is not JSON."""
        return parse_json(self.body, f"body of a {self.status} reply")


class Returned(_Timed, frozen=True):
    """Answer to a call: a value, an exception, or why there is neither.

    `mro` lists the class names of the exception raised, most derived first.
    `error` is `timeout`, `no-answer` (the child died) or `not-plain`. A result
    is made of plain JSON values by exact type, tuples as arrays, and bytes as
    `{"$bytes": "<base64>"}`; anything else in it makes it not plain.
    """

    result: Any = None
    returned: bool = False
    mro: tuple[str, ...] = ()
    message: str = ""
    error: str | None = None
    elapsed_s: float = 0.0

    @property
    def value(self) -> Any:
        """The returned value; fails the check if the call did not return."""
        if not self.returned:
            fail("call did not return", self.error or f"{self.mro[:1]} {self.message}")
        return self.result

    def raises(self, name: str) -> bool:
        """True where the call raised `name` or a subclass of it."""
        return name in self.mro


class Ran(_Timed, frozen=True):
    """Answer to a command. `exit` is None after a time-out, negative for a signal."""

    exit: int | None = None
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    truncated: bool = False
    elapsed_s: float = 0.0


class Stopped(_Timed, frozen=True):
    """How a service ended. `killed` is True where the signal did not end it.

    What is left of its process group ends with it.
    """

    exit: int | None = None
    killed: bool = False
    elapsed_s: float = 0.0
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False


class SinkCall(_Timed, frozen=True):
    """One request that a sink received; `at_s` is its arrival time in seconds."""

    at_s: float
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: str

    @property
    def json(self) -> Any:
        """The body as plain JSON values; fails the check if it is not JSON."""
        return parse_json(self.body, "body received by the sink")


class TestRun(_Timed, frozen=True):
    """Answer to a unittest run: ids that ran, and why some failed.

    `failed` maps a test id to the class names of its exception, most derived
    first; `error` is set where nothing could be collected or the run died.
    """

    __test__ = False
    ran: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    failed: dict[str, tuple[str, ...]] = {}
    error: str | None = None
    output: str = ""
    elapsed_s: float = 0.0

    @property
    def passed(self) -> bool:
        """True where at least one test ran and none failed."""
        return self.error is None and bool(self.ran) and not self.failed


# --- questions as data ------------------------------------------------------


def Get(path: str, **options: Any) -> Question:  # noqa: N802 - reads as the request it is
    """A GET request, for `http_many` and `until`."""
    return Send("GET", path, **options)


def Send(  # noqa: N802 - reads as the request it is
    method: str,
    path: str,
    *,
    json: Any = msgspec.UNSET,
    body: str | bytes | None = None,
    headers: Mapping[str, str] | None = None,
    service: int | None = None,
    source: str | None = None,
    chunked: bool = False,
    halves: Mapping[str, Any] | None = None,
    timeout_s: float = 10.0,
) -> Question:
    """An HTTP request as data.

    Args:
        method: HTTP method.
        path: Sent as it is, without any normalising; starts with `/`.
        json: Sent as a JSON body with its content type; UNSET means no body.
        body: Sent as it is (text as UTF-8).
        headers: Sent beside the necessary ones; they win over those.
        service: Number of a started service; the check's newest one by default.
        source: Client address, as in `127.0.0.7`.
        chunked: Send the body in chunks without a content length.
        halves: `{"signal": "TERM", "wait_s": 1.5}`: send half of the body; once
            the service reads, send it the signal (or none), wait, send the rest.
        timeout_s: For the whole exchange.
    """
    sent = dict(headers or {})
    if json is not msgspec.UNSET:
        body = jsonlib.dumps(json)
        sent.setdefault("Content-Type", "application/json")
    raw = body.encode() if isinstance(body, str) else body
    return {
        "op": "http",
        "method": method,
        "path": path,
        "headers": sorted(sent.items()),
        "body": None if raw is None else base64.b64encode(raw).decode(),
        "service": service,
        "source": source,
        "chunked": chunked,
        "halves": None if halves is None else dict(halves),
        "timeout_s": timeout_s,
    }


def Call(  # noqa: N802 - reads as the call it is
    target: str, *args: Any, save: str | None = None, **kwargs: Any
) -> Question:
    """A Python call as data, for `call_many`.

    Args:
        target: `package.module:name.attribute`, or `$saved.method` on a value
            that an earlier call of the same `call_many` saved.
        *args: Plain JSON values; `{"$ref": "saved"}` stands for a saved value,
            `{"$bytes": "<base64>"}` for bytes.
        save: Keep the returned value in the child under this name; the answer
            then is None.
        **kwargs: As `args`.
    """
    return {"target": target, "args": list(args), "kwargs": kwargs, "save": save}


class Service(msgspec.Struct, frozen=True):
    """How a service is started; `{port}` in argv and env is replaced.

    `python` as the first word is the sandbox's interpreter. `port` None means a
    free one. `limits` takes `fsize`, `nofile`, `as` (RLIMIT values). `fork`
    starts `python -m MODULE` in a forked child of a warm process (10 ms instead
    of 100): for services that do not care.
    """

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    port: int | None = None
    cwd: str = "."
    source: str | None = None
    limits: dict[str, int] = {}
    fork: bool = False
    ready_s: float = 10.0
