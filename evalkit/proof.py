"""Proofs: every overlay of a case graded, held against what it must get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from evalkit import corpus, files, grading, reference, scoring
from evalkit.errors import InputError
from evalkit.records import (
    Case,
    ExpectedRow,
    Grade,
    Proof,
    ProofRow,
    Record,
    Step,
)
from evalkit.registration import source_digests
from evalkit.sandbox import Box

OTHER_HASH_SEED = 1234
"""A grade is replayed under this hash seed; graders run under seed 0."""


class _Job(Record, frozen=True):
    case: Case
    overlay: str
    step: Step
    expected: ExpectedRow
    digest: str


def verify(
    root: Path,
    case_ids: Sequence[str],
    *,
    box: Box,
    n_workers: int,
    seed: int,
    done: Callable[[int, int], None] | None = None,
) -> tuple[Proof, ...]:
    """Grade every overlay of some cases and replay each grade.

    Where two overlays are the same up to a step, that step is graded once.

    Args:
        root: Root with cases, graders and reference.
        case_ids: Cases to prove.
        box: The sandbox the subjects run in.
        n_workers: How many gradings run at once.
        seed: Of the gradings' random inputs.
        done: Told after each grading how many of how many are done.

    Returns:
        One proof per case, saved too; a proof that does not hold says so.
    """
    cases = [corpus.load_case(root, case_id) for case_id in case_ids]
    wanted = [job for case in cases for job in _jobs(root, case)]
    first: dict[str, _Job] = {}
    for job in wanted:
        first.setdefault(job.digest, job)
    jobs = list(first.values())
    with files.private_folder() as private:
        folders = [private / str(n) for n in range(len(jobs))]
        grades: list[Grade] = []
        with ThreadPoolExecutor(n_workers) as pool:
            graded = pool.map(
                lambda job, folder: _grade(root, job, folder, box=box, seed=seed),
                jobs,
                folders,
            )
            for grade in graded:
                grades.append(grade)
                if done:
                    done(len(grades), len(jobs))
        replays = [
            grading.Replay(job.case, job.step, grade, folder / "answers.jsonl")
            for job, grade, folder in zip(jobs, grades, folders, strict=True)
        ]
        equal = grading.replay_all(replays, root=root, hash_seed=OTHER_HASH_SEED)
    found = {
        job.digest: _row(job, grade, replayed=same)
        for job, grade, same in zip(jobs, grades, equal, strict=True)
    }
    rows = [
        msgspec.structs.replace(
            found[job.digest], overlay=job.overlay, expected=job.expected
        )
        for job in wanted
    ]
    proofs: list[Proof] = []
    for case in cases:
        own = tuple(
            row for job, row in zip(wanted, rows, strict=True) if job.case is case
        )
        source, _ = source_digests()
        proof = Proof(case.id, case.digests, source, box.isolation.level, own)
        reference.save_proof(root, case, proof)
        proofs.append(proof)
    return tuple(proofs)


def grade_folder(
    root: Path, case: Case, step: Step, workspace: Path, *, box: Box, seed: int
) -> Grade:
    """Grade any folder as if an agent had delivered it.

    Raises:
        InputError: It is no folder.
    """
    if not workspace.is_dir():
        raise InputError(
            workspace,
            expected="the folder of a delivered workspace",
            found="none",
            cure="name an existing folder",
        )
    with files.private_folder() as private:
        copy = private / "workspace"
        files.snapshot(workspace.resolve(), copy)
        return grading.grade(
            case,
            step,
            copy,
            root=root,
            box=box,
            seed=seed,
            answers=private / "answers.jsonl",
        )


def _jobs(root: Path, case: Case) -> list[_Job]:
    expected = reference.load_expected(root, case)
    return [
        _Job(case, overlay, step, expected[overlay][step.slug], digest)
        for overlay in expected
        for step in case.steps
        for laid in [reference.laid_entries(root, case, overlay, step)]
        for digest in [f"{case.id} {step.slug} {files.digest_entries(laid)}"]
    ]


def _grade(root: Path, job: _Job, folder: Path, *, box: Box, seed: int) -> Grade:
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    reference.lay_out(root, job.case, job.overlay, job.step, workspace)
    return grading.grade(
        job.case,
        job.step,
        workspace,
        root=root,
        box=box,
        seed=seed,
        answers=folder / "answers.jsonl",
    )


def _row(job: _Job, grade: Grade, *, replayed: bool) -> ProofRow:
    score = scoring.grade_score(grade)
    failing = tuple(check.id for check in grade.checks if not check.passed)
    return ProofRow(
        overlay=job.overlay,
        step=job.step.slug,
        expected=job.expected,
        got=ExpectedRow(score, failing),
        died=grade.died,
        replayed=replayed,
        graded_as=job.overlay,
        wall_s=grade.wall_s,
        cpu_s=grade.cpu_s,
    )
