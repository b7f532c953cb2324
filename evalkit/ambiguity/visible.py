"""Whether the tests that an agent sees pass with a fix; they are run to find out."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from evalkit import files, grading, reference
from evalkit.records import Case, Record
from evalkit.sandbox import Box

VISIBLE_TESTS = "visible_tests.py"


class Verdict(Record, frozen=True):
    """Whether the visible tests pass, or why that is not known."""

    passed: bool | None
    died: str | None = None


def try_visible(
    root: Path,
    case: Case,
    fixes: Iterable[str],
    *,
    box: Box,
    n_workers: int,
    seed: int,
) -> dict[str, Verdict]:
    """Whether the shipped tests pass, by fix.

    Args:
        root: Root with cases and reference.
        case: A case of one step.
        fixes: Names of overlays.
        box: The sandbox that the tests run in.
        n_workers: How many runs go on at once.
        seed: Of the gradings.
    """
    with files.private_folder() as private:
        tests = _root_of_tests(root, case, private)
        digest = files.tree_digest(tests / "graders" / case.id)
        asked = msgspec.structs.replace(
            case, digests=msgspec.structs.replace(case.digests, grader=digest)
        )

        def tried(overlay: str) -> Verdict:
            folder = private / overlay
            (folder / "workspace").mkdir(parents=True)
            files.write_entries(
                _with_shipped_tests(root, case, overlay), folder / "workspace"
            )
            found = grading.grade(
                asked,
                case.steps[0],
                folder / "workspace",
                root=tests,
                box=box,
                seed=seed,
                answers=folder / "answers.jsonl",
            )
            if found.died is not None:
                return Verdict(None, found.died)
            ended, passed = found.checks
            if not ended.passed:
                return Verdict(None, ended.reason)
            return Verdict(passed.passed)

        with ThreadPoolExecutor(n_workers) as pool:
            named = tuple(fixes)
            return dict(zip(named, pool.map(tried, named), strict=True))


def _root_of_tests(root: Path, case: Case, private: Path) -> Path:
    """A root in which the case's grader is: do the visible tests pass?"""
    made = private / "root"
    grader = made / "graders" / case.id
    grader.mkdir(parents=True)
    (grader / "grade.py").write_bytes(files.package_data(VISIBLE_TESTS))
    shutil.copytree(
        root / "cases" / case.id / "fixture", made / "cases" / case.id / "fixture"
    )
    return made


def _with_shipped_tests(
    root: Path, case: Case, overlay: str
) -> tuple[files.Entry, ...]:
    """What an overlay delivers, with the tests of the fixture and no others."""
    shipped = files.read_tree(root / "cases" / case.id / "fixture")
    delivered = reference.laid_entries(root, case, overlay, case.steps[0])
    kept = [entry for entry in delivered if not entry.path.startswith("tests/")]
    return (*kept, *(entry for entry in shipped if entry.path.startswith("tests/")))
