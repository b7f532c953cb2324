"""Is a run what it says it is? Read only; trusts nothing, changes nothing.

The record is checked by itself, against its evidence, and against what is here
now; every verdict is made again from its answers, and once more by questioning
the saved workspace, so that answers which were forged together with their
digests are seen. What no audit of a folder can see is a record forged as a whole
with workspaces to match: for that, compare the head with one kept elsewhere.

    record     seal, journal, heads in reports
    trials     planned, carried out once, in order
    attempts   begun, and ended with a result
    verdicts   attempts against their evidence, graded again
    examined   findings about all attempts together
    regrades   verdicts given again, against the first and made once more
    drift      what is here now against what was registered
    pilot      the gate run that it rests on
    finding    one thing checked
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from evalkit import agents, sandbox
from evalkit.audit import drift, record, regrades, trials
from evalkit.audit.attempts import check_attempts
from evalkit.audit.examined import judge
from evalkit.audit.finding import FAIL, PASS, UNKNOWN, Finding
from evalkit.audit.pilot import check_gate
from evalkit.audit.record import Lines
from evalkit.audit.regrades import Held, Holder
from evalkit.audit.verdicts import Examined, examine
from evalkit.errors import SandboxUnavailableError, StoppedEarlyError
from evalkit.inflight import InFlight
from evalkit.records import Record, Regraded, TrialResult
from evalkit.registration import own_digest
from evalkit.regrade.again import Reopened
from evalkit.sandbox import Box
from evalkit.standing import results_of

__all__ = ["Audit", "Finding", "audit"]


class Audit(Record, frozen=True):
    """What an audit found; its verdict is the gravest of its findings'.

    `journal_head` is the sha256 of the last line, None where there is no line.
    """

    run: str
    registration: str
    simulated: bool
    stamp: str | None
    verdict: str
    ended: str | None
    journal_head: str | None
    n_events: int
    findings: tuple[Finding, ...]


def audit(
    run: Path,
    root: Path,
    *,
    isolation: str | None = None,
    allow_unsandboxed: bool = False,
    n_workers: int = 1,
    done: Callable[[int, int], None] | None = None,
) -> Audit:
    """Check a run, finished or not, and make each of its verdicts again.

    Args:
        run: The run's folder; nothing in it is written.
        root: Root with the cases and graders that were registered.
        isolation: Level at which subjects are questioned; None is as registered.
        allow_unsandboxed: Consent to level `none`.
        n_workers: How many attempts are examined at once.
        done: Told after each attempt how many of how many are done.

    Raises:
        InputError: There is no registration, or `none` without consent.
        StoppedEarlyError: Ctrl-C.
    """
    registration = record.read_registration(run)
    lines = record.read_lines(run)
    level = isolation or registration.isolation.level
    box = _open_box(level, root, allow_unsandboxed=allow_unsandboxed)
    cases = drift.open_cases(registration, root)
    reader = agents.open_reader(registration.plan)
    opened = Reopened(registration, root, cases, reader)
    findings = (
        record.check_registration(registration, lines),
        record.check_chain(lines, run),
        trials.check_trials(registration, lines, run),
        check_attempts(lines.events),
        *_examine_all(opened, lines, run, box, n_workers=n_workers, done=done),
        drift.check_proofs(registration, root),
        check_gate(registration, root),
        drift.check_drift(registration, cases, root),
        record.check_reports(registration, lines, run),
    )
    return Audit(
        run=run.name,
        registration=own_digest(registration),
        simulated=registration.agent.simulated,
        stamp=registration.stamp,
        verdict=_gravest(findings),
        ended=lines.ended,
        journal_head=lines.head,
        n_events=len(lines.heads),
        findings=findings,
    )


def _open_box(level: str, root: Path, *, allow_unsandboxed: bool) -> Box | str:
    """The sandbox, or why there is none here."""
    try:
        return sandbox.open_box(level, allow_unsandboxed=allow_unsandboxed, root=root)
    except SandboxUnavailableError as error:
        return str(error)


def _examine_all(
    opened: Reopened,
    lines: Lines,
    run: Path,
    box: Box | str,
    *,
    n_workers: int,
    done: Callable[[int, int], None] | None,
) -> tuple[Finding, ...]:
    moved = drift.moved(opened.registration, opened.cases)
    told = results_of(lines.events)
    usable = None if isinstance(box, str) else box
    found: dict[int, Examined] = {}

    def look(n: int, result: TrialResult) -> None:
        again = result.key.case in opened.cases and result.key.case not in moved
        found[n] = examine(opened, run, result, box=usable, again=again)
        if done:
            done(len(found), len(told))

    looks = [partial(look, *one) for one in enumerate(told)]
    with InFlight(n_workers) as in_flight:
        try:
            in_flight.carry_out(looks)
            held = _hold_all(opened, lines, run, usable, in_flight)
        except KeyboardInterrupt as error:
            raise StoppedEarlyError(
                f"{run.name}: the audit was stopped by Ctrl-C after {len(found)} of "
                f"{len(told)} attempts; audit again"
            ) from error
    return (
        *judge(
            opened.registration,
            lines,
            [found[n] for n in range(len(told))],
            why_not=[box] if isinstance(box, str) else [],
            left_out=[f"{case}: not as registered here" for case in moved],
            gone=sorted({r.key.case for r in told} - set(opened.cases)),
        ),
        regrades.judge(held),
    )


def _hold_all(
    opened: Reopened, lines: Lines, run: Path, box: Box | None, in_flight: InFlight
) -> list[Held]:
    told = [e.body for e in lines.events if isinstance(e.body, Regraded)]
    moved = drift.moved(opened.registration, opened.cases, ("case", "fixture"))
    holder = Holder(opened, run, lines.events, box, frozenset(moved))
    held: dict[int, Held] = {}

    def hold(n: int, body: Regraded) -> None:
        held[n] = holder.hold(body)

    in_flight.carry_out([partial(hold, *one) for one in enumerate(told)])
    return [held[n] for n in range(len(told))]


def _gravest(findings: Iterable[Finding]) -> str:
    verdicts = {finding.verdict for finding in findings}
    return next(v for v in (FAIL, UNKNOWN, PASS) if v in verdicts)
