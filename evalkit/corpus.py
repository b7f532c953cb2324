"""Cases and corpora: loaded from a root's folders, with located errors and digests.

A root holds `cases/`, `graders/` and `reference/`. A case is `cases/<id>/`
(`case.toml`, `prompt.md` or `steps/NN-<slug>.md`, `fixture/`), its grader is
`graders/<id>/`, its overlays are in `reference/<id>/`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from evalkit import files
from evalkit.errors import DriftError, InputError, expect_same
from evalkit.records import (
    Case,
    Complaint,
    Corpus,
    Digests,
    Kind,
    Preset,
    Record,
    Step,
)

MAX_FIXTURE_FILE_BYTES = 64 * 1024
CASE_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
STEP_FILE = re.compile(r"(\d\d)-([a-z0-9]+(?:-[a-z0-9]+)*)\.md")
MAX_STEPS = 8
MUTANT_TABLE = "mutants.json"
"""In a reference: what was found out about its grader, and no part of it."""


class _StepExtras(Record, frozen=True):
    skills: tuple[str, ...] = ()
    min_score: float | None = None
    complaints: dict[str, Complaint] = {}


class _CaseFile(Record, frozen=True):
    id: str
    title: str
    kind: Kind
    hypothesis: str
    skills: tuple[str, ...] = ()
    complaints: dict[str, Complaint] = {}
    steps: dict[str, _StepExtras] = {}
    grade_timeout_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 120.0
    command: tuple[str, ...] | None = None
    measures: str | None = None
    principle: int | None = None
    injection: str | None = None
    leak_terms: tuple[str, ...] = ()


class _CorpusEntry(Record, frozen=True):
    cases: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    arms: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    repeats: Annotated[int, msgspec.Meta(ge=1)]
    digest: str | None = None


def load_corpus(root: Path, name: str) -> Corpus:
    """Load a corpus of `cases/corpora.toml` with all its cases.

    Raises:
        InputError: A file of it is wrong; the message names file and key.
        DriftError: Its digest differs from the pinned one.
    """
    where = root / "cases" / "corpora.toml"
    entries = load_corpora(root)
    if name not in entries:
        raise InputError(
            where,
            expected=f"a corpus named {name!r}",
            found=", ".join(sorted(entries)) or "no corpora",
            cure="choose one of these, or add a table",
        )
    entry = entries[name]
    if len(set(entry.cases)) != len(entry.cases):
        raise InputError(
            f"{where} [{name}] cases",
            expected="each case once",
            found=", ".join(entry.cases),
            cure="remove the duplicate",
        )
    cases = tuple(load_case(root, case) for case in entry.cases)
    digest = corpus_digest(cases)
    if entry.digest is not None and entry.digest != digest:
        raise DriftError(
            f"{where} [{name}] digest: pinned {entry.digest}, found {digest}; "
            f"a released corpus does not move: restore its files or release a new one"
        )
    preset = Preset(entry.arms, entry.repeats)
    return Corpus(name, cases, preset, digest, entry.digest is not None)


def load_corpora(root: Path) -> dict[str, _CorpusEntry]:
    """The tables of `cases/corpora.toml`, their cases not yet loaded."""
    where = root / "cases" / "corpora.toml"
    return {
        name: files.convert(table, _CorpusEntry, f"{where} [{name}]")
        for name, table in files.read_toml(where).items()
    }


def case_ids(root: Path, named: Sequence[str], corpus: str | None) -> tuple[str, ...]:
    """Case ids a command means: those named, a corpus', or all of the root."""
    if named:
        return tuple(dict.fromkeys(named))
    if corpus is not None:
        return tuple(case.id for case in load_corpus(root, corpus).cases)
    found = sorted(path.parent.name for path in (root / "cases").glob("*/case.toml"))
    if not found:
        raise InputError(
            root / "cases",
            expected="folders with a case.toml",
            found="none",
            cure="name the folder that holds cases/ with --root",
        )
    return tuple(found)


def step_number(case: Case, n: int) -> Step:
    """The n-th step of a case, from 1.

    Raises:
        InputError: The case has no such step.
    """
    if not 1 <= n <= len(case.steps):
        raise InputError(
            f"case {case.id}",
            expected=f"a step from 1 to {len(case.steps)}",
            found=str(n),
            cure="name one of its steps",
        )
    return case.steps[n - 1]


def corpus_digest(cases: tuple[Case, ...]) -> str:
    """Digest over the case and grader digests, in order of case ids."""
    lines = (
        f"{case.id} {case.digests.case} {case.digests.fixture} {case.digests.grader}\n"
        for case in sorted(cases, key=lambda case: case.id)
    )
    return files.sha256("".join(lines).encode())


def load_case(root: Path, case_id: str) -> Case:
    """Load one case with the digests of its parts.

    Raises:
        InputError: A file of it is wrong; the message names file and key.
    """
    if not CASE_ID.fullmatch(case_id):
        raise InputError(
            f"case id {case_id!r}",
            expected="lower-case words joined by hyphens",
            found=repr(case_id),
            cure="name the folder and the id so",
        )
    folder = root / "cases" / case_id
    where = folder / "case.toml"
    found = files.convert(files.read_toml(where), _CaseFile, where)
    if found.id != case_id:
        raise InputError(
            f"{where} id",
            expected=f"{case_id!r}, as its folder",
            found=repr(found.id),
            cure="give both the same name",
        )
    return Case(
        id=found.id,
        title=found.title,
        kind=found.kind,
        hypothesis=found.hypothesis,
        steps=_load_steps(folder, found),
        digests=case_digests(root, case_id),
        grade_timeout_s=found.grade_timeout_s,
        grader_command=found.command,
        measures=found.measures,
        principle=found.principle,
        injection=found.injection,
        leak_terms=found.leak_terms,
    )


def case_digests(root: Path, case_id: str) -> Digests:
    """Digests of a case's four parts as they are on disk now."""
    folder = root / "cases" / case_id
    described = tuple(
        entry
        for entry in files.read_tree(folder, max_bytes=MAX_FIXTURE_FILE_BYTES)
        if not entry.path.startswith("fixture/")
    )
    fixture = files.read_tree(folder / "fixture", max_bytes=MAX_FIXTURE_FILE_BYTES)
    overlays = tuple(
        entry
        for entry in files.read_tree(root / "reference" / case_id)
        if entry.path != MUTANT_TABLE
    )
    if not fixture:
        raise InputError(
            folder / "fixture",
            expected="at least one file",
            found="an empty folder",
            cure="add the files the agent starts from",
        )
    return Digests(
        case=files.digest_entries(described),
        fixture=files.digest_entries(fixture),
        grader=files.tree_digest(root / "graders" / case_id),
        reference=files.digest_entries(overlays),
    )


def read_unmoved(folder: Path, digest: str) -> tuple[files.Entry, ...]:
    """Read a folder of a case, such as its fixture, that was loaded with a digest.

    Raises:
        InputError: It cannot be read.
        DriftError: It has another digest now.
    """
    entries = files.read_tree(folder)
    found = files.digest_entries(entries)
    if found != digest:
        raise DriftError(
            f"{folder}: loaded with digest {digest}, found {found}; "
            f"restore it, or start again"
        )
    return entries


def _load_steps(folder: Path, case: _CaseFile) -> tuple[Step, ...]:
    prompt, chain = folder / "prompt.md", folder / "steps"
    if prompt.exists() == chain.is_dir():
        raise InputError(
            folder,
            expected="either prompt.md or steps/NN-<slug>.md",
            found="both" if prompt.exists() else "neither",
            cure="keep one of the two",
        )
    if prompt.exists():
        text = _prompt_text(prompt)
        return (Step(1, "task", text, case.skills, None, case.complaints),)
    named = {path: STEP_FILE.fullmatch(path.name) for path in sorted(chain.iterdir())}
    steps = tuple(
        _chain_step(path, int(match[1]), match[2], case)
        for path, match in named.items()
        if match
    )
    numbers = [step.n for step in steps]
    in_order = numbers == list(range(1, len(steps) + 1)) and len(steps) == len(named)
    if not in_order or not 1 <= len(steps) <= MAX_STEPS:
        raise InputError(
            chain,
            expected=f"01-<slug>.md, 02-<slug>.md, ... at most {MAX_STEPS}",
            found=", ".join(path.name for path in named) or "an empty folder",
            cure="number the steps from 01 without a gap",
        )
    expect_same(
        f"{folder / 'case.toml'} [steps]",
        "steps",
        {step.slug for step in steps},
        set(case.steps) or {step.slug for step in steps},
    )
    return steps


def _chain_step(path: Path, n: int, slug: str, case: _CaseFile) -> Step:
    extras = case.steps.get(slug, _StepExtras())
    return Step(
        n,
        slug,
        _prompt_text(path),
        extras.skills,
        extras.min_score,
        extras.complaints,
    )


def _prompt_text(path: Path) -> str:
    try:
        text = files.read_regular(path).decode().strip()
    except UnicodeDecodeError as error:
        raise InputError(
            path, expected="UTF-8 text", found=str(error), cure="save it as UTF-8"
        ) from error
    if not text:
        raise InputError(
            path,
            expected="what a user would type",
            found="an empty file",
            cure="write the prompt",
        )
    return text
