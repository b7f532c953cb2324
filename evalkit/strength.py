"""How strong a grader is: the share of small faults in `correct/` that it notices.

`reference/<case>/mutants.toml` names the files that the case is about, and says
of every mutant that survives why it is no fault:

    files = ["relay/delivery.py"]

    [[equivalent]]
    mutant = "relay/delivery.py:52: `self._changed.notify()` becomes `pass`"
    reason = "the scheduler wakes by itself"

Each mutant is graded until a check fails. In a chain a step's own lines are
mutated and its own checks asked; a mutant's name then begins with the step's
slug. The full table, `reference/<case>/mutants.json`, is bound to the grader and
the sources it was made with.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from evalkit import corpus, files, grading, reference
from evalkit.errors import InputError, expect_subset
from evalkit.mutants import mutants_of
from evalkit.records import FORMAT, Case, Grade, Record, Step
from evalkit.sandbox import Box

MUTATED = reference.RIGHT
"""The overlay whose files are mutated."""
DECLARED = "mutants.toml"
LEAST_KILLED = 0.9
"""Share of all mutants that a grader must notice."""


class _Equivalent(Record, frozen=True):
    mutant: str
    reason: Annotated[str, msgspec.Meta(min_length=1)]


class _Declared(Record, frozen=True):
    files: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    equivalent: tuple[_Equivalent, ...] = ()


class MutantRow(Record, frozen=True):
    """What became of a mutant.

    `killed_by` is the first check that failed, or how the grader died; None where
    it survived, and `reason` then says why that is no fault of the grader's.
    """

    mutant: str
    killed_by: str | None
    reason: str | None = None


class Strength(Record, frozen=True):
    """Mutants of a case's reference, graded; bound to grader and sources.

    `n_mutants` counts all there are, `rows` holds those that were graded.
    """

    case: str
    grader: str
    sources: str
    n_mutants: int
    rows: tuple[MutantRow, ...]
    format: int = FORMAT

    @property
    def n_killed(self) -> int:
        """How many were noticed."""
        return sum(row.killed_by is not None for row in self.rows)

    @property
    def unexplained(self) -> tuple[MutantRow, ...]:
        """Survivors without a reason."""
        return tuple(
            row for row in self.rows if row.killed_by is None and not row.reason
        )

    @property
    def holds(self) -> bool:
        """True where enough were noticed, and the rest is explained."""
        enough = self.n_killed >= LEAST_KILLED * len(self.rows)
        return bool(self.rows) and not self.unexplained and (enough or self.is_sample)

    @property
    def is_sample(self) -> bool:
        """True where some were not graded."""
        return len(self.rows) < self.n_mutants


class _Job(NamedTuple):
    case: Case
    step: Step
    mutant: str
    path: str
    text: str


def measure(
    root: Path,
    case_ids: Sequence[str],
    *,
    box: Box,
    n_workers: int,
    seed: int,
    sample: int | None = None,
    done: Callable[[int, int], None] | None = None,
) -> tuple[Strength, ...]:
    """Grade the mutants of some cases.

    Args:
        root: Root with cases, graders and reference.
        case_ids: Cases whose graders are measured.
        box: The sandbox the subjects run in.
        n_workers: How many gradings run at once.
        seed: Of the sample, and of the gradings' random inputs.
        sample: How many mutants of each case to draw; None for all, and the
            table then is saved as `reference/<case>/mutants.json`.
        done: Told after each grading how many of how many are done.

    Returns:
        One for each case that declares what it is about, in order.

    Raises:
        InputError: `mutants.toml` is wrong, or explains a mutant there is not.
    """
    cases = [corpus.load_case(root, case_id) for case_id in case_ids]
    declared = {case.id: _declared(root, case) for case in cases}
    jobs = {case.id: list(_jobs(root, case, declared[case.id])) for case in cases}
    reasons = {
        case.id: _reasons(root, case, declared[case.id], jobs[case.id])
        for case in cases
    }
    chosen = [
        job
        for case in cases
        for job in _drawn(jobs[case.id], sample, random.Random(f"{seed}:{case.id}"))
    ]
    killers: list[str | None] = []
    with ThreadPoolExecutor(n_workers) as pool:
        for killer in pool.map(lambda job: _killer(root, job, box, seed), chosen):
            killers.append(killer)
            if done:
                done(len(killers), len(chosen))
    found: list[Strength] = []
    for case in cases:
        explained = reasons[case.id]
        rows = tuple(
            MutantRow(job.mutant, killer, None if killer else explained.get(job.mutant))
            for job, killer in zip(chosen, killers, strict=True)
            if job.case is case
        )
        one = Strength(
            case.id, case.digests.grader, _sources(root, case), len(jobs[case.id]), rows
        )
        if not one.is_sample:
            files.write_atomic(table_path(root, case.id), files.encode_json(one))
        found.append(one)
    return tuple(found)


def table_path(root: Path, case_id: str) -> Path:
    """Where the full table of a case is kept."""
    return root / "reference" / case_id / corpus.MUTANT_TABLE


def load_table(root: Path, case: Case) -> Strength:
    """The full table of a case, made with its grader and sources as they are.

    Raises:
        InputError: There is none, or it was made with others.
    """
    path = table_path(root, case.id)
    cure = f"run `evalkit verify {case.id} --mutants`"
    if not path.exists():
        raise InputError(path, expected="a table of mutants", found="none", cure=cure)
    table = files.decode_json(files.read_regular(path), Strength, path)
    for what, made_with, present in (
        ("grader", table.grader, case.digests.grader),
        ("sources", table.sources, _sources(root, case)),
    ):
        if made_with != present:
            raise InputError(
                f"{path} {what}", expected=present, found=made_with, cure=cure
            )
    return table


def _declared(root: Path, case: Case) -> _Declared:
    where = root / "reference" / case.id / DECLARED
    return files.convert(files.read_toml(where), _Declared, where)


def _sources(root: Path, case: Case) -> str:
    """Digest of all that the mutants are made from."""
    return files.tree_digest(root / "reference" / case.id / MUTATED)


def _jobs(root: Path, case: Case, declared: _Declared) -> Iterator[_Job]:
    """All mutants of a case, by step, file and line."""
    before: dict[str, str] = {}
    for step in case.steps:
        laid = {
            entry.path: entry.data
            for entry in reference.overlay_entries(root, case, MUTATED, step)
        }
        for path in declared.files:
            if path in laid:
                text = laid[path].decode()
                own = _own_lines(before.get(path, ""), text)
                before[path] = text
                prefix = f"{step.slug} " if len(case.steps) > 1 else ""
                for mutant in mutants_of(text):
                    if mutant.line in own:
                        name = f"{prefix}{path}:{mutant}"
                        yield _Job(case, step, name, path, mutant.text)
    expect_subset(
        f"{root / 'reference' / case.id / DECLARED} files",
        "files of the overlay",
        set(declared.files),
        set(before),
    )


def _own_lines(before: str, after: str) -> set[int]:
    """Lines of `after`, from 1, that are not as in `before`."""
    old, new = before.split("\n"), after.split("\n")
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    kept = {
        block.b + n + 1
        for block in matcher.get_matching_blocks()
        for n in range(block.size)
    }
    return set(range(1, len(new) + 1)) - kept


def _drawn(jobs: list[_Job], sample: int | None, rng: random.Random) -> list[_Job]:
    if sample is None or sample >= len(jobs):
        return jobs
    return [jobs[n] for n in sorted(rng.sample(range(len(jobs)), sample))]


def _reasons(
    root: Path, case: Case, declared: _Declared, jobs: Sequence[_Job]
) -> dict[str, str]:
    known = {job.mutant for job in jobs}
    for one in declared.equivalent:
        if one.mutant not in known:
            raise InputError(
                f"{root / 'reference' / case.id / DECLARED} equivalent",
                expected=f"one of the {len(known)} mutants of the case",
                found=one.mutant,
                cure=f"name it as `evalkit verify {case.id} --mutants` does",
            )
    return {one.mutant: one.reason for one in declared.equivalent}


def _killer(root: Path, job: _Job, box: Box, seed: int) -> str | None:
    """The first check that notices a mutant, or how the grader died of it."""
    with files.private_folder() as private:
        workspace = private / "workspace"
        workspace.mkdir()
        reference.lay_out(root, job.case, MUTATED, job.step, workspace)
        (workspace / job.path).write_text(job.text, encoding="utf-8")
        found = grading.grade(
            job.case,
            job.step,
            workspace,
            root=root,
            box=box,
            seed=seed,
            answers=private / "answers.jsonl",
            until_failed=True,
        )
    return _first_failure(found)


def _first_failure(found: Grade) -> str | None:
    failed = (check.id for check in found.checks if not check.passed)
    return found.died or next(failed, None)
