"""Calls into the delivered program: made in a child, checked in the driver."""

from __future__ import annotations

import base64
import importlib
import os
import sys
import threading
import time
import types
from collections.abc import Callable, Sequence

from evalkit.inside.subject.bounds import MAX_TEXT, Any, Json, NoReturn, write_all
from evalkit.inside.subject.plain import (
    NotPlainError,
    json_line,
    message_of,
    mro_of,
    plain,
)


def become_fresh(folder: str, argv: list[str]) -> None:
    """Look as a new interpreter would that was started in `folder`."""
    sys.argv = argv
    sys.path.insert(0, folder)
    sys.modules["__main__"] = types.ModuleType("__main__")


def make_calls(job: Json, answer: int, go: int | None = None) -> int:
    """Make the calls of a job; each answers with a line of its own.

    A child with a `go` descriptor imports, says that it is ready, and waits.
    """
    become_fresh(job["cwd"], ["-c"])
    calls: list[Json] = job["calls"]
    saved: Json = {}
    lock = threading.Lock()

    def tell(n: int, outcome: Json) -> None:
        with lock:
            write_all(answer, json_line({"n": n, **outcome}))

    if job["how"] == "sequence":
        for n, call in enumerate(calls):
            tell(n, _outcome(_prepared(call, saved), call, saved))
        return 0
    first = [n for n, call in enumerate(calls) if call.get("save")]
    for n in first:
        tell(n, _outcome(_prepared(calls[n], saved), calls[n], saved))
    ready = [
        (n, _prepared(calls[n], saved)) for n in range(len(calls)) if n not in first
    ]
    if go is not None:
        write_all(answer, json_line({"ready": True}))
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
        found: Any = saved[name]
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
        listed: list[Any] = value
        return [_decoded(item, saved) for item in listed]
    if isinstance(value, dict):
        items: Json = value
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
        json_line({"result": result}, MAX_TEXT)
        outcome |= {"result": result, "returned": True}
    except NotPlainError as error:
        outcome |= {"error": "not-plain", "message": str(error)}
    except BaseException as error:  # noqa: BLE001 - whatever was raised is the answer
        outcome |= {"mro": mro_of(error), "message": message_of(error)}
        outcome.setdefault("elapsed_s", round(time.monotonic() - started, 6))
    return outcome
