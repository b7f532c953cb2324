"""What an auditor reads, as tables: proofs, mutants, verdicts, a gate run, the audit.

Reads what is kept and what the audit of a run finds; what is missing or damaged is
a finding like any other, so that the rest can still be read.

    proven       the proof of each grader
    survivors    faults that graders do not notice
    fixes        can cases tell injected knowledge apart?
    pilot        the gate run that a run rests on
    again        the run made again from its evidence
    part         a section, and what was checked for it
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from evalkit import sandbox, wording
from evalkit.audit import Audit, drift, record
from evalkit.audit.finding import FAIL, PASS, UNKNOWN, Finding
from evalkit.dossier.again import audit_again, run_again
from evalkit.dossier.fixes import fixes_and_verdicts
from evalkit.dossier.part import Part, mark
from evalkit.dossier.pilot import pilot_gate
from evalkit.dossier.proven import graders_proven
from evalkit.dossier.survivors import mutants_survived
from evalkit.errors import SandboxUnavailableError
from evalkit.markup import Column, Page, Prose, Shown, Table, stamped
from evalkit.parameters import AuditParameters, find_root, find_run
from evalkit.records import Record

__all__ = ["AUDIT", "Dossier", "answer", "examine"]

AUDIT = "application/x-evalkit-audit+json"
"""Kind under which an executed notebook tells programs what it tells readers."""


class Dossier(Record, frozen=True):
    """The sections of the page, and all their findings as one audit."""

    found: Audit
    proven: Part
    survivors: Part
    fixes: Part
    pilot: Part
    again: Part

    @property
    def sections(self) -> dict[str, Part]:
        """The sections by their headings."""
        return {
            "Graders proven": self.proven,
            "Mutants survived": self.survivors,
            "Fixes and verdicts": self.fixes,
            "Pilot gate": self.pilot,
            "The run again from its evidence": self.again,
        }


class Answer(Page, frozen=True):
    """The answer, for readers and for the program that executes the notebook."""

    found: Audit

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {AUDIT: msgspec.to_builtins(self.found)}


def examine(parameters: AuditParameters) -> Dossier:
    """Look at all that a run rests on, in the root around the working folder.

    Raises:
        InputError: There is no such run, its registration is none, or questioning
            anything at isolation `none` was not consented to.
    """
    root = _shown(find_root(Path()))
    run = _shown(find_run(parameters.run, root))
    registration = record.read_registration(run)
    level = parameters.isolation or registration.isolation.level
    consent = parameters.allow_unsandboxed
    with suppress(SandboxUnavailableError):  # the audit says so, and goes on
        sandbox.open_box(level, allow_unsandboxed=consent, root=root)
    cases = drift.open_cases(registration, root)
    audit = audit_again(
        run,
        root,
        isolation=level,
        allow_unsandboxed=consent,
        n_workers=parameters.workers,
    )
    sections = (
        graders_proven(registration, cases, root),
        mutants_survived(registration, cases, root),
        fixes_and_verdicts(registration, root),
        pilot_gate(registration, run, root),
        run_again(audit),
    )
    findings = tuple(one for part in sections for one in part.findings)
    found = msgspec.structs.replace(
        audit, findings=findings, verdict=_gravest(findings)
    )
    return Dossier(found, *sections)


def answer(dossier: Dossier) -> Answer:
    """Would I believe it? In a paragraph, and a row for each section."""
    found = dossier.found
    ill = [one for one in found.findings if one.verdict != PASS]
    paragraphs = [" ".join([_headline(found.findings), *_named(ill)])]
    caveats = [part.caveat for part in dossier.sections.values() if part.caveat]
    head = (
        f"its journal's head, {wording.short(found.journal_head)} after "
        f"{wording.n_of(found.n_events, 'event')}"
        if found.journal_head
        else "its journal's head"
    )
    caveats.append(
        f"No look at a folder can show that it was not forged as a whole: hold {head}, "
        f"against the one in a report that was kept elsewhere. Run {found.run}."
    )
    paragraphs.append(" ".join(caveats))
    parts: list[Shown] = [Prose(tuple(paragraphs), "answer"), _by_section(dossier)]
    said = (
        f"{found.stamp}: no real agent took part, or none of a model's answers was new. "
        f"Nothing here is a measurement of a model."
    )
    parts[:0] = stamped(said if found.stamp else None)
    if ill:
        parts.append(_to_mend(ill))
    return Answer(tuple(parts), found)


def _shown(path: Path) -> Path:
    """A path as it may stand on a page: seen from the working folder."""
    return Path(os.path.relpath(path))


def _gravest(findings: Sequence[Finding]) -> str:
    verdicts = {one.verdict for one in findings}
    return next(verdict for verdict in (FAIL, UNKNOWN, PASS) if verdict in verdicts)


def _headline(findings: Sequence[Finding]) -> str:
    n = len(findings)
    n_held, n_failed = (_count(findings, verdict) for verdict in (PASS, FAIL))
    held = f"{wording.k_of(n_held, n)} things checked hold"
    if n_failed:
        return f"No, not as it stands: {held}; {n_failed} failed."
    if n_held < n:
        return f"Not yet: {held}, none is wrong, but the rest could not be checked."
    return f"Yes, as far as its record can show it: all {n:,} things checked hold."


def _named(ill: Sequence[Finding]) -> list[str]:
    said = {FAIL: "What does not hold", UNKNOWN: "What could not be checked"}
    return [
        f"{words}: {wording.listed(one.check for one in ill if one.verdict == verdict)}."
        for verdict, words in said.items()
        if _count(ill, verdict)
    ]


def _by_section(dossier: Dossier) -> Table:
    heads = ("Checked", "Hold", "Do not hold", "Could not be checked")
    rows = [
        (
            name,
            wording.count(len(part.findings)) if part.findings else "does not apply",
            *(
                wording.count(_count(part.findings, verdict)) if part.findings else ""
                for verdict in (PASS, FAIL, UNKNOWN)
            ),
        )
        for name, part in dossier.sections.items()
    ]
    columns = (Column("Section"), *(Column(head, number=True) for head in heads))
    return Table("What was checked", columns, tuple(rows))


def _to_mend(ill: Sequence[Finding]) -> Prose:
    return Prose(
        tuple(
            f"{mark(one.verdict)}, {one.check}. {one.sentence}"
            for verdict in (FAIL, UNKNOWN)
            for one in ill
            if one.verdict == verdict
        )
    )


def _count(findings: Sequence[Finding], verdict: str) -> int:
    return sum(one.verdict == verdict for one in findings)
