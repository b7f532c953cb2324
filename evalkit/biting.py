"""Do the tests that were delivered notice a fault? They are run to find out."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol

from evalkit.mutants import mutants_of
from evalkit.questions import TestRun, expect, fail

NO_KILL = (
    "ImportError",
    "NameError",
    "AttributeError",
    "TypeError",
    "SyntaxError",
)
"""Errors that say a test does not fit the mutant, not that it bites."""
SEARCH_S = 60.0
"""For how long mutants are tried; slow tests get the time of three runs."""
HUNG_S = 5.0
"""A mutant may hang its tests: beyond twice their own time, they wait so long."""


class Tested(Protocol):
    """What is asked of a subject here; see `grader.Subject`."""

    original: Callable[[str], str]

    @property
    def random(self) -> random.Random:
        """Of the check."""
        ...

    def read(self, path: str) -> str:
        """Text of a delivered file."""
        ...

    def exists(self, path: str) -> bool:
        """Is there such a file?"""
        ...

    def tests(
        self, files: Mapping[str, str], *, start: str, timeout_s: float
    ) -> TestRun:
        """Run the delivered tests, files put over what was delivered."""
        ...


class Suite:
    """The delivered tests, which pass on the delivered code.

    Args:
        subject: The delivered program.
        start: Folder to collect from.
        timeout_s: For a run; where mutants are tried, at most.

    Raises:
        Failed: They do not pass, or there are none.
    """

    def __init__(self, subject: Tested, start: str, timeout_s: float) -> None:
        self._subject = subject
        self._start = start
        self._timeout_s = timeout_s
        self._own = self._run({})
        expect(
            self._own.passed,
            "the delivered tests pass",
            self._own.error or self._own.failed or self._own.ran,
        )

    def bite_on_original(
        self, original: Mapping[str, str], shipped: Sequence[str]
    ) -> None:
        """Fail unless a test notices files as they were, and no shipped one did."""
        if shipped:
            control = self._shipped(original, shipped)
            unchanged = sorted(set(control.failed) - set(self._own.ran))
            expect(
                control.error is None,
                "the shipped tests run on the mutant",
                control.error,
            )
            expect(not unchanged, "the shipped tests pass on the mutant", unchanged)
        bitten = self._run(original)
        expect(
            bool(self._kills(bitten)),
            "a delivered test fails on the mutant",
            bitten.failed or "none did",
        )
        self._expect_no_words(path for path in original if self._subject.exists(path))

    def bite_on_mutants(
        self,
        paths: Sequence[str],
        shipped: Sequence[str],
        counts: Callable[[Mapping[str, str]], bool] | None,
        limit: int,
    ) -> None:
        """Fail unless a test notices one of some mutants that no shipped one does."""
        texts = {path: self._subject.read(path) for path in paths}
        drawn = [
            (path, mutant.text) for path in paths for mutant in mutants_of(texts[path])
        ]
        self._subject.random.shuffle(drawn)
        fitting = ({path: text} for path, text in drawn)
        chosen = (files for files in fitting if counts is None or counts(files))
        own_s = self._own.elapsed_s
        n_tried, spent_s = 0, 0.0
        for files in islice(chosen, limit):
            if spent_s > max(SEARCH_S, 3 * own_s):
                break
            bitten = self._run(files, min(self._timeout_s, 2 * own_s + HUNG_S))
            n_tried, spent_s = n_tried + 1, spent_s + bitten.elapsed_s
            if self._kills(bitten) and not self._shipped_notice(files, shipped):
                self._expect_no_words(paths)
                return
        fail(
            "a delivered test of its own fails on a mutant",
            f"none did, on {n_tried} mutants of {', '.join(paths) or 'no module'}",
        )

    def _expect_no_words(self, paths: Iterable[str]) -> None:
        """Fail where tests go by how the code is written, not by what it does."""
        same = {
            path: ast.unparse(ast.parse(self._subject.read(path))) + "\n"
            for path in paths
        }
        kills = self._kills(self._run(same))
        expect(not kills, "the delivered tests pass on the same code reworded", kills)

    def _shipped_notice(self, files: Mapping[str, str], shipped: Sequence[str]) -> bool:
        """Do the shipped tests notice a mutant, which fit the delivered code?"""
        if not shipped:
            return False
        modules = {path.rpartition("/")[2].removesuffix(".py") for path in shipped}
        control = self._shipped(files, shipped)
        noticed = {t for t in control.failed if modules & set(t.split("."))}
        if control.error is None and not noticed:
            return False
        fitting = self._shipped({}, shipped)
        return bool(control.error or noticed - set(fitting.failed))

    def _shipped(self, files: Mapping[str, str], shipped: Sequence[str]) -> TestRun:
        """Run the tests on a mutant, the shipped ones put back as they were."""
        tests = {path: self._subject.original(path) for path in shipped}
        return self._run({**files, **tests})

    def _run(self, files: Mapping[str, str], timeout_s: float | None = None) -> TestRun:
        return self._subject.tests(
            files, start=self._start, timeout_s=timeout_s or self._timeout_s
        )

    def _kills(self, bitten: TestRun) -> list[str]:
        return [
            name
            for name, mro in sorted(bitten.failed.items())
            if name in self._own.ran and not set(mro) & set(NO_KILL)
        ]
