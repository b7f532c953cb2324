"""Text for a terminal: lines for each thing a command shows, and a bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime

from tqdm import tqdm

from evalkit import progress, wording
from evalkit.ambiguity import CorpusAudit
from evalkit.audit import Audit
from evalkit.conclusions import GateVerdict, Proportion
from evalkit.doctor import Finding
from evalkit.plan import Outline
from evalkit.preflight import Preflight
from evalkit.probes import ProbeScores
from evalkit.probing import Asked
from evalkit.recall import Recall
from evalkit.records import Candidate, Corpus, Grade, Proof, ProofRow, Selection
from evalkit.regrade import Regrade
from evalkit.replication import ReplicationRow
from evalkit.standing import Status
from evalkit.strength import LEAST_KILLED, Strength

MAX_LINE = 300
"""Characters of a reason on a line."""
MAX_LISTED = 10
"""Lines of evidence shown of one finding."""


@contextmanager
def bar(unit: str) -> Generator[Callable[[int, int], None]]:
    """A progress bar on stderr; the value given is told (done, of how many)."""
    with tqdm(unit=f" {unit}", file=sys.stderr, leave=False, disable=None) as shown:

        def tell(done: int, total: int) -> None:
            shown.total = total
            shown.update(done - shown.n)

        yield tell


def proof_lines(proofs: Sequence[Proof]) -> list[str]:
    """A row per overlay: expected and got score, failing checks."""
    lines: list[str] = []
    for proof in proofs:
        rows = [_proof_row(row) for row in proof.rows]
        head = ("", "overlay", "step", "expected", "got", "s", "failing checks")
        lines += [f"{proof.case} (isolation {proof.isolation})", *_align([head, *rows])]
        wrong = sum(not row.holds for row in proof.rows)
        lines.append(f"  {len(proof.rows) - wrong} of {len(proof.rows)} as expected\n")
    return lines


def effort_lines(proofs: Sequence[Proof], n_workers: int, wall_s: float) -> list[str]:
    """A row per case: how long its gradings took; and all of them, by `n_workers`."""
    walls = {
        proof.case: [row.wall_s for row in proof.rows if row.graded_as == row.overlay]
        for proof in proofs
    }
    times = [
        (case, f"{len(own)}", f"{sum(own):.1f}", f"{max(own, default=0):.1f}")
        for case, own in walls.items()
    ]
    total_s = sum(sum(own) for own in walls.values())
    ideal_s = total_s / n_workers
    return [
        *_align([("case", "gradings", "s in all", "longest"), *times]),
        f"  {total_s:.1f} s of gradings by {n_workers} at once took {wall_s:.1f} s: "
        f"{wall_s / ideal_s if ideal_s else 0:.2f} x the ideal {ideal_s:.1f} s",
    ]


def strength_lines(found: Sequence[Strength]) -> list[str]:
    """Killed mutants of each case, then every survivor with its reason."""
    lines: list[str] = []
    for one in found:
        graded = len(one.rows)
        share = f"{one.n_killed / graded:.1%}" if graded else "none"
        sample = f", of {one.n_mutants} drawn" if one.is_sample else ""
        lines.append(f"{one.case}: {one.n_killed}/{graded} mutants killed ({share})")
        lines[-1] += sample
        lines += [
            f"  survived  {row.mutant}\n            {row.reason or 'NOT EXPLAINED'}"
            for row in one.rows
            if row.killed_by is None
        ]
        if not one.holds and not one.unexplained:
            lines.append(f"  fewer than {LEAST_KILLED:.0%} are killed")
    return lines


def ambiguity_lines(found: CorpusAudit) -> list[str]:
    """Each case with its fixes, and what is wrong with it."""
    lines: list[str] = []
    for case in found.cases:
        rows = [
            (
                fix.overlay,
                "what good practice picks" if fix.default else "",
                {True: "pass", False: "fail", None: "DIED"}[fix.visible],
                f"{fix.score:.4g}",
                "PASSES" if fix.passes else "fails",
            )
            for fix in case.fixes
        ]
        head = ("fix", "", "visible tests", "score", "the grader")
        lines += [f"{case.case} (principle {case.principle})", *_align([head, *rows])]
        lines += [f"  FLAGGED  {flag}" for flag in case.flags] or ["  nothing flagged"]
        lines.append("")
    n_flagged = sum(bool(case.flags) for case in found.cases)
    return [*lines, f"{found.corpus}: {n_flagged} of {len(found.cases)} cases flagged"]


def gate_lines(found: GateVerdict) -> list[str]:
    """The passes of each case and its verdict; the rule, and how far to trust it."""
    rows = [
        (
            row.case,
            f"{row.baseline.k} of {row.baseline.n}",
            f"{row.injected.k} of {row.injected.n}",
            row.verdict,
            row.sentence,
        )
        for row in found.cases
    ]
    chances = [
        (f"{chance.baseline:.2f}", f"{chance.injected:.2f}", f"{chance.passes:.2f}")
        for chance in (found.worst, *found.chances)
    ]
    return [
        f"{found.run}: {found.agent}, {found.model}, {found.corpus}",
        *_align([("case", found.baseline, found.injected, "verdict", ""), *rows]),
        f"rule: of {found.n_runs} trials {found.baseline} passes at most "
        f"{found.rule.most_baseline}, {found.injected} at least "
        f"{found.rule.least_injected}; a case meets it with the probability",
        *_align([(found.baseline, found.injected, "meets it"), *chances]),
        "the first line is the worst without any effect; these trials enter no other "
        "run's analysis",
        f"{found.verdict}: {found.sentence}",
    ]


def preflight_lines(found: Preflight) -> list[str]:
    """A line for each condition, with its evidence."""
    lines: list[str] = []
    for line in found.lines:
        mark = "pass" if line.verdict == "pass" else "FAIL"
        lines += [f"{mark}  {line.name}: {line.sentence}", f"      {line.evidence}"]
    n_passed = sum(line.verdict == "pass" for line in found.lines)
    said = f"{n_passed} of {len(found.lines)} passed"
    return [*lines, f"{found.corpus} {found.digest[:12]}: {said}"]


def grade_lines(grade: Grade) -> list[str]:
    """A line per check with its reason, and the score."""
    lines = [
        f"{'pass' if check.passed else 'FAIL'}  {check.weight:>3}  {check.id}"
        f"{'  ' if check.reason else ''}{check.reason}"
        for check in grade.checks
    ]
    won = sum(check.weight for check in grade.checks if check.passed)
    total = sum(check.weight for check in grade.checks)
    verdict = f"grader died: {grade.died}" if grade.died else f"score {won}/{total}"
    return [*lines, f"{verdict}  (seed {grade.seed}, {grade.wall_s:.1f} s)"]


def outline_lines(outline: Outline, sealed: str | None) -> list[str]:
    """What a plan will do."""
    arms = [
        (
            arm.arm,
            f"{arm.n_skills} skills at home",
            _bytes_put(arm.n_injected_bytes_least, arm.n_injected_bytes_most),
            arm.library or "no library",
        )
        for arm in outline.arms
    ]
    routes = [
        (
            f"{route.case}/{route.step}",
            f"picks {route.picked or 'none'} ({route.how})"
            f"{', asks a model' if route.asks else ''}",
            f"canonical {', '.join(route.canonical) or 'none'}",
            f"candidates {_scored(route.candidates)}",
        )
        for route in outline.routes
    ]
    agent = f"{outline.agent}{' (SIMULATED)' if outline.simulated else ''}"
    return [
        f"corpus {outline.corpus}: {', '.join(outline.cases)}",
        f"agent {agent}, model {outline.model}, isolation {outline.isolation}",
        f"{outline.n_trials} trials = {len(outline.cases)} cases x "
        f"{len(outline.arms)} arms x {outline.repeats} repeats",
        f"{outline.n_planned_calls} planned calls of at most {outline.max_calls}, "
        f"within {outline.deadline_ms / 60_000:.0f} minutes",
        *_cost_lines(outline),
        *_design_lines(outline),
        *_foresight_lines(outline),
        f"order: random blocks ({', '.join(outline.first_blocks)}, ...), arms by a "
        f"Williams square, imbalance {outline.imbalance}",
        "arms:",
        *_align(arms),
        *(["routing, before any model:", *_align(routes)] if routes else []),
        *(recall_lines(outline.recall) if outline.recall else []),
        f"sealed as {sealed}; next: evalkit run {sealed}"
        if sealed
        else "a draft: nothing was written; add --seal to register it",
    ]


def _design_lines(outline: Outline) -> list[str]:
    lines: list[str] = []
    if outline.gate_rule:
        lines.append(
            f"a gate run: a case is ready where baseline passes at most "
            f"{outline.gate_rule.most_baseline} of {outline.repeats} and injected at "
            f"least {outline.gate_rule.least_injected}"
        )
    if outline.gate:
        stamp = " (SIMULATED, satisfies nothing)" if outline.gate.simulated else ""
        lines.append(
            f"rests on gate run {outline.gate.run}: {outline.gate.verdict}{stamp}"
        )
    return lines


def _foresight_lines(outline: Outline) -> list[str]:
    """What the design can find between two arms, and what more would buy."""
    found = outline.foresight
    rows = [
        (
            name,
            f"{design.n_cases} cases x {design.repeats}",
            f"spread {design.sd:.1f}",
            "nothing to say from one trial"
            if design.difference is None
            else f"{design.difference:.2f}"
            if design.difference <= 1
            else "nothing within 0 to 1",
            f"least p {design.p_least:.2g}",
        )
        for name, designs in (
            ("this design", found.planned),
            ("others", found.others),
            ("cases like these", found.beyond),
        )
        for design in designs
    ]
    return [
        f"declared: {outline.outcome}, margin {outline.margin}, "
        f"{', '.join(outline.confirmatory) or 'no comparison'}; others are exploratory",
        f"one comparison by itself finds, in {found.power:.0%} of runs, by spread of trials:",
        *_align(rows),
        *([] if found.beyond else ["  cases like these: nothing, with so few cases"]),
    ]


def status_lines(status: Status, now: datetime) -> list[str]:
    """Where a run stands, and what it spent of its budget."""
    counts = ", ".join(f"{n} {name}" for name, n in sorted(status.outcomes.items()))
    return [
        f"{status.run}: {status.state}{' (SIMULATED)' if status.simulated else ''}",
        *progress.lines(status, now, None),
        f"attempts: {status.n_attempts} ({counts or 'none ended yet'})",
    ]


def regrade_lines(found: Regrade) -> list[str]:
    """How each attempt was graded again, and what came out otherwise."""
    lines = [
        f"{attempt.trial}, attempt {attempt.attempt}: {step.step} {step.how}"
        f"{f' ({_one_line(step.why)})' if step.why else ''}"
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
            f"{f' ({_one_line(one.reason)})' if one.reason else ''}"
            for one in attempt.differences
        ]
    n_new = sum(attempt.journaled for attempt in found.attempts)
    return [
        *lines,
        f"{len(found.attempts)} attempts graded again at isolation {found.isolation}: "
        f"{len(others) or 'none'} otherwise; {n_new or 'no'} new lines in the journal; "
        f"the first verdicts stay",
    ]


def audit_lines(found: Audit) -> list[str]:
    """A line per finding, its evidence below, and the head to compare."""
    lines = [f"{found.run}{' (SIMULATED)' if found.simulated else ''}"]
    for one in found.findings:
        mark = "FAIL" if one.verdict == "fail" else one.verdict
        lines.append(f"  {mark:<8} {one.check}: {one.sentence}")
        lines += [f"           {_one_line(told)}" for told in one.evidence[:MAX_LISTED]]
        if len(one.evidence) > MAX_LISTED:
            lines.append(f"           and {len(one.evidence) - MAX_LISTED} more")
    return [
        *lines,
        f"journal head {found.journal_head or 'none'} after {found.n_events} lines: "
        f"compare it with the one in a report kept elsewhere",
        f"audit: {found.verdict}",
    ]


def route_lines(selection: Selection, *, asks: bool) -> list[str]:
    """Ranked skills and why, the one picked, and whether a model would be asked."""
    rows = [
        (
            c.skill,
            f"{c.score:.2f}",
            "admitted" if c.direct else "",
            ", ".join([*map(repr, c.phrases), *c.words]),
        )
        for c in selection.candidates
    ]
    then = "" if selection.picked else ", no call of a model"
    if asks:
        then = ", a model is asked to choose one of these or none"
    return [
        *(_align(rows) if rows else []),
        f"picked: {selection.picked or 'none'} ({selection.how}){then}",
    ]


def recall_lines(found: Recall) -> list[str]:
    """What routing can reach, before any model; and what a fixed list would."""
    return [
        f"an accepted skill is among the candidates of {found.n_held} of "
        f"{found.n_needing} that need one: the ceiling of every accuracy",
        f"the same {len(found.constant)} for all would hold one for "
        f"{found.n_constant_held} of {found.n_needing} "
        f"({', '.join(found.constant) or 'none'})",
        f"{found.n_admitted} of {found.n} admitted without a model, "
        f"{found.n_admitted_right} of them rightly; {found.n_abstained} of {found.n} "
        f"get none without asking",
    ]


def asked_lines(asked: Asked, kept: str) -> list[str]:
    """Who was asked, what came out, and where it is kept."""
    stamp = " (SIMULATED)" if asked.simulated else ""
    return [
        f"{asked.agent} {asked.version}{stamp}, model {asked.model}: {asked.n_calls} "
        f"of {len(asked.answers)} probes took a call",
        *probe_lines(asked.scores),
        f"kept in runs/{kept}",
    ]


def probe_lines(found: ProbeScores) -> list[str]:
    """A row per category of probes, with Wilson intervals, and what routing reaches.

    `spared` are probes that need no skill, get none, and cost no call.
    """
    heads = (
        "",
        "n",
        "right",
        "best ranked",
        "among ranked",
        "picked rightly",
        "spared",
    )
    rows = [
        (
            row.category,
            f"{row.n}",
            *map(_share, (row.right, row.first, row.held, row.precise, row.spared)),
        )
        for row in found.categories
    ]
    how = (
        "a model chose" if found.asked else "no model was asked, so little is right yet"
    )
    return [
        f"probes of the library {found.library} ({how})",
        *_align([heads, *rows]),
        *recall_lines(found.recall),
        f"picked wrongly: {', '.join(found.wrong) or 'none'}",
        f"no accepted skill among the candidates: "
        f"{', '.join(found.out_of_reach) or 'none'}",
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
    return [*_align([head, *told]), *refused]


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


def corpus_lines(corpus: Corpus) -> list[str]:
    """A corpus with its cases."""
    pinned = "pinned" if corpus.pinned else "not pinned"
    lines = [f"{corpus.name}  {corpus.digest} ({pinned})"]
    for case in corpus.cases:
        steps = ", ".join(step.slug for step in case.steps)
        lines += [
            f"  {case.id}: {case.title} ({case.kind.value}; steps: {steps})",
            f"    {case.hypothesis}",
        ]
    return lines


def _proof_row(row: ProofRow) -> tuple[str, ...]:
    return (
        "ok" if row.holds else "WRONG",
        row.overlay,
        row.step,
        f"{row.expected.score:.4g}",
        f"{row.got.score:.4g}",
        f"{row.wall_s:.1f}" if row.graded_as == row.overlay else f"as {row.graded_as}",
        _failing(row),
    )


def _failing(row: ProofRow) -> str:
    if row.died:
        return f"grader died: {row.died}"
    got = ", ".join(row.got.failing) or "-"
    if not row.replayed:
        got += " (replay differs)"
    if row.got.failing != row.expected.failing:
        got += f" (expected {', '.join(row.expected.failing) or '-'})"
    return got


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}..."


def _scored(candidates: Sequence[Candidate]) -> str:
    return ", ".join(f"{c.skill} {c.score:.1f}" for c in candidates) or "none"


def _share(found: Proportion) -> str:
    return f"{wording.k_of_n(found)} ({wording.interval(found)})"


def _bytes_put(least: int, most: int) -> str:
    if most == 0:
        return "nothing put into prompts"
    return f"{least:,} to {most:,} bytes put into prompts"


def _cost_lines(outline: Outline) -> list[str]:
    """Who is paid, and how much that may be, before anything is."""
    found = outline.estimate
    if found is None:
        return ["it calls no model: nothing is paid"]
    tokens = f"{found.n_tokens_least:,} to {found.n_tokens_most:,} tokens"
    dollars = "dollars not known: the model has no price here"
    if found.usd_least is not None and found.usd_most is not None:
        dollars = f"${found.usd_least:,.2f} to ${found.usd_most:,.2f}"
    return [
        f"provider {outline.provider}, access {outline.access}",
        f"may cost {dollars}, {tokens} ({found.basis}); cap it with --max-usd",
    ]


def _align(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
