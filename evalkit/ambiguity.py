"""Can the cases of a corpus tell injected knowledge apart from good practice?

A case about injected knowledge is worth its trials where several fixes look right
to whoever does not know the rule, the one that good practice picks is wrong, and
the rule stands in no file that an agent sees. All of that is tried here: every
plausible fix is put to the visible tests and to the grader.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from evalkit import corpus, files, grading, proof, reference
from evalkit.records import FORMAT, Case, Corpus, ExpectedRow, Proof, Record
from evalkit.reference import RIGHT, Fix
from evalkit.sandbox import Box

LEAST_VISIBLE = 2
"""Plausible fixes that must pass the visible tests."""
VISIBLE_TESTS = "visible_tests.py"


class FixRow(Record, frozen=True):
    """A plausible fix before the visible tests and before the grader."""

    overlay: str
    default: bool
    declared_visible: bool
    visible: bool
    score: float
    passes: bool

    @property
    def kind(self) -> str:
        """What sort of fix it is: all right ones are of one sort."""
        return RIGHT if reference.is_right(self.overlay) else self.overlay


class CaseAudit(Record, frozen=True):
    """The fixes of a case, and sentences on what is wrong with it."""

    case: str
    principle: int | None
    fixes: tuple[FixRow, ...]
    flags: tuple[str, ...]


class CorpusAudit(Record, frozen=True):
    """The verdict on a corpus, bound to its digest."""

    corpus: str
    digest: str
    cases: tuple[CaseAudit, ...]
    format: int = FORMAT

    @property
    def flagged(self) -> bool:
        """True where something is wrong with a case."""
        return any(case.flags for case in self.cases)


def audit_corpus(
    root: Path,
    name: str,
    *,
    box: Box,
    n_workers: int,
    seed: int,
    done: Callable[[int, int], None] | None = None,
) -> CorpusAudit:
    """Try every plausible fix of every case, and look for leaks.

    Args:
        root: Root with cases, graders and reference.
        name: The corpus.
        box: The sandbox that fixes are tried in.
        n_workers: How many gradings run at once.
        seed: Of the gradings' random inputs.
        done: Told after each grading by a grader how many of how many are done.

    Returns:
        The verdict, saved in `runs/audits/` too.

    Raises:
        InputError: A case does not say which fixes are plausible.
    """
    found = corpus.load_corpus(root, name)
    fixes = {case.id: reference.load_fixes(root, case) for case in found.cases}
    ids = [case.id for case in found.cases]
    proofs = proof.verify(root, ids, box=box, n_workers=n_workers, seed=seed, done=done)
    verdict = CorpusAudit(
        name,
        found.digest,
        tuple(
            _case_audit(
                root,
                case,
                proven,
                _visible(root, case, fixes[case.id], box, n_workers, seed),
                fixes[case.id].values(),
            )
            for case, proven in zip(found.cases, proofs, strict=True)
        ),
    )
    path = audit_path(root, found)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomic(path, files.encode_json(verdict))
    return verdict


def audit_path(root: Path, found: Corpus) -> Path:
    """Where the verdict on a corpus is kept."""
    return root / "runs" / "audits" / f"{found.name}-{found.digest[:12]}.json"


def leaks(root: Path, case: Case) -> Iterator[str]:
    """Where a file that an agent sees states the rule: `path:line: the term`."""
    folder = root / "cases" / case.id
    seen = [
        (f"fixture/{entry.path}", entry.data.decode(errors="replace"))
        for entry in files.read_tree(folder / "fixture")
    ]
    seen += [(f"prompt of {step.slug}", step.prompt) for step in case.steps]
    for path, text in seen:
        for term in case.leak_terms:
            pattern = r"\s+".join(re.escape(word) for word in term.split())
            for match in re.finditer(pattern, f"{text}\n{path}", re.IGNORECASE):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: {term}"


def _case_audit(
    root: Path,
    case: Case,
    proven: Proof,
    visible: dict[str, bool],
    fixes: Iterable[Fix],
) -> CaseAudit:
    got = {row.overlay: row.got for row in proven.rows}
    rows = tuple(_fix_row(fix, visible[fix.overlay], got[fix.overlay]) for fix in fixes)
    flags = (
        *(
            f"{row.overlay}: expected {row.expected.score:.4g}, got {row.got.score:.4g}"
            for row in proven.rows
            if not row.holds
        ),
        *_flags(rows),
        *(
            f"the rule stands where an agent sees it: {leak}"
            for leak in leaks(root, case)
        ),
    )
    return CaseAudit(case.id, case.principle, rows, flags)


def _fix_row(fix: Fix, visible: bool, got: ExpectedRow) -> FixRow:  # noqa: FBT001
    return FixRow(
        overlay=fix.overlay,
        default=fix.default,
        declared_visible=fix.visible,
        visible=visible,
        score=got.score,
        passes=got.score == 1,
    )


def _flags(rows: Sequence[FixRow]) -> Iterator[str]:
    for row in rows:
        if row.visible != row.declared_visible:
            said = "pass" if row.declared_visible else "fail"
            yield f"{row.overlay}: the visible tests were said to {said} with it"
        if row.default and row.passes:
            yield (
                f"undifferentiating: {row.overlay}, which general good practice picks, "
                f"passes the grader, so that nobody needs to be told the rule"
            )
    n_visible = len({row.kind for row in rows if row.visible})
    if n_visible < LEAST_VISIBLE:
        yield (
            f"undifferentiating: {n_visible} kinds of fix pass the visible tests, "
            f"at least {LEAST_VISIBLE} should"
        )
    passing = {row.kind for row in rows if row.passes}
    if passing != {RIGHT}:
        named = ", ".join(sorted(passing)) or "none"
        yield f"one class of fix should pass the grader, and it is: {named}"


def _visible(
    root: Path,
    case: Case,
    fixes: dict[str, Fix],
    box: Box,
    n_workers: int,
    seed: int,
) -> dict[str, bool]:
    """Which fixes the shipped tests pass with."""
    with files.private_folder() as private:
        tests = _root_of_tests(root, case, private)
        digest = files.tree_digest(tests / "graders" / case.id)
        asked = msgspec.structs.replace(
            case, digests=msgspec.structs.replace(case.digests, grader=digest)
        )

        def passes(overlay: str) -> bool:
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
            return found.died is None and all(check.passed for check in found.checks)

        with ThreadPoolExecutor(n_workers) as pool:
            return dict(zip(fixes, pool.map(passes, fixes), strict=True))


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
