"""What must hold before a claim, and the status that follows.

Gates read an `Analysis` and nothing else. No program approves a release: the
best status asks for a review by people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from evalkit.conclusions import READY, Analysis
from evalkit.records import Contrast, Gate, Kind, Layout
from evalkit.wording import n_of

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"
NO_ISOLATION = "none"
MAX_LOST = Fraction(1, 10)
"""Share of blocks that may be left out; with more, a run is inconclusive."""

REPEAT = "verdicts repeat"
ARRIVED = "treatment arrived"
BLOCKS = "blocks complete"

SYNTHETIC = "synthetic-only"
INSUFFICIENT = "insufficient-sample"
INCONCLUSIVE = "inconclusive"
REVIEW = "review-required"
SENTENCES = {
    SYNTHETIC: "{stand_in}, so this shows only that the measurement works.",
    INSUFFICIENT: "Too few tasks were run to say anything about tasks like these; the "
    "numbers describe these tasks only.",
    INCONCLUSIVE: "A condition for a claim does not hold, so no claim is supported.",
    REVIEW: "Every condition checked here holds; people must now read the evidence and "
    "decide. This program approves nothing.",
}


def judge(analysis: Analysis) -> Analysis:
    """The analysis with its gates and its status."""
    gates = evaluate(analysis)
    status = status_of(gates)
    sentence = SENTENCES[status].format(stand_in=_capital(analysis.stand_in or ""))
    return msgspec.structs.replace(
        analysis, gates=gates, status=status, status_sentence=sentence
    )


def evaluate(analysis: Analysis) -> tuple[Gate, ...]:
    """Every gate, in the order a reader needs them."""
    return (
        _evidence_real(analysis),
        _registration_intact(analysis),
        _isolation_as_registered(analysis),
        _blocks_complete(analysis),
        _treatment_arrived(analysis),
        _sample(analysis),
        _not_saturated(analysis),
        *_pilot_signal(analysis),
        _verdicts_repeat(analysis),
        _difference_seen(analysis),
    )


def status_of(gates: Sequence[Gate]) -> str:
    """The status that follows from the verdicts.

    A simulation beats all others; too many blocks lost, too small a sample.
    """
    failed = [gate.name for gate in gates if gate.verdict != PASS and _closes(gate)]
    if "evidence real" in failed:
        return SYNTHETIC
    if "sample" in failed and BLOCKS not in failed:
        return INSUFFICIENT
    return INCONCLUSIVE if failed else REVIEW


def _closes(gate: Gate) -> bool:
    # Nobody is obliged to grade again, nor to let a gateway look; but what was
    # graded again, or looked at, must agree.
    return gate.name not in {REPEAT, ARRIVED} or gate.verdict == FAIL


def _evidence_real(analysis: Analysis) -> Gate:
    seals, stand_in = analysis.seals, analysis.stand_in
    return Gate(
        "evidence real",
        FAIL if stand_in else PASS,
        f"agent {seals.agent} {seals.agent_version}",
        f"{_capital(stand_in)}."
        if stand_in
        else "The agent under test did the work itself.",
    )


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _registration_intact(analysis: Analysis) -> Gate:
    record, seals = analysis.integrity, analysis.seals
    broken = not record.recomputes or not record.same_registration
    verdict = FAIL if broken else UNKNOWN if not record.n_starts else PASS
    sentence = {
        PASS: "The run followed the plan that was sealed before it, and its record "
        "is unbroken.",
        FAIL: "The sealed plan was changed, or the run followed another one.",
        UNKNOWN: "The run has not begun, so its record says nothing yet.",
    }[verdict]
    return Gate(
        "registration intact",
        verdict,
        f"registration {seals.registration[:12]} "
        f"{'recomputes' if record.recomputes else 'does not recompute'}; "
        f"{n_of(record.n_starts, 'start')} of the run, naming "
        f"{'it' if record.same_registration else 'another'}; "
        f"{seals.n_events} chained events, head {seals.journal_head[:12]}"
        f"{'; the last line is torn' if record.torn else ''}",
        sentence,
    )


def _isolation_as_registered(analysis: Analysis) -> Gate:
    seals = analysis.seals
    found = ", ".join(seals.isolation_found) or "no trial"
    verdict = PASS if seals.isolation_found == (seals.isolation,) else FAIL
    if not seals.isolation_found:
        verdict = UNKNOWN
    sentence = {
        PASS: "As planned, trials were not shut off from the machine."
        if seals.isolation == NO_ISOLATION
        else "Every trial was shut off from the machine as planned.",
        FAIL: "Some trials were shut off from the machine otherwise than planned.",
        UNKNOWN: "No trial ended, so nothing is known of how it was shut off.",
    }[verdict]
    evidence = f"registered {seals.isolation}, found {found}"
    return Gate("isolation as registered", verdict, evidence, sentence)


def _blocks_complete(analysis: Analysis) -> Gate:
    design = analysis.design
    n_lost = design.n_blocks - design.n_complete
    enough = n_lost <= MAX_LOST * design.n_blocks
    return Gate(
        BLOCKS,
        PASS if enough else FAIL,
        f"{design.n_complete} of {design.n_blocks} blocks are whole, {n_lost} left "
        f"out; at most {float(MAX_LOST):.0%} may be",
        "Nearly all comparisons that were planned could be made."
        if enough
        else "Too many planned comparisons could not be made; what is missing could "
        "change the result.",
    )


def _treatment_arrived(analysis: Analysis) -> Gate:
    n_steps = sum(row.n_steps for row in analysis.treatments)
    n_looked = sum(row.n_looked for row in analysis.treatments)
    n_stray = len(analysis.strays)
    verdict = FAIL if n_stray else PASS if 0 < n_looked == n_steps else UNKNOWN
    sentence = {
        PASS: "The model was told of every skill that its arm offers and of no other, "
        "and all text put into a prompt reached it.",
        FAIL: "In some steps the model was told of other skills than its arm offers, "
        "or text put into a prompt did not reach it.",
        UNKNOWN: "No gateway saw what the model was told in every step, so what "
        "arrived there is not known.",
    }[verdict]
    return Gate(
        ARRIVED,
        verdict,
        f"{n_looked} of {n_steps} steps looked at, {n_stray or 'none'} otherwise than "
        f"delivered",
        sentence,
    )


def _sample(analysis: Analysis) -> Gate:
    design = analysis.design
    enough = design.n_cases >= design.min_cases
    return Gate(
        "sample",
        PASS if enough else FAIL,
        f"{n_of(design.n_cases, 'task')}, at least {design.min_cases} wanted",
        "There are enough tasks to ask about tasks like these."
        if enough
        else "There are too few tasks to say anything about tasks like these.",
    )


def _not_saturated(analysis: Analysis) -> Gate:
    """A case is saturated where every trial of every arm has a score of 1."""
    seen = {row.case: True for row in analysis.case_arms if row.points}
    for row in analysis.case_arms:
        for point in row.points:
            seen[row.case] = seen[row.case] and point.score == 1
    full = [case for case, saturated in seen.items() if saturated]
    verdict = UNKNOWN if not seen else FAIL if 2 * len(full) >= len(seen) else PASS
    sentence = {
        PASS: "Most cases leave room for one arm to do better than another.",
        FAIL: "Cases that every arm solves every time cannot tell arms apart; that no "
        "difference is seen there says nothing of other cases.",
        UNKNOWN: "No trial was analysed, so nothing is known of how hard the cases are.",
    }[verdict]
    return Gate(
        "not saturated",
        verdict,
        f"{len(full)} of {n_of(len(seen), 'case')} solved by every trial of every arm"
        f"{': ' if full else ''}{', '.join(full)}",
        sentence,
    )


def _pilot_signal(analysis: Analysis) -> Iterator[Gate]:
    """Whether a run on injected knowledge rests on a real gate run; not of others."""
    kinds = {case.kind for case in analysis.cases}
    if kinds != {Kind.KNOWLEDGE} or analysis.design.layout is Layout.GATE:
        return
    seal = analysis.gate_run
    ready = seal is not None and seal.verdict == READY and not seal.simulated
    same = seal is not None and seal.model == analysis.seals.model
    evidence = "no gate run was sealed with the plan"
    if seal is not None:
        stamp = "SIMULATED, " if seal.simulated else ""
        evidence = f"{seal.run}: {stamp}{seal.verdict}, {seal.agent}, {seal.model}"
    yield Gate(
        "pilot signal",
        PASS if ready and same else FAIL,
        evidence,
        "A real gate run showed, before this run was planned, that the knowledge makes "
        "the difference on these cases."
        if ready and same
        else "No real gate run with this model showed, before this run was planned, "
        "that these cases can tell injected knowledge apart.",
    )


def _verdicts_repeat(analysis: Analysis) -> Gate:
    rows = analysis.regrades
    other = [row.trial for row in rows if row.differences]
    verdict = FAIL if other else PASS if rows else UNKNOWN
    sentence = {
        PASS: "Where the same evidence was graded again, the verdicts came out alike.",
        FAIL: "The same evidence, graded again, got other verdicts; the first ones "
        "are those reported.",
        UNKNOWN: "Nobody has graded the evidence again yet; `evalkit regrade` does, "
        "and `evalkit audit` checks the whole record.",
    }[verdict]
    evidence = (
        f"{len({(row.trial, row.attempt) for row in rows})} attempts graded again, "
        f"{len(set(other)) or 'none'} otherwise"
    )
    return Gate(REPEAT, verdict, evidence, sentence)


def _difference_seen(analysis: Analysis) -> Gate:
    primary = [c for c in analysis.contrasts if c.measure == analysis.design.outcome]
    judged = [contrast for contrast in primary if contrast.low is not None]
    clear = [contrast for contrast in judged if _excludes_zero(contrast)]
    verdict = PASS if clear else FAIL if judged else UNKNOWN
    sentence = {
        PASS: "At least one difference between arms is larger than the spread between "
        "trials explains.",
        FAIL: "No difference between arms is larger than the spread between trials "
        "explains; that does not show that there is none.",
        UNKNOWN: "No difference between arms could be given an interval.",
    }[verdict]
    listed = ", ".join(f"{c.arm} against {c.comparator}" for c in clear) or "none"
    return Gate(
        "difference seen",
        verdict,
        f"{analysis.design.outcome}: interval without 0 for {listed}, "
        f"of {len(primary)} contrasts, {len(judged)} with an interval",
        sentence,
    )


def _excludes_zero(contrast: Contrast) -> bool:
    return (
        contrast.low is not None
        and contrast.high is not None
        and not contrast.low <= 0 <= contrast.high
    )
