"""The gate run behind a run: still what was sealed, and judged again the same?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalkit import readiness
from evalkit.audit import record
from evalkit.audit.finding import FAIL, PASS, UNKNOWN, Finding, judged
from evalkit.conclusions import GateVerdict
from evalkit.errors import EvalkitError
from evalkit.records import GateSeal, Registration
from evalkit.registration import FILE

CHECK = "gate run"
HEAD = "journal_head"


def check_gate(registration: Registration, root: Path) -> Finding:
    """Is the gate run that a run rests on what was sealed, by its own record?

    Args:
        registration: Of the run.
        root: Root with the gate run.
    """
    seal = registration.gate
    if seal is None:
        return Finding(CHECK, PASS, ("none was sealed",), "It rests on no gate run.")
    folder = root / "runs" / seal.run
    if not (folder / FILE).is_file():
        return Finding(
            CHECK,
            UNKNOWN,
            (f"the gate run {seal.run} is not kept here",),
            "Its verdict is only claimed: restore the gate run's folder, and audit "
            "again.",
        )
    try:
        found = readiness.judge_run(folder)
    except (EvalkitError, OSError) as error:
        return Finding(
            CHECK,
            FAIL,
            (str(error),),
            "The gate run's record is damaged, or is of another run: restore it from a "
            "copy.",
        )
    wrong = dict(differences(seal, found))
    if found.corpus_digest != registration.corpus_digest:
        wrong["corpus"] = (
            f"corpus: this run is on {registration.corpus_digest}, the gate run on "
            f"{found.corpus_digest}"
        )
    if set(wrong) == {HEAD} and seal.journal_head in record.read_lines(folder).heads:
        return Finding(
            CHECK,
            UNKNOWN,
            tuple(wrong.values()),
            "Lines were added to the gate run's journal after it was sealed; judged "
            "with them, its verdict is still the sealed one.",
        )
    return judged(
        CHECK,
        list(wrong.values()),
        well=f"{seal.run}: {found.verdict}; `evalkit audit {seal.run}` looks at its "
        f"evidence",
        good="The gate run is the one that was sealed, and judged again by its record "
        "it gets the sealed verdict.",
        bad="The gate run is not what was sealed: restore it from a copy, or do not "
        "rest on it.",
    )


def differences(seal: GateSeal, found: GateVerdict) -> Iterator[tuple[str, str]]:
    """Name, and `name: registered X, found Y`, of what is not as sealed."""
    for name in GateSeal.__struct_fields__:
        registered, now = getattr(seal, name), getattr(found, name)
        if registered != now:
            yield (
                name,
                f"{name.replace('_', ' ')}: registered {registered}, found {now}",
            )
