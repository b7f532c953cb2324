"""The record checked by itself: seal, journal, trials, and the heads in reports."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from evalkit import files, schedule
from evalkit.audit.finding import FAIL, UNKNOWN, Finding, judged
from evalkit.errors import InputError
from evalkit.journal import read_journal
from evalkit.records import (
    Event,
    Record,
    Registration,
    RunEnded,
    RunStarted,
)
from evalkit.registration import FILE, own_digest
from evalkit.standing import JOURNAL, last_turn

MAX_REPORT_BYTES = 2**28
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_HEAD = re.compile(r"\b([0-9a-f]{64}), after (\d+) events")
_event = msgspec.json.Decoder(Event)


class Lines(Record, frozen=True):
    """A journal read as far as it can be; `heads` holds the sha256 of each line."""

    events: tuple[Event, ...]
    heads: tuple[str, ...]
    torn: bool
    fault: str | None

    @property
    def head(self) -> str | None:
        """The last of the heads."""
        return self.heads[-1] if self.heads else None

    def head_after(self, n_events: int) -> str | None:
        """The head when there were that many lines."""
        return self.heads[n_events - 1] if 0 < n_events <= len(self.heads) else None

    @property
    def ended(self) -> str | None:
        """Why the last process stopped; None where none did."""
        last = last_turn(self.events)
        return last.reason if isinstance(last, RunEnded) else None


def read_lines(run: Path) -> Lines:
    """Read a journal however damaged; what is no event is left out."""
    path = run / JOURNAL
    fault, events = None, []
    try:
        read_journal(path)
    except InputError as error:
        fault = str(error)
    whole, _, rest = (path.read_bytes() if path.is_file() else b"").rpartition(b"\n")
    lines = whole.split(b"\n") if whole else []
    for line in lines:
        try:
            events.append(_event.decode(line))
        except msgspec.DecodeError:
            continue
    heads = tuple(files.sha256(line) for line in lines)
    return Lines(tuple(events), heads, bool(rest), fault)


def read_registration(run: Path) -> Registration:
    """Read a registration whose digest may not be its own.

    Raises:
        InputError: It is no registration.
    """
    path = run / FILE
    return files.decode_json(files.read_regular(path), Registration, path)


def check_registration(registration: Registration, lines: Lines) -> Finding:
    """Does the seal recompute, and is it the one that the run followed?"""
    own = own_digest(registration)
    wrong: list[str] = []
    if own != registration.digest:
        wrong.append(f"states digest {registration.digest}, is {own}")
    starts = [e.body for e in lines.events if isinstance(e.body, RunStarted)]
    followed = {start.registration for start in starts}
    wrong += [
        f"the journal says the run followed {digest}"
        for digest in sorted(followed - {own})
    ]
    wrong += _order_faults(registration)
    return judged(
        "registration",
        wrong,
        well=f"{own} recomputes; {len(starts)} starts name it; its order recomputes",
        good="The plan is the one that was sealed, and the run followed it.",
        bad="The plan was changed after it was sealed, or the run followed another.",
    )


def check_chain(lines: Lines, run: Path) -> Finding:
    """Is there a record of what was done, each line bound to the one before it?"""
    if unsaid := list(_unsaid(lines, run)):
        return Finding(
            "journal chain",
            FAIL,
            (*([lines.fault] if lines.fault else []), *unsaid),
            "The journal was removed, or its beginning was: restore it from a copy.",
        )
    if lines.fault is None and lines.torn:
        return Finding(
            "journal chain",
            UNKNOWN,
            ("its last line is half written",),
            "The record was cut short, or is being written; run the plan again to mend "
            "it.",
        )
    return judged(
        "journal chain",
        [lines.fault] if lines.fault else [],
        well=f"{len(lines.heads)} lines, head {lines.head}",
        good="No line was edited, removed or added, as far as the head is the one that "
        "was kept elsewhere.",
        bad="A line was edited, removed or added.",
    )


def check_reports(registration: Registration, lines: Lines, run: Path) -> Finding:
    """Do the reports beside the run state this journal and this registration?"""
    try:
        stated = [*_stated_by_page(run), *_stated_by_analysis(run)]
    except InputError as error:
        return Finding("report", FAIL, (str(error),), "The report is damaged.")
    own = own_digest(registration)
    wrong = [
        f"{one.where}: head {one.head} after {one.n_events} events; the journal has "
        f"{lines.head_after(one.n_events) or 'no such line'}"
        for one in stated
        if lines.head_after(one.n_events) != one.head
    ]
    wrong += [
        f"{one.where}: made for another registration than {own}"
        for one in stated
        if own not in one.registrations
    ]
    if not stated:
        return Finding(
            "report",
            UNKNOWN,
            (f"no report states a head; the journal's is {lines.head}",),
            "Compare the head with the one in a report that was kept elsewhere.",
        )
    return judged(
        "report",
        wrong,
        well="; ".join(
            f"{one.where} states the head after {one.n_events} of {len(lines.heads)} "
            f"lines"
            for one in stated
        ),
        good="The report beside the run was made from this record. One kept elsewhere "
        "says more: compare its head.",
        bad="The report was made from another record than this one.",
    )


def _order_faults(registration: Registration) -> Iterator[str]:
    plan = registration.plan
    made = schedule.make_schedule(
        [case.id for case in registration.cases],
        list(plan.arms),
        plan.repeats or 0,
        rng=random.Random(f"{plan.seed}:schedule"),
    )
    if made != registration.schedule:
        yield f"its order of trials is not the one that seed {plan.seed} gives"
    elif schedule.imbalance(made) != registration.imbalance:
        yield f"states imbalance {registration.imbalance}, is {schedule.imbalance(made)}"


def _unsaid(lines: Lines, run: Path) -> Iterator[str]:
    """What was done although no line says that the run was begun."""
    if any(isinstance(event.body, RunStarted) for event in lines.events):
        return
    folder = run / "trials"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if lines.heads:
        yield f"{len(lines.heads)} lines, none of a start of the run"
    for name in names:
        yield f"{name}: evidence, but no journal says that the run was begun"


class _Stated(Record, frozen=True):
    where: str
    head: str
    n_events: int
    registrations: frozenset[str]


class _Seals(msgspec.Struct):
    journal_head: str
    n_events: int
    registration: str


class _Analysis(msgspec.Struct):
    seals: _Seals


def _stated_by_analysis(run: Path) -> Iterator[_Stated]:
    path = run / "analysis.json"
    if path.is_file():
        data = files.read_regular(path, max_bytes=MAX_REPORT_BYTES)
        seals = files.decode_json(data, _Analysis, path).seals
        named = frozenset({seals.registration})
        yield _Stated(path.name, seals.journal_head, seals.n_events, named)


def _stated_by_page(run: Path) -> Iterator[_Stated]:
    path = run / "report.html"
    if path.is_file():
        data = files.read_regular(path, max_bytes=MAX_REPORT_BYTES)
        text = data.decode(errors="replace")
        named = frozenset(_DIGEST.findall(text))
        for head, n in _HEAD.findall(text):
            yield _Stated(path.name, head, int(n), named)
