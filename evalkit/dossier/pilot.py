"""The gate run behind a run: still what was sealed, and judged again?"""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalkit import notebook, tables, wording
from evalkit.audit import record
from evalkit.audit.finding import FAIL, UNKNOWN, Finding, judged
from evalkit.conclusions import READY, Analysis, GateVerdict
from evalkit.dossier.part import Part, brief, same, told
from evalkit.errors import EvalkitError
from evalkit.markup import Column, Prose, Shown, Table
from evalkit.records import GateSeal, Kind, Layout, Registration
from evalkit.registration import FILE

_CAPTION = "Pilot gate"
_NAME = "pilot gate"
_HEAD = "journal_head"


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
    return _rests_on(registration, registration.gate, root / "runs")


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
        analysis = notebook.load(run).analysis
    except (EvalkitError, OSError) as error:
        said = "This is a gate run, and its record gives no verdict: see below."
        return told(_CAPTION, [Finding(_NAME, UNKNOWN, (str(error),), said)])
    said = "This run is itself a gate run; its verdict follows from its own record."
    return Part((Prose((said,)), tables.gate_run(analysis)))


def _rests_on(registration: Registration, seal: GateSeal, runs: Path) -> Part:
    folder = runs / seal.run
    sealed = Table(
        "The gate run as it was sealed",
        (Column("What"), Column("As registered")),
        tuple((_label(name), _word(seal, name)) for name in _FIELDS),
    )
    if not (folder / FILE).is_file():
        gone = Finding(
            _NAME,
            UNKNOWN,
            (f"the gate run {seal.run} is not kept here",),
            "Its verdict is only claimed: restore the gate run's folder, and audit "
            "again.",
        )
        return _with_caveat(told(_CAPTION, [gone], [sealed]), seal)
    try:
        analysis = notebook.load(folder).analysis
    except (EvalkitError, OSError) as error:
        said = "The gate run's record is damaged: restore it from a copy."
        damaged = Finding(_NAME, FAIL, (str(error),), said)
        return _with_caveat(told(_CAPTION, [damaged], [sealed]), seal)
    found = analysis.gate_verdict
    if found is None:
        said = "What the registration names is no gate run: it shows no signal."
        other = Finding(_NAME, FAIL, (f"{seal.run}: of another design",), said)
        return _with_caveat(told(_CAPTION, [other], [sealed]), seal)
    finding = _judge(registration, seal, found, folder)
    details = (_held_against(seal, found), *_again(analysis))
    return _with_caveat(told(_CAPTION, [finding], details), seal)


_FIELDS = tuple(name for name in GateSeal.__struct_fields__ if name != "run")


def _judge(
    registration: Registration, seal: GateSeal, found: GateVerdict, folder: Path
) -> Finding:
    wrong = [
        f"{_label(name)}: registered {_word(seal, name)}, found {_word(found, name)}"
        for name in _FIELDS
        if getattr(seal, name) != getattr(found, name)
    ]
    if found.corpus_digest != registration.corpus_digest:
        wrong.append(
            f"corpus: this run is on {registration.corpus_digest}, the gate run on "
            f"{found.corpus_digest}"
        )
    grown = seal.journal_head in record.read_lines(folder).heads
    if wrong and grown and all(one.startswith(_label(_HEAD)) for one in wrong):
        return Finding(
            _NAME,
            UNKNOWN,
            tuple(wrong),
            "Lines were added to the gate run's journal after it was sealed; judged "
            "with them, its verdict is still the sealed one.",
        )
    return judged(
        _NAME,
        wrong,
        well=f"{seal.run}: {found.verdict}, judged again from its record; journal "
        f"head {wording.short(found.journal_head)}, as sealed",
        good="The gate run is the one that was sealed, and judged again it gets the "
        "sealed verdict.",
        bad="The gate run is not what was sealed: restore it from a copy, or do not "
        "rest on it.",
    )


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
