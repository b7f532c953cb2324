"""Passing every check: again and again, in pairs, and as a gate run asks it."""

from __future__ import annotations

from evalkit import wording
from evalkit.conclusions import Analysis, GateVerdict, PairedPasses, PassRow
from evalkit.markup import Column, Page, Prose, Shown, Table
from evalkit.records import Wording


def passes(analysis: Analysis) -> Shown:
    """How reliably each arm passes, and the blocks in which only one arm did."""
    if not analysis.passes:
        said = (
            "Each case has one trial in each arm, so nothing is known of a second try."
        )
        return Prose((said,))
    return Page((_again(analysis), _in_pairs(analysis)))


def gate_run(analysis: Analysis) -> Shown:
    """The gate run: its verdict where this is one, else the one this run rests on."""
    if analysis.gate_verdict is not None:
        return _verdict(analysis.gate_verdict)
    found = analysis.gate_run
    if found is None:
        said = (
            "This run was sealed without a gate run to rest on."
            if any(arm.prompt == Wording.INJECTION for arm in analysis.arms)
            else "No arm injects knowledge, so no gate run is asked for."
        )
        return Prose((said,))
    stamp = "SIMULATED, so it satisfies nothing. " if found.simulated else ""
    return Prose(
        (
            f"This run rests on the gate run {found.run} ({found.agent}, "
            f"{found.model}): {found.verdict}. {stamp}Its trials are not among those "
            f"analysed here. Registration {wording.short(found.registration)}, journal "
            f"head {wording.short(found.journal_head)}.",
        )
    )


def _again(analysis: Analysis) -> Table:
    k = analysis.passes[0].k
    n_listed = k if k <= wording.MOST_LISTED else 0
    return Table(
        "Passing every check, run by run and again",
        (
            Column("Arm", whole=True),
            *(Column(f"Run {n}", number=True) for n in range(1, n_listed + 1)),
            Column("pass@1", number=True),
            Column(f"pass@{k}", number=True),
            Column(f"pass^{k}", number=True),
            Column("What cannot be said"),
        ),
        tuple(_row(row, n_listed) for row in analysis.passes),
        note=f"Each run is one trial of every case{_unlisted(n_listed)}. pass@1: chance that one trial passes; "
        f"pass@{k}: that at least one of {k} does; pass^{k}: that all {k} do; means over "
        f"cases. With {k} trials of a case, pass@{k} only says whether any of them "
        f"passed, so it is never read alone.",
    ).without_empty()


def _unlisted(n_listed: int) -> str:
    return "" if n_listed else " (so many that they are not shown one by one)"


def _row(row: PassRow, n_listed: int) -> tuple[str, ...]:
    return (
        row.arm,
        *(wording.k_of_n(run) for run in row.runs[:n_listed]),
        *(wording.score(value) for value in (row.at_1, row.at_k, row.hat_k)),
        row.refusal or "",
    )


def _in_pairs(analysis: Analysis) -> Table:
    heads = ("Both", "Only the arm", "Only the other", "Neither")
    return Table(
        "Blocks in which the two arms passed",
        (
            Column("Arms", whole=True),
            *(Column(head, number=True) for head in heads),
            Column("p (exact McNemar)", number=True),
            Column("mid-p", number=True),
            Column("Arm passes more often", number=True),
            Column("Where none differs"),
        ),
        tuple(_pair(row) for row in analysis.paired_passes),
        note="A pair is the two trials of one block. Only pairs that differ speak for an "
        "arm. The last number is a probability under a flat prior.",
        empty="no arm was compared with another.",
    ).without_empty()


def _pair(row: PairedPasses) -> tuple[str, ...]:
    known = row.p is not None
    return (
        f"{row.arm} against {row.comparator}",
        *map(wording.count, (row.both, row.arm_only, row.comparator_only, row.neither)),
        wording.p_value(row.p) if known else wording.NOT_APPLICABLE,
        wording.p_value(row.p_mid) if known else wording.NOT_APPLICABLE,
        wording.score(row.p_arm) if known else wording.NOT_APPLICABLE,
        undecided(row),
    )


def undecided(row: PairedPasses) -> str:
    """What can be said where no pair differs; empty where one does."""
    if row.refusal is None:
        return ""
    if row.within is None:
        return row.refusal
    return (
        f"no discordant pair among {row.n_pairs}; the true difference lies within "
        f"\N{PLUS-MINUS SIGN}{row.within:.2f} (95% interval)"
    )


def _verdict(found: GateVerdict) -> Page:
    rule = (
        f"The declared rule: of {found.n_runs} trials of a case, {found.baseline} passes "
        f"at most {found.rule.most_baseline} and {found.injected} at least "
        f"{found.rule.least_injected}."
    )
    doubt = (
        f"Without any effect a case meets it up to {found.worst.passes:.0%} of the time "
        f"(both arms passing {found.worst.baseline:.0%})."
    )
    cases = Table(
        f"Gate run: {found.verdict}",
        (
            Column("Case"),
            Column(f"{found.baseline} passed", number=True),
            Column(f"{found.injected} passed", number=True),
            *map(Column, ("Verdict", "Why")),
        ),
        tuple(
            (
                row.case,
                wording.k_of_n(row.baseline),
                wording.k_of_n(row.injected),
                row.verdict,
                row.sentence,
            )
            for row in found.cases
        ),
    )
    chances = Table(
        "How often a case meets the rule",
        (
            Column(f"True rate of {found.baseline}", number=True),
            Column(f"True rate of {found.injected}", number=True),
            Column("Meets the rule", number=True),
        ),
        tuple(
            (
                wording.score(chance.baseline),
                wording.score(chance.injected),
                wording.score(chance.passes),
            )
            for chance in (found.worst, *found.chances)
        ),
    )
    return Page((Prose((found.sentence, f"{rule} {doubt}")), cases, chances))
