"""What is here now, held against what was registered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evalkit import corpus, files, outcomes, reference
from evalkit.audit.finding import FAIL, PASS, UNKNOWN, Finding
from evalkit.errors import EvalkitError
from evalkit.plan import open_plan
from evalkit.records import Case, CaseSeal, Proof, Registration
from evalkit.registration import drift

PARTS = ("case", "fixture", "grader")
"""What a grade rests on."""
_NONE = "no proof is kept here"


def open_cases(registration: Registration, root: Path) -> dict[str, Case]:
    """The registered cases that can be opened here, as they are now."""
    found: dict[str, Case] = {}
    for seal in registration.cases:
        try:
            found[seal.id] = corpus.load_case(root, seal.id)
        except (EvalkitError, OSError):
            continue
    return found


def moved(
    registration: Registration, cases: dict[str, Case], parts: Sequence[str] = PARTS
) -> dict[str, list[str]]:
    """By case, the parts a grade rests on that are not the registered ones."""
    return {
        seal.id: wrong
        for seal in registration.cases
        if (wrong := list(_moved_parts(seal, cases.get(seal.id), parts)))
    }


def check_drift(
    registration: Registration, cases: dict[str, Case], root: Path
) -> Finding:
    """Is what is here what was registered?"""
    wrong = [
        f"{case} {part}"
        for case, parts in moved(registration, cases).items()
        for part in parts
    ]
    # A fact that came since could not be told then, so only what was registered counts.
    if not registration.outcomes.items() <= outcomes.registered_table().items():
        wrong.append("outcomes: what counts as what is not as registered")
    if wrong:
        return Finding(
            "drift",
            FAIL,
            tuple(wrong),
            "Cases or graders here are not those registered, so their verdicts cannot "
            "be checked: audit with the registered ones; `evalkit regrade` says what "
            "these make of the evidence.",
        )
    try:
        now = open_plan(registration.plan, root).describe(registration.created_at)
        others = drift(registration, now)
    except (EvalkitError, OSError) as error:
        others = [f"not everything registered can be opened here: {error}"]
    if others:
        return Finding(
            "drift",
            UNKNOWN,
            tuple(others),
            "What verdicts rest on is as registered; what else is here is not, so this "
            "audit was made with something else than the run.",
        )
    return Finding(
        "drift",
        PASS,
        (f"all that was registered as {registration.digest[:12]}",),
        "What is here is what was registered.",
    )


def check_proofs(registration: Registration, root: Path) -> Finding:
    """Were the registered graders proven?"""
    found = {seal.id: _proof_fault(seal, root) for seal in registration.cases}
    wrong = [f"{case}: {fault}" for case, fault in found.items() if fault]
    if any(fault != _NONE for fault in found.values() if fault):
        return Finding(
            "proofs", FAIL, tuple(wrong), "A registered grader is not proven."
        )
    if wrong:
        return Finding(
            "proofs",
            UNKNOWN,
            tuple(wrong),
            "Without its proof nothing says that a grader tells right from wrong: run "
            "`evalkit verify`.",
        )
    return Finding(
        "proofs",
        PASS,
        (f"{len(found)} cases, each proven at its registered digests",),
        "Every registered grader was shown to tell right from wrong; `evalkit verify` "
        "shows it again.",
    )


def _moved_parts(
    seal: CaseSeal, case: Case | None, parts: Sequence[str]
) -> Iterator[str]:
    if case is None:
        yield "cannot be opened here"
        return
    for part in parts:
        old, new = getattr(seal.digests, part), getattr(case.digests, part)
        if old != new:
            yield f"{part}: registered {old} -> found {new}"
    if tuple(step.slug for step in case.steps) != seal.steps:
        yield "steps: not those registered"


def _proof_fault(seal: CaseSeal, root: Path) -> str | None:
    path = reference.proof_path(root, seal)
    if seal.proof != path.name:
        return f"registered proof {seal.proof}, but its digests give {path.name}"
    if not path.is_file():
        return _NONE
    try:
        proof = files.decode_json(files.read_regular(path), Proof, path)
    except EvalkitError as error:
        return str(error)
    if proof.digests != seal.digests or proof.case != seal.id:
        return "its proof is of something else"
    return None if proof.holds else "its proof does not hold"
