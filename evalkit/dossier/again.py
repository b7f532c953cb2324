"""The run again from its evidence: every finding of its audit."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalkit import audit as auditing
from evalkit import wording
from evalkit.audit import Audit, pilot, record
from evalkit.audit.finding import FAIL, UNKNOWN, Finding
from evalkit.dossier.part import Part, told
from evalkit.errors import EvalkitError, InfrastructureError, StoppedEarlyError
from evalkit.files import disk
from evalkit.markup import Column, Table
from evalkit.registration import own_digest

_ELSEWHERE = {"proofs", pilot.CHECK}
"""What the audit says of these is said in sections of their own."""


def audit_again(
    run: Path,
    root: Path,
    *,
    isolation: str | None,
    allow_unsandboxed: bool,
    n_workers: int,
) -> Audit:
    """The audit of a run; where it cannot be made, one that says so.

    Args:
        run: The run's folder.
        root: Root with the cases and graders that were registered.
        isolation: Level at which subjects are questioned; None is as registered.
        allow_unsandboxed: Consent to level `none`.
        n_workers: How many attempts are examined at once.

    Raises:
        StoppedEarlyError: Ctrl-C.
    """
    try:
        with disk.faults_named(run):
            return auditing.audit(
                run,
                root,
                isolation=isolation,
                allow_unsandboxed=allow_unsandboxed,
                n_workers=n_workers,
            )
    except StoppedEarlyError:
        raise
    except (EvalkitError, OSError) as error:
        # A fault of this machine says nothing of the run; anything else is damage.
        verdict = UNKNOWN if isinstance(error, InfrastructureError) else FAIL
        registration = record.read_registration(run)
        finding = Finding(
            "audit",
            verdict,
            (str(error),),
            "Nothing could be made again from the evidence: mend what is named, and "
            "audit again.",
        )
        return Audit(
            run=run.name,
            registration=own_digest(registration),
            simulated=registration.agent.simulated,
            stamp=registration.stamp,
            verdict=verdict,
            ended=None,
            journal_head=None,
            n_events=0,
            findings=(finding,),
        )


def run_again(found: Audit) -> Part:
    """The findings of an audit, less what sections of their own say."""
    apart = [one.check for one in found.findings if one.check in _ELSEWHERE]
    shown = told(
        "The run again from its evidence",
        [one for one in found.findings if one.check not in _ELSEWHERE],
        note=f"Told and counted in sections of their own: {wording.listed(apart)}."
        if apart
        else "",
    )
    rows = (
        ("Journal head", found.journal_head or "none: no line could be read"),
        ("After events", wording.count(found.n_events)),
        ("Registration", found.registration),
    )
    head = Table(
        "To be held against a report that was kept elsewhere",
        (Column("What"), Column("As found here")),
        rows,
    )
    ended = found.ended or "it did not end"
    caveat = "" if ended == "complete" else f"The run is unfinished ({ended})."
    return msgspec.structs.replace(shown, parts=(*shown.parts, head), caveat=caveat)
