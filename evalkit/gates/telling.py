"""Could this design tell, and did it?"""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.conclusions import READY, Analysis, DetectableRow
from evalkit.gates import verdict
from evalkit.gates.verdict import FAIL, PASS, UNKNOWN
from evalkit.records import Gate, Layout, Wording
from evalkit.wording import n_of

SCORE = "score"


def sample(analysis: Analysis) -> Gate:
    """Whether there are cases enough to ask about tasks like these."""
    design = analysis.design
    enough = design.n_cases >= design.min_cases
    return Gate(
        verdict.SAMPLE,
        PASS if enough else FAIL,
        f"{n_of(design.n_cases, 'task')}, at least {design.min_cases} wanted",
        "There are enough tasks to ask about tasks like these."
        if enough
        else "There are too few tasks to say anything about tasks like these.",
    )


def pilot_signal(analysis: Analysis) -> Iterator[Gate]:
    """Whether a run that injects knowledge rests on a real gate run; not of others."""
    injects = any(arm.prompt == Wording.INJECTION for arm in analysis.arms)
    if not injects or analysis.design.layout is Layout.GATE:
        return
    seal, seals = analysis.gate_run, analysis.seals
    ready = seal is not None and seal.verdict == READY and not seal.simulated
    same = seal is not None and (seal.model, seal.agent) == (
        seals.model,
        f"{seals.agent} {seals.agent_version}",
    )
    evidence = "no gate run was sealed with the plan"
    if seal is not None:
        stamp = "SIMULATED, " if seal.simulated else ""
        evidence = f"{seal.run}: {stamp}{seal.verdict}, {seal.agent}, {seal.model}"
    yield Gate(
        verdict.PILOT,
        PASS if ready and same else FAIL,
        evidence,
        "By what was sealed, a real gate run showed before this run was planned that "
        "the knowledge makes the difference on these cases; `evalkit audit` judges that "
        "run again."
        if ready and same
        else "No real gate run with this agent and model showed, before this run was "
        "planned, that these cases can tell injected knowledge apart.",
    )


def not_saturated(analysis: Analysis) -> Gate:
    """A case is saturated where all trials of all arms have one and the same score."""
    seen: dict[str, set[float]] = {}
    for row in analysis.case_arms:
        if row.points:
            seen.setdefault(row.case, set()).update(p.score for p in row.points)
    full = [case for case, scores in seen.items() if len(scores) == 1]
    found = UNKNOWN if not seen else FAIL if 2 * len(full) >= len(seen) else PASS
    sentence = {
        PASS: "Most cases leave room for one arm to do better than another.",
        FAIL: "Cases that come out the same in every trial, solved or not, cannot tell "
        "arms apart; that no difference is seen there says nothing of other cases.",
        UNKNOWN: "No trial was analysed, so nothing is known of how hard the cases are.",
    }[found]
    return Gate(
        verdict.ROOM,
        found,
        f"{len(full)} of {n_of(len(seen), 'case')} with one score in every trial of "
        f"every arm{': ' if full else ''}"
        f"{', '.join(f'{case} ({min(seen[case]):.2g})' for case in full)}",
        sentence,
    )


def difference_detectable(analysis: Analysis) -> Gate:
    """Whether a true difference as large as the margin would be found, as a rule.

    By the spread that was seen, else by the smallest that is assumed. Where some
    contrasts were declared to count, only of those.
    """
    margin, outcome = analysis.design.margin, analysis.design.outcome
    rows = _least_detectable(analysis) if outcome == SCORE else []
    if rows and not any(row.seen for row in rows):
        return Gate(
            verdict.DETECTABLE,
            UNKNOWN,
            "no spread was seen: in every case all trials of an arm came out the same",
            "It is not known how small a difference this design could have found.",
        )
    worst = max(rows, key=lambda row: row.difference, default=None)
    if worst is None:
        told = (
            "not every case has two trials in each of two arms"
            if outcome == SCORE
            else f"it is reckoned for the score, and the outcome is {outcome}"
        )
        return Gate(
            verdict.DETECTABLE,
            UNKNOWN,
            f"no least difference: {told}",
            "It is not known how small a difference this design could have found.",
        )
    enough = worst.difference <= margin
    return Gate(
        verdict.DETECTABLE,
        PASS if enough else FAIL,
        f"found in four runs of five: {worst.difference:.2f} of score, {worst.arm} "
        f"against {worst.comparator}, at a spread of {worst.sd:.2f} "
        f"({'seen' if worst.seen else 'assumed'}); the registered margin is {margin:g}",
        "A difference as large as the margin would as a rule have been found."
        if enough
        else "A difference as large as the margin can be there and not be found: that "
        "none is seen says little, and one that is seen tends to look larger than it is.",
    )


def _least_detectable(analysis: Analysis) -> list[DetectableRow]:
    """One row for each contrast: at the spread seen, else at the least assumed."""
    declared = {(c.arm, c.comparator) for c in analysis.contrasts if c.confirmatory}
    found: dict[tuple[str, str], DetectableRow] = {}
    for row in sorted(analysis.detectable, key=lambda row: (not row.seen, row.sd)):
        pair = row.arm, row.comparator
        if pair in declared or not declared:
            found.setdefault(pair, row)
    return list(found.values())


def difference_seen(analysis: Analysis) -> Gate:
    """Whether a comparison that was declared to count shows a difference."""
    declared = [contrast for contrast in analysis.contrasts if contrast.confirmatory]
    judged = [
        contrast
        for contrast in declared
        if contrast.p_holm is not None
        and not contrast.is_blind(analysis.design.confidence)
    ]
    clear = [
        contrast for contrast in judged if contrast.is_clear(analysis.design.confidence)
    ]
    found = PASS if clear else FAIL if judged else UNKNOWN
    sentence = {
        PASS: "At least one difference between arms is larger than the spread between "
        "trials explains, also when the number of comparisons is taken into account.",
        FAIL: "No difference between arms is larger than the spread between trials "
        "explains; that does not show that there is none.",
        UNKNOWN: "No comparison that was declared to count could show anything: there "
        "are none, or no test, or no outcome of so few trials would have been enough.",
    }[found]
    listed = ", ".join(f"{c.arm} against {c.comparator}" for c in clear) or "none"
    return Gate(
        verdict.SEEN,
        found,
        f"{analysis.design.outcome}: corrected p at most "
        f"{1 - analysis.design.confidence:.2g} for {listed}, of "
        f"{n_of(len(declared), 'declared comparison')}, {len(judged)} tested",
        sentence,
    )
