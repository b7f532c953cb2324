"""Answers questions, one at a time, each by the part that owns its op."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

from evalkit.inside.subject.bounds import Any, Json, RefusedError
from evalkit.inside.subject.children import Children
from evalkit.inside.subject.family import Family
from evalkit.inside.subject.plain import message_of
from evalkit.inside.subject.requests import Requests
from evalkit.inside.subject.services import Commands
from evalkit.inside.subject.trees import Copy, Places, copy_tree, empty, remove

TEMPORARY = "tmp"


class Driver:
    """Carries out one check after the other.

    Args:
        places: Its folders.
        alone: See `Family`.
    """

    def __init__(self, places: Places, *, alone: bool) -> None:
        self._places = places
        self._copy = Copy(places.work)
        self._begun = False
        self._family = Family(alone=alone)
        env = self._environment()
        self._commands = Commands(self._family, self._copy, env)
        self._requests = Requests(self._family, self._commands)
        children = Children(self._family, self._copy, places, env)
        self._ops: dict[str, Callable[[Json], Any]] = {
            "begin": self._begin,
            "cpu": self._cpu,
            **self._copy.ops,
            **self._commands.ops,
            **self._requests.ops,
            **children.ops,
        }

    def respond(self, question: bytes) -> Json:
        """Answer one question; a fault of the driver is a refusal, not an end."""
        try:
            return {"answer": self._answer(json.loads(question))}
        except RefusedError as error:
            return {"refused": str(error)}
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            return {"refused": f"bad question: {type(error).__name__}: {error}"}
        except Exception as error:  # noqa: BLE001 - every question gets its answer
            return {"refused": f"driver: {type(error).__name__}: {message_of(error)}"}

    def end(self) -> None:
        """End all children and remove the copy."""
        self._clear()
        remove(self._places.scratch)

    def _answer(self, question: Json) -> Any:
        op = question["op"]
        if op not in self._ops:
            raise RefusedError(f"unknown op: {op}")
        if not self._begun and op not in {"begin", "cpu"}:
            raise RefusedError("no check has begun")
        self._family.reap()
        return self._ops[op](question)

    def _begin(self, _: Json) -> None:
        """A new check: nothing of the one before is left."""
        self._begun = False
        self._clear()
        os.makedirs(f"{self._places.home}/{TEMPORARY}")
        copy_tree(self._places.delivered, self._places.work)
        self._begun = True

    def _cpu(self, _: Json) -> Json:
        """CPU seconds so far; ends what runs, so that it is counted."""
        self._family.sweep()
        return {"cpu_s": round(self._family.cpu_s(), 3)}

    def _clear(self) -> None:
        self._requests.clear()
        self._family.sweep()
        self._commands.clear()
        own = [self._places.work, self._places.home, self._places.scratch]
        if self._family.alone:  # then these are the sandbox's own
            own += ["/tmp", "/dev/shm"]
        for place in own:
            empty(place, keep=self._places.scratch)

    def _environment(self) -> dict[str, str]:
        """What every child finds: an allowlist, so that nothing else gets in.

        No bytecode is written: a mutant of the same size and second as the file
        it replaces would be taken for it.
        """
        home = self._places.home
        folder = os.path.dirname(sys.executable)
        given = {
            name: os.environ[name]
            for name in ("LD_LIBRARY_PATH",)
            if name in os.environ
        }
        return given | {
            "PATH": os.environ.get("PATH") or f"{folder}:/usr/bin:/bin",
            "HOME": home,
            "TMPDIR": f"{home}/{TEMPORARY}",
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
        }
