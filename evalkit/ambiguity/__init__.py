"""Can the cases of a corpus tell injected knowledge apart from good practice?

A case about injected knowledge is worth its trials where several fixes look right
to whoever does not know the rule, the one that good practice picks is wrong, and
the rule stands nowhere that an agent sees. All of that is tried here: every
plausible fix is put to the visible tests and to the grader.

    leakage    where an agent can read the rule
    phrases    phrases in a text, however they are written there
    visible    do the tests that an agent sees pass with a fix?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from evalkit import corpus, files, proof, reference
from evalkit.ambiguity.leakage import leaks, states
from evalkit.ambiguity.phrases import has_word
from evalkit.ambiguity.visible import Verdict, try_visible
from evalkit.errors import InputError
from evalkit.records import FORMAT, Case, Corpus, Proof, ProofRow, Record
from evalkit.reference import RIGHT, Fix
from evalkit.sandbox import Box

__all__ = [
    "CaseAudit",
    "CorpusAudit",
    "FixRow",
    "audit_corpus",
    "audit_path",
    "leaks",
]

LEAST_VISIBLE = 2
"""Plausible fixes that must pass the visible tests."""


class FixRow(Record, frozen=True):
    """A plausible fix before the visible tests and before the grader.

    `visible` is None where the run of the visible tests came to no end; `died` says
    how.
    """

    overlay: str
    default: bool
    declared_visible: bool
    visible: bool | None
    score: float
    passes: bool
    died: str | None = None

    @property
    def kind(self) -> str:
        """What sort of fix it is: all right ones are of one sort."""
        return RIGHT if reference.is_right(self.overlay) else self.overlay


class CaseAudit(Record, frozen=True):
    """The fixes of a case, and sentences on what is wrong with it.

    `reference` is the digest of the fixes; empty in verdicts that did not keep it.
    """

    case: str
    principle: int | None
    fixes: tuple[FixRow, ...]
    flags: tuple[str, ...]
    reference: str = ""


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
        InputError: A case has several steps, is not about injected knowledge, or does
            not say which fixes are plausible.
    """
    found = corpus.load_corpus(root, name)
    for case in found.cases:
        _expect_knowledge(root, case)
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
                try_visible(
                    root,
                    case,
                    fixes[case.id],
                    box=box,
                    n_workers=n_workers,
                    seed=seed,
                ),
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


def _expect_knowledge(root: Path, case: Case) -> None:
    """Raise InputError unless a case is about injected knowledge, in one step."""
    folder = root / "cases" / case.id
    if len(case.steps) != 1:
        raise InputError(
            folder / "steps",
            expected="one step, in prompt.md: the audit is about injected knowledge",
            found=f"a chain of {len(case.steps)} steps",
            cure="audit a corpus without this case",
        )
    told = {"injection": (case.injection or "").strip(), "principle": case.principle}
    for key, value in told.items():
        if not value:
            raise InputError(
                f"{folder / 'case.toml'} {key}",
                expected="a case about injected knowledge, which has one",
                found="nothing",
                cure="write it, or audit a corpus without this case",
            )
    for term in case.leak_terms:
        if not has_word(term):
            raise InputError(
                f"{folder / 'case.toml'} leak_terms",
                expected="phrases that state the rule, each of a word or more",
                found=repr(term),
                cure="remove it",
            )


def _case_audit(
    root: Path,
    case: Case,
    proven: Proof,
    visible: Mapping[str, Verdict],
    fixes: Iterable[Fix],
) -> CaseAudit:
    score = {row.overlay: row.got.score for row in proven.rows}
    rows = tuple(
        FixRow(
            overlay=fix.overlay,
            default=fix.default,
            declared_visible=fix.visible,
            visible=visible[fix.overlay].passed,
            score=score[fix.overlay],
            passes=score[fix.overlay] == 1,
            died=visible[fix.overlay].died,
        )
        for fix in fixes
    )
    flags = (
        *(f"{row.overlay}: {_why(row)}" for row in proven.rows if not row.holds),
        *_flags(rows),
        *_term_flags(case),
        *(
            f"the rule stands where an agent sees it: {leak}"
            for leak in leaks(root, case)
        ),
    )
    return CaseAudit(case.id, case.principle, rows, flags, case.digests.reference)


def _why(row: ProofRow) -> str:
    """Why a row of a proof does not hold."""
    if row.died is not None:
        return f"its grading died: {row.died}"
    expected, got = row.expected, row.got
    if expected.score != got.score:
        return f"expected {expected.score:.4g}, got {got.score:.4g}"
    if expected.failing != got.failing:
        return (
            f"expected to fail {', '.join(expected.failing) or 'nothing'}, "
            f"fails {', '.join(got.failing) or 'nothing'}"
        )
    return "its grade is another one when it is replayed"


def _term_flags(case: Case) -> Iterator[str]:
    if not case.leak_terms:
        yield "no leak_terms: no leak of the rule could be found"
    elif not any(states(term, case.injection or "") for term in case.leak_terms):
        yield "none of the leak_terms stands in the injection, so a leak is not found"


def _flags(rows: Sequence[FixRow]) -> Iterator[str]:
    for row in rows:
        if row.visible is None:
            yield f"{row.overlay}: no verdict of the visible tests: {row.died}"
        elif row.visible != row.declared_visible:
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
