"""Cases and their graders, as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit.console.layout import align
from evalkit.strength import LEAST_KILLED, Strength

if TYPE_CHECKING:
    from evalkit.ambiguity import CorpusAudit
    from evalkit.conclusions import GateVerdict
    from evalkit.preflight import Preflight
    from evalkit.records import Corpus, Grade, Proof, ProofRow


def proof_lines(proofs: Sequence[Proof]) -> list[str]:
    """A row per overlay: expected and got score, failing checks."""
    lines: list[str] = []
    for proof in proofs:
        rows = [_proof_row(row) for row in proof.rows]
        head = ("", "overlay", "step", "expected", "got", "s", "failing checks")
        lines += [f"{proof.case} (isolation {proof.isolation})", *align([head, *rows])]
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
        *align([("case", "gradings", "s in all", "longest"), *times]),
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
        lines += [f"{case.case} (principle {case.principle})", *align([head, *rows])]
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
        *align([("case", found.baseline, found.injected, "verdict", ""), *rows]),
        f"rule: of {found.n_runs} trials {found.baseline} passes at most "
        f"{found.rule.most_baseline}, {found.injected} at least "
        f"{found.rule.least_injected}; a case meets it with the probability",
        *align([(found.baseline, found.injected, "meets it"), *chances]),
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
