"""Is a run what it says it is? Read only; trusts nothing, changes nothing.

The record is checked by itself, against its evidence, and against what is here
now; every verdict is made again from its answers, and once more by questioning
the saved workspace, so that answers which were forged together with their
digests are seen. What no audit of a folder can see is a record forged as a whole
with workspaces to match: for that, compare the head with one kept elsewhere.

    record     seal, journal, heads in reports
    trials     planned, carried out once, in order
    verdicts   attempts against their evidence, graded again
    drift      what is here now against what was registered
    finding    one thing checked
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from evalkit import agents, sandbox
from evalkit.audit import drift, record, trials
from evalkit.audit.finding import FAIL, PASS, UNKNOWN, Finding, judged
from evalkit.audit.record import Lines
from evalkit.audit.verdicts import Examined, examine, regrade_faults
from evalkit.errors import SandboxUnavailableError, StoppedEarlyError
from evalkit.inflight import InFlight
from evalkit.records import (
    Isolation,
    Record,
    Registration,
    Regraded,
    RunStarted,
    TrialResult,
)
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
        record.check_chain(lines),
        trials.check_trials(registration, lines, run),
        *_examine_all(opened, lines, run, box, n_workers=n_workers, done=done),
        _regrades(lines, run),
        drift.check_proofs(registration, root),
        drift.check_drift(registration, cases, root),
        record.check_reports(registration, lines, run),
    )
    return Audit(
        run=run.name,
        registration=own_digest(registration),
        simulated=registration.agent.simulated,
        verdict=_gravest(findings),
        ended=lines.ended,
        journal_head=lines.head,
        n_events=len(lines.heads),
        findings=findings,
    )


def _open_box(level: str, root: Path, *, allow_unsandboxed: bool) -> Box | str:
    """The sandbox, or why there is none here."""
    try:
        return sandbox.open_box(
            level, allow_unsandboxed=allow_unsandboxed, root=root
        )
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

    with InFlight(n_workers) as in_flight:
        try:
            in_flight.carry_out([partial(look, *one) for one in enumerate(told)])
        except KeyboardInterrupt as error:
            raise StoppedEarlyError(
                f"{run.name}: the audit was stopped by Ctrl-C after {len(found)} of "
                f"{len(told)} attempts; audit again"
            ) from error
    examined = [found[n] for n in range(len(told))]
    why_not = [box] if isinstance(box, str) else []
    left_out = [f"{case}: not as registered here" for case in moved]
    gone = sorted({r.key.case for r in told} - set(opened.cases))
    return _findings(opened.registration, lines, examined, why_not, left_out, gone)


def _findings(
    registration: Registration,
    lines: Lines,
    found: Sequence[Examined],
    why_not: list[str],
    left_out: list[str],
    gone: list[str],
) -> tuple[Finding, ...]:
    n = len(found)
    n_replayed = sum(one.n_replayed for one in found)
    n_questioned = sum(one.n_questioned for one in found)
    return (
        judged(
            "evidence",
            [wrong for one in found for wrong in one.evidence],
            well=f"{n} attempts, every file as sealed, every seal as journaled",
            good="No file of evidence was changed since it was sealed.",
            bad="Evidence was changed, added or removed after it was sealed.",
        ),
        judged(
            "isolation",
            [
                *_started_otherwise(registration.isolation, lines),
                *(wrong for one in found for wrong in one.isolation),
            ],
            well=f"{registration.isolation.level} for {n} attempts, as registered",
            good="Every attempt was shut off as registered.",
            bad="Some attempts were shut off otherwise than registered; they are void.",
        ),
        _made_again(
            "conclusions",
            [wrong for one in found for wrong in one.conclusion],
            [f"{case}: cannot be opened here" for case in gone],
            well=f"{n} results, equal in every field to what the evidence gives",
            bad="The journal says something that does not follow from the evidence.",
        ),
        _made_again(
            "answers",
            [wrong for one in found for wrong in one.answers],
            left_out,
            well=f"{n_replayed} grades, made again from their recorded answers",
            bad="A verdict does not follow from the recorded answers.",
        ),
        _made_again(
            "workspaces",
            [wrong for one in found for wrong in one.workspace],
            [*why_not, *left_out],
            well=f"{n_questioned} saved workspaces questioned again",
            bad="A saved workspace, questioned again, gets another verdict: answers or "
            "workspace were forged, or what was delivered does not behave alike twice.",
        ),
    )


def _made_again(
    check: str, wrong: list[str], missing: list[str], *, well: str, bad: str
) -> Finding:
    if missing and not wrong:
        told = "Not all of it could be made again here."
        return Finding(check, UNKNOWN, tuple(missing), told)
    good = "Made again, it came out as journaled."
    return judged(check, wrong, well=well, good=good, bad=bad)


def _started_otherwise(registered: Isolation, lines: Lines) -> list[str]:
    starts = [e.body for e in lines.events if isinstance(e.body, RunStarted)]
    return [
        f"a start at {start.isolation.level}, registered {registered.level}"
        for start in starts
        if start.isolation.level != registered.level
    ]


def _regrades(lines: Lines, run: Path) -> Finding:
    own = [e.body for e in lines.events if isinstance(e.body, Regraded)]
    firsts = {(r.key, r.attempt) for r in results_of(lines.events)}
    wrong = [fault for body in own for fault in regrade_faults(run, body)]
    wrong += [
        f"{body.result.key}, attempt {body.result.attempt}: graded again, but never "
        f"at first"
        for body in own
        if (body.result.key, body.result.attempt) not in firsts
    ]
    return judged(
        "regrades",
        wrong,
        well=f"{len(own)} verdicts given again, their new answers as journaled"
        if own
        else "no verdict was given again",
        good="First verdicts stand; those given again are kept beside them.",
        bad="What was kept of verdicts given again is damaged.",
    )


def _gravest(findings: Iterable[Finding]) -> str:
    verdicts = {finding.verdict for finding in findings}
    return next(v for v in (FAIL, UNKNOWN, PASS) if v in verdicts)
