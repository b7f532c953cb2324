"""Were the registered graders proven, and are they the ones that are here?"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from evalkit import files, reference, wording
from evalkit.audit import drift
from evalkit.audit.finding import FAIL, PASS, UNKNOWN, Finding
from evalkit.dossier.part import Part, same, told
from evalkit.errors import EvalkitError
from evalkit.markup import Column, Fold, Shown, Table
from evalkit.records import (
    Case,
    CaseSeal,
    Digests,
    ExpectedRow,
    Proof,
    ProofRow,
    Registration,
)

_ABOUT = "grader of "
_PARTS = Digests.__struct_fields__


def graders_proven(
    registration: Registration, cases: dict[str, Case], root: Path
) -> Part:
    """The proof of each registered grader, and what it was bound to.

    Args:
        registration: What was registered.
        cases: The registered cases that can be opened here.
        root: Root with references and kept proofs.
    """
    proofs = {seal.id: _read(root, seal) for seal in registration.cases}
    findings = [
        _judge(
            msgspec.structs.replace(registration, cases=(seal,)),
            cases.get(seal.id),
            proofs[seal.id],
            root,
        )
        for seal in registration.cases
    ]
    details: list[Shown] = [
        _deliveries(proof) for proof in proofs.values() if proof is not None
    ]
    details.append(_digests(registration, cases, proofs))
    return told(
        "Graders proven",
        findings,
        details,
        about=_ABOUT,
        note="A proof is read as it was kept, and held against what the reference "
        "demands; `evalkit verify` makes it again.",
    )


def _read(root: Path, seal: CaseSeal) -> Proof | None:
    path = reference.proof_path(root, seal)
    with suppress(EvalkitError, OSError):  # why not is said by its finding
        return files.decode_json(files.read_regular(path), Proof, path)
    return None


def _judge(
    alone: Registration, case: Case | None, proof: Proof | None, root: Path
) -> Finding:
    """The finding about a registration's only case."""
    (seal,) = alone.cases
    name = f"{_ABOUT}{seal.id}"
    cure = f"run `evalkit verify {seal.id}` and read what differs"
    kept = drift.check_proofs(alone, root)
    if kept.verdict != PASS or proof is None:
        said = f"It is not shown to tell right from wrong: {cure}."
        return Finding(name, kept.verdict, kept.evidence, said)
    moved = drift.moved(alone, {seal.id: case} if case else {}, _PARTS)
    if moved:
        return Finding(
            name,
            UNKNOWN,
            tuple(moved[seal.id]),
            "It was proven as registered, but what is here now is something else: "
            "audit with the registered cases, graders and references.",
        )
    if wrong := _demanded_otherwise(root, case, proof) if case else []:
        return Finding(
            name,
            FAIL,
            tuple(wrong),
            f"The kept proof is not of what `expected.toml` demands: {cure}.",
        )
    n = len(proof.rows)
    n_right = sum(reference.is_right(row.overlay) for row in proof.rows)
    return Finding(
        name,
        PASS,
        (
            f"{wording.n_of(n, 'grading')}, {n_right} of a right delivery, all as "
            f"demanded and the same when replayed; {seal.proof}",
        ),
        "It tells right from wrong, and it is the one that is here.",
    )


def _demanded_otherwise(root: Path, case: Case, proof: Proof) -> list[str]:
    """Gradings that a proof leaves out, adds, or holds against something else."""
    try:
        expected = reference.load_expected(root, case)
    except (EvalkitError, OSError) as error:
        return [str(error)]
    demanded = {
        (overlay, slug): row
        for overlay, steps in expected.items()
        for slug, row in steps.items()
    }
    proven = {(row.overlay, row.step): row.expected for row in proof.rows}
    return [
        f"{overlay}, {step}: demanded {_said(demanded.get((overlay, step)))}, proven "
        f"against {_said(proven.get((overlay, step)))}"
        for overlay, step in sorted({*demanded, *proven})
        if demanded.get((overlay, step)) != proven.get((overlay, step))
    ]


def _said(row: ExpectedRow | None) -> str:
    if row is None:
        return "nothing"
    return f"{row.score:.4g} failing {wording.listed(row.failing)}"


def _deliveries(proof: Proof) -> Fold:
    heads = ("Delivery", "Step", "Must get", "Got", "Must fail", "Failed", "Replayed")
    table = Table(
        f"{proof.case}: what its grader made of prepared deliveries",
        tuple(Column(head, number=head in {"Must get", "Got"}) for head in heads),
        tuple(_delivery(row) for row in proof.rows),
        note=f"Graded at isolation {proof.isolation}.",
    )
    n_right = sum(row.holds for row in proof.rows)
    said = wording.k_of(n_right, len(proof.rows))
    return Fold(f"{proof.case}: each prepared delivery ({said} as demanded)", (table,))


def _delivery(row: ProofRow) -> tuple[str, ...]:
    died = f"its grading died: {row.died}" if row.died else ""
    return (
        row.overlay,
        row.step,
        wording.score(row.expected.score),
        wording.score(row.got.score),
        wording.listed(row.expected.failing),
        died or wording.listed(row.got.failing),
        "the same" if row.replayed else "OTHERWISE",
    )


def _digests(
    registration: Registration, cases: dict[str, Case], proofs: dict[str, Proof | None]
) -> Fold:
    rows: list[tuple[str, ...]] = []
    for seal in registration.cases:
        proof, case = proofs[seal.id], cases.get(seal.id)
        for part in _PARTS:
            registered = getattr(seal.digests, part)
            proven = getattr(proof.digests, part) if proof else None
            here = getattr(case.digests, part) if case else None
            shown = map(wording.short, (registered, proven, here))
            rows.append((f"{seal.id}, {part}", *shown, same(registered, proven, here)))
    heads = ("Part", "Registered", "Proven", "Here now", "As registered")
    table = Table("Digests", tuple(map(Column, heads)), tuple(rows))
    return Fold("Digests: registered, proven, and here now", (table,))
