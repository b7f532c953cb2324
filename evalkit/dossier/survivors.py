"""How many small faults do the registered graders notice, and which not?"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from evalkit import files, strength, wording
from evalkit.audit.finding import FAIL, PASS, UNKNOWN, Finding
from evalkit.dossier.part import Part, told
from evalkit.errors import EvalkitError, InputError
from evalkit.markup import Column, Fold, Table
from evalkit.records import Case, CaseSeal, Registration
from evalkit.strength import LEAST_KILLED, Strength

NOT_EXPLAINED = "NOT EXPLAINED"
_ABOUT = "mutants of "


def mutants_survived(
    registration: Registration, cases: dict[str, Case], root: Path
) -> Part:
    """The table of mutants of each registered case, and every survivor.

    Args:
        registration: What was registered.
        cases: The registered cases that can be opened here.
        root: Root with references.
    """
    findings: list[Finding] = []
    details: list[Fold] = []
    for seal in registration.cases:
        findings.append(_judge(root, seal, cases.get(seal.id)))
        with suppress(EvalkitError, OSError):  # why not is said by its finding
            details.append(_survivors(_read(root, seal), seal))
    return told(
        "Mutants survived",
        findings,
        details,
        about=_ABOUT,
        note=f"A mutant is a right delivery with one small fault. At least "
        f"{LEAST_KILLED:.0%} must be killed, and each survivor explained. A table is "
        f"read as it was kept; `evalkit verify --mutants` makes it again.",
    )


def _read(root: Path, seal: CaseSeal) -> Strength:
    path = strength.table_path(root, seal.id)
    return files.decode_json(files.read_regular(path), Strength, path)


def _judge(root: Path, seal: CaseSeal, case: Case | None) -> Finding:
    name = f"{_ABOUT}{seal.id}"
    cure = f"run `evalkit verify {seal.id} --mutants`"
    if not strength.table_path(root, seal.id).exists():
        return Finding(
            name,
            UNKNOWN,
            ("no table of mutants is kept here",),
            f"Nobody has measured how much its grader notices: {cure}.",
        )
    try:
        table = _read(root, seal)
    except (EvalkitError, OSError) as error:
        damaged = f"Its table of mutants cannot be read: {cure}."
        return Finding(name, FAIL, (str(error),), damaged)
    if other := _of_another(root, table, seal, case):
        said = f"Nothing is known of how much the registered grader notices: {cure}."
        return Finding(name, UNKNOWN, (other,), said)
    evidence = _counted(table)
    if table.is_sample or not table.holds:
        unexplained = (f"{row.mutant}: {NOT_EXPLAINED}" for row in table.unexplained)
        return Finding(
            name,
            FAIL,
            (evidence, *unexplained),
            "Its grader lets too many faults pass, or some without a reason: mend it, "
            "or explain them in `mutants.toml`.",
        )
    said = "Its grader notices small faults, and what it lets pass is explained."
    return Finding(name, PASS, (evidence,), said)


def _of_another(
    root: Path, table: Strength, seal: CaseSeal, case: Case | None
) -> str | None:
    """What else than the registered grader a table was made with."""
    if table.case != seal.id:
        return f"the table is of another case, {table.case}"
    registered = seal.digests.grader
    if table.grader != registered:
        return (
            f"of another grader: made with {wording.short(table.grader)}, registered "
            f"{wording.short(registered)}"
        )
    if case is not None and case.digests.grader == registered:
        try:
            strength.load_table(root, case)
        except (InputError, OSError) as error:
            return f"of other sources: {error}"
    return None


def _counted(table: Strength) -> str:
    n = len(table.rows)
    share = f" ({table.n_killed / n:.0%})" if n else ""
    sample = f", of {table.n_mutants} there are" if table.is_sample else ""
    return (
        f"{wording.k_of(table.n_killed, n)} killed{share}{sample}; "
        f"{wording.n_of(n - table.n_killed, 'survivor')}, "
        f"{len(table.unexplained) or 'none'} without a reason"
    )


def _survivors(table: Strength, seal: CaseSeal) -> Fold:
    rows = [
        (row.mutant, row.reason or NOT_EXPLAINED)
        for row in table.rows
        if row.killed_by is None
    ]
    other = "" if table.grader == seal.digests.grader else ", OF ANOTHER GRADER"
    return Fold(
        f"{seal.id}: {wording.n_of(len(rows), 'survivor')} of "
        f"{wording.n_of(len(table.rows), 'mutant')}{other}",
        (
            Table(
                f"{seal.id}: mutants that no check notices{other}",
                (Column("Mutant"), Column("Why that is no fault of the grader")),
                tuple(rows),
                empty="every one is noticed.",
            ),
        ),
    )
