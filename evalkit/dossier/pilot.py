"""The gate run behind a run: still what was sealed, and judged again?"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from evalkit import loading, tables
from evalkit.audit.finding import UNKNOWN, Finding
from evalkit.audit.pilot import check_gate
from evalkit.conclusions import READY, Analysis, GateVerdict
from evalkit.dossier.part import Part, brief, same, told
from evalkit.errors import EvalkitError
from evalkit.markup import Column, Prose, Shown, Table
from evalkit.records import GateSeal, Kind, Layout, Registration

_CAPTION = "Pilot gate"
_NAME = "pilot gate"


def pilot_gate(registration: Registration, run: Path, root: Path) -> Part:
    """The gate run that a run rests on, or is, judged from its own record.

    Args:
        registration: What was registered.
        run: The run's folder.
        root: Root with the gate run.
    """
    if registration.plan.design is Layout.GATE:
        return _own(run)
    if registration.gate is None:
        return Part((Prose((_none(registration),)),))
    return _rests_on(registration, registration.gate, root)


def _none(registration: Registration) -> str:
    said = "This run was sealed without a gate run to rest on."
    if {seal.kind for seal in registration.cases} == {Kind.KNOWLEDGE}:
        said += (
            " So nothing showed, before it was planned, that its cases can tell "
            "injected knowledge apart."
        )
    return said


def _own(run: Path) -> Part:
    try:
        analysis = loading.load(run).analysis
    except (EvalkitError, OSError) as error:
        said = "This is a gate run, and its record gives no verdict: see below."
        return told(_CAPTION, [Finding(_NAME, UNKNOWN, (str(error),), said)])
    said = "This run is itself a gate run; its verdict follows from its own record."
    return Part((Prose((said,)), tables.gate_run(analysis)))


def _rests_on(registration: Registration, seal: GateSeal, root: Path) -> Part:
    found = check_gate(registration, root)
    details: list[Shown] = []
    with suppress(EvalkitError, OSError):  # why not is said by the finding
        analysis = loading.load(root / "runs" / seal.run).analysis
        if analysis.gate_verdict is not None:
            details += _held_against(seal, analysis.gate_verdict), *_again(analysis)
    if not details:
        heads = ("What", "As registered")
        rows = tuple((_label(name), _word(seal, name)) for name in _FIELDS)
        caption = "The gate run as it was sealed"
        details.append(Table(caption, tuple(map(Column, heads)), rows))
    finding = msgspec.structs.replace(found, check=_NAME)
    return _with_caveat(told(_CAPTION, [finding], details), seal)


_FIELDS = tuple(name for name in GateSeal.__struct_fields__ if name != "run")


def _held_against(seal: GateSeal, found: GateVerdict) -> Table:
    rows = [
        (
            _label(name),
            _word(seal, name),
            _word(found, name),
            same(getattr(seal, name), getattr(found, name)),
        )
        for name in _FIELDS
    ]
    heads = ("What", "As registered", "Found now", "")
    return Table(f"Gate run {seal.run}", tuple(map(Column, heads)), tuple(rows))


def _again(analysis: Analysis) -> tuple[Shown, ...]:
    said = "Judged again from its own record:"
    return Prose((said,)), tables.gate_run(analysis)


def _with_caveat(part: Part, seal: GateSeal) -> Part:
    """What the sealed verdict allows, whatever became of the gate run."""
    if seal.verdict == READY and not seal.simulated:
        return part
    stamp = " and is SIMULATED" if seal.simulated else ""
    caveat = (
        f"The gate run that this run rests on was sealed as {seal.verdict}{stamp}, so "
        f"no claim about injected knowledge can rest on it."
    )
    parts = (Prose((caveat,)), *part.parts)
    return msgspec.structs.replace(part, parts=parts, caveat=caveat)


def _label(name: str) -> str:
    return name.replace("_", " ")


def _word(of: GateSeal | GateVerdict, name: str) -> str:
    value = getattr(of, name)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return brief(str(value))
