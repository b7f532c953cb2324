"""Runs: where one stands, what an audit or a regrade found, two side by side, as lines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from evalkit import progress, wording
from evalkit.console.layout import align, one_line

if TYPE_CHECKING:
    from evalkit.audit import Audit
    from evalkit.doctor import Finding
    from evalkit.regrade import Regrade
    from evalkit.replay import Replay
    from evalkit.replication import ReplicationRow
    from evalkit.standing import Status

MAX_LISTED = 10
"""Lines of evidence shown of one finding."""


def status_lines(status: Status, now: datetime) -> list[str]:
    """Where a run stands, and what it spent of its budget."""
    counts = ", ".join(f"{n} {name}" for name, n in sorted(status.outcomes.items()))
    return [
        f"{status.run}: {wording.stamped(status.state, status.stamp)}",
        *progress.lines(status, now, None),
        f"attempts: {status.n_attempts} ({counts or 'none ended yet'})",
    ]


def regrade_lines(found: Regrade) -> list[str]:
    """How each attempt was graded again, and what came out otherwise."""
    lines = [
        f"{attempt.trial}, attempt {attempt.attempt}: {step.step} {step.how}"
        f"{f' ({one_line(step.why)})' if step.why else ''}"
        for attempt in found.attempts
        for step in attempt.steps
    ]
    lines += [
        f"departure: {d.what}: registered {d.registered} -> found {d.found}"
        for d in found.deviations
    ]
    others = [attempt for attempt in found.attempts if attempt.differences]
    for attempt in others:
        lines.append(f"OTHERWISE {attempt.trial}, attempt {attempt.attempt}:")
        lines += [
            f"  {one.step} {one.what}: {one.first} -> {one.again}"
            f"{f' ({one_line(one.reason)})' if one.reason else ''}"
            for one in attempt.differences
        ]
    n_new = sum(attempt.journaled for attempt in found.attempts)
    return [
        *lines,
        f"{len(found.attempts)} attempts graded again at isolation {found.isolation}: "
        f"{len(others) or 'none'} otherwise; {n_new or 'no'} new lines in the journal; "
        f"the first verdicts stay",
    ]


def replay_lines(found: Replay, now: datetime) -> list[str]:
    """How each recorded attempt came out again, and what was otherwise."""
    lines = [f"otherwise here: {one_line(line)}" for line in found.moved]
    lines += [
        f"taken for the same in {wording.n_of(one.n_requests, 'request')}: {one.name} "
        f"({one.why})"
        for one in found.varied
    ]
    others = [attempt for attempt in found.attempts if attempt.differs]
    for attempt in others:
        lines.append(f"OTHERWISE {attempt.trial}, attempt {attempt.attempt}:")
        lines += ["  not played"] if attempt.played is None else []
        lines += [
            f"  departed in {one.call}, request {one.request}: {one_line(one.how)}"
            for one in attempt.departures
        ]
        lines += [
            f"  {one.step} {one.what}: {one.first} -> {one.again}"
            f"{f' ({one_line(one.reason)})' if one.reason else ''}"
            for one in attempt.differences
        ]
    lines += [
        f"OTHERWISE {one.what}: {one.recorded} -> {one.replayed}"
        for one in found.analysis or ()
    ]
    numbers = (
        "not held against it, since not all of it was played"
        if found.analysis is None
        else "the same"
        if not found.analysis
        else "otherwise"
    )
    return [
        *lines,
        *status_lines(found.status, now),
        f"{wording.n_of(len(found.attempts), 'attempt')} of {found.run} played again: "
        f"{len(others) or 'none'} otherwise; contrasts: {numbers}",
    ]


def audit_lines(found: Audit) -> list[str]:
    """A line per finding, its evidence below, and the head to compare."""
    lines = [wording.stamped(found.run, found.stamp)]
    for one in found.findings:
        mark = "FAIL" if one.verdict == "fail" else one.verdict
        lines.append(f"  {mark:<8} {one.check}: {one.sentence}")
        lines += [f"           {one_line(told)}" for told in one.evidence[:MAX_LISTED]]
        if len(one.evidence) > MAX_LISTED:
            lines.append(f"           and {len(one.evidence) - MAX_LISTED} more")
    return [
        *lines,
        f"journal head {found.journal_head or 'none'} after {found.n_events} lines: "
        f"compare it with the one in a report kept elsewhere",
        f"audit: {found.verdict}",
    ]


def replication_lines(rows: Sequence[ReplicationRow]) -> list[str]:
    """The lines of each contrast one below the other, one for each run."""
    told = [
        (
            f"{row.arm} against {row.comparator}, {row.measure}",
            row.run,
            *_estimate(row),
            wording.n_of(row.n_blocks, "pair"),
            wording.n_of(row.n_cases, "case"),
            f"{row.agent}, {row.model}",
            f"{row.status}{', SIMULATED' if row.simulated else ''}",
        )
        for row in rows
    ]
    head = ("contrast", "run", "estimate", "interval", "", "", "agent", "status")
    refused = dict.fromkeys(row.refusal for row in rows if row.refusal)
    return [*align([head, *told]), *refused]


def _estimate(row: ReplicationRow) -> tuple[str, str]:
    if row.measure in {"score", "passed"}:
        return wording.signed(row.estimate), wording.span(row.low, row.high)
    return wording.ratio(row.estimate), wording.ratio_span(row.low, row.high)


def doctor_lines(findings: Sequence[Finding]) -> list[str]:
    """A line per finding, with the cure where something is missing."""
    return [
        f"{'ok     ' if f.well else 'MISSING' if f.needed else 'absent '}  {f.what}: "
        f"{f.found}{'' if f.well else f' -> {f.cure}'}"
        for f in findings
    ]
