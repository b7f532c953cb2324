"""What is asked of a child that answers for itself: calls, and a test run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from evalkit.inside.subject.bounds import MAX_WAIT_S, Any, Json, RefusedError
from evalkit.inside.subject.family import Family
from evalkit.inside.subject.pipes import Capture, Talker, listen, spawn
from evalkit.inside.subject.trees import (
    Copy,
    Places,
    copy_tree,
    parts_of,
    remove,
    write_text,
)


class Children:
    """Calls functions of the delivered program and runs its tests.

    Args:
        family: Makes and ends the processes.
        copy: Where calls are made.
        places: Of the driver; a test run has a copy of what was delivered.
        env: What every child has in its environment.
    """

    def __init__(
        self, family: Family, copy: Copy, places: Places, env: dict[str, str]
    ) -> None:
        self._family = family
        self._copy = copy
        self._places = places
        self._env = env
        self._n_suites = 0
        self.ops: dict[str, Callable[[Json], Any]] = {
            "call": self.call,
            "unittest": self.unittest,
        }

    def call(self, question: Json) -> list[Json]:
        """Make calls, in one child or in a child each: the fields of `Returned`."""
        calls, how = question["calls"], question["how"]
        if how not in {"sequence", "threads", "processes"}:
            raise RefusedError(f"unknown way to call: {how}")
        job = {
            "kind": "calls",
            "how": how,
            "env": self._env | question["env"],
            "cwd": self._copy.root,
        }
        within_s = min(question["timeout_s"], MAX_WAIT_S)
        started = time.monotonic()
        if how != "processes":
            talker, _ = self._talk({**job, "calls": calls}, len(calls))
            listen(self._family, [talker], within_s)
            return _returned(talker, len(calls), time.monotonic() - started)
        begin, go = os.pipe()
        talkers = [self._talk({**job, "calls": [call]}, 1, begin)[0] for call in calls]
        os.close(begin)
        listen(self._family, talkers, within_s, go)
        elapsed_s = time.monotonic() - started
        return [answer for t in talkers for answer in _returned(t, 1, elapsed_s)]

    def unittest(self, question: Json) -> Json:
        """Run tests in a copy of their own, files put over it: as in `TestRun`."""
        self._n_suites += 1
        suite = f"{self._places.scratch}/suite-{self._n_suites}"
        copy_tree(self._places.delivered, suite)
        try:
            return self._unittest(question, suite)
        finally:
            remove(suite)

    def _unittest(self, question: Json, suite: str) -> Json:
        for path, text in question["files"].items():
            write_text(suite, path, text)
        parts = parts_of(question["start"])
        if not os.path.isdir(os.path.join(suite, *parts)):
            return {"error": f"no such folder: {question['start']}"}
        job = {
            "kind": "tests",
            "start": "/".join(parts),
            "env": self._env,
            "cwd": suite,
        }
        started = time.monotonic()
        talker, capture = self._talk(job, 1)
        listen(self._family, [talker], min(question["timeout_s"], MAX_WAIT_S))
        elapsed_s = round(time.monotonic() - started, 6)
        return {"output": capture.text(), **_test_run(talker), "elapsed_s": elapsed_s}

    def _talk(self, job: Json, owed: int, *more: int) -> tuple[Talker, Capture]:
        start, end = os.pipe()
        capture = Capture()
        try:
            pid = spawn(self._family, job, capture, end, *more)
        except RefusedError:
            os.close(start)
            raise
        finally:
            os.close(end)
        return Talker(pid, start, owed), capture


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
    ids: list[Any] = [told.get("ran"), told.get("skipped"), told.get("failed")]
    names = (
        list(told["failed"].values())
        if isinstance(told.get("failed"), dict)
        else [None]
    )
    good = (
        [type(group) for group in ids] == [list, list, dict]
        and all(type(name) is str for group in ids for name in group)
        and all(
            type(group) is list and all(type(name) is str for name in group)
            for group in names
        )
        and type(told.get("error")) in (str, type(None))
        and type(told.get("output")) is str
    )
    return told if good else {"error": "no-answer"}
