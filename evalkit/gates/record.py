"""Can the record be believed?"""

from __future__ import annotations

from evalkit.conclusions import Analysis
from evalkit.gates import verdict
from evalkit.gates.verdict import FAIL, PASS, UNKNOWN
from evalkit.records import Gate
from evalkit.wording import agent, n_of

NO_ISOLATION = "none"


def evidence_real(analysis: Analysis) -> Gate:
    """Whether the agent under test and its model did the work, or a stand-in."""
    seals, stand_in = analysis.seals, analysis.stand_in
    return Gate(
        verdict.REAL,
        FAIL if stand_in else PASS,
        f"agent {agent(seals.agent, seals.agent_version)}",
        f"{capital(stand_in)}."
        if stand_in
        else "The agent under test did the work itself.",
    )


def capital(text: str) -> str:
    """The text with its first letter as a capital."""
    return f"{text[:1].upper()}{text[1:]}"


def registration_intact(analysis: Analysis) -> Gate:
    """Whether the run followed the plan that was sealed."""
    record, seals = analysis.integrity, analysis.seals
    broken = not record.recomputes or not record.same_registration
    found = FAIL if broken else UNKNOWN if not record.n_starts else PASS
    sentence = {
        PASS: "The run followed the plan that was sealed before it, and its record "
        "is unbroken.",
        FAIL: "The sealed plan was changed, or the run followed another one.",
        UNKNOWN: "The run has not begun, so its record says nothing yet.",
    }[found]
    return Gate(
        verdict.INTACT,
        found,
        f"registration {seals.registration[:12]} "
        f"{'recomputes' if record.recomputes else 'does not recompute'}; "
        f"{n_of(record.n_starts, 'start')} of the run, naming "
        f"{'it' if record.same_registration else 'another'}; "
        f"{seals.n_events} chained events, head {seals.journal_head[:12]}"
        f"{'; the last line is torn' if record.torn else ''}",
        sentence,
    )


def isolation_as_registered(analysis: Analysis) -> Gate:
    """Whether every trial ran at the level of isolation that was registered."""
    seals = analysis.seals
    found = PASS if seals.isolation_found == (seals.isolation,) else FAIL
    if not seals.isolation_found:
        found = UNKNOWN
    sentence = {
        PASS: "As planned, trials were not shut off from the machine."
        if seals.isolation == NO_ISOLATION
        else "Every trial was shut off from the machine as planned.",
        FAIL: "Some trials were shut off from the machine otherwise than planned.",
        UNKNOWN: "No trial ended, so nothing is known of how it was shut off.",
    }[found]
    levels = ", ".join(seals.isolation_found) or "no trial"
    evidence = f"registered {seals.isolation}, found {levels}"
    return Gate(verdict.ISOLATION, found, evidence, sentence)


def graders_proven(analysis: Analysis) -> Gate:
    """Whether each case was judged by the grader that its sealed proof is about.

    Nothing is sealed on a proof that does not hold, and an audit reads it again; what
    an analysis knows is the name of the proof, which tells its digests.
    """
    rows = analysis.graders
    unproven = [row.case for row in rows if not row.bound]
    others = [row.case for row in rows if row.n_other]
    n_grades = sum(row.n_grades for row in rows)
    found = FAIL if unproven or others else PASS if n_grades else UNKNOWN
    sentence = {
        PASS: "Every verdict came from the grader that was shown, before the run, to "
        "tell right work from wrong on exactly these cases.",
        FAIL: "Some verdicts came from a grader that nobody has shown to tell right work "
        "from wrong on these cases.",
        UNKNOWN: "Nothing was graded, so no grader has spoken.",
    }[found]
    named = ", ".join(row.proof for row in rows)
    wrong = [
        *(f"{case}: no proof for the sealed digests" for case in unproven),
        *(f"{case}: graded by another digest than sealed" for case in others),
    ]
    return Gate(
        verdict.GRADERS,
        found,
        f"{n_of(n_grades, 'grade')}; {'; '.join(wrong) or f'proofs {named}'}",
        sentence,
    )


def verdicts_repeat(analysis: Analysis) -> Gate:
    """Whether the same evidence, graded again, got the same verdicts."""
    rows = analysis.regrades
    other = [row.trial for row in rows if row.differences]
    found = FAIL if other else PASS if rows else UNKNOWN
    sentence = {
        PASS: "Where the same evidence was graded again, the verdicts came out alike.",
        FAIL: "The same evidence, graded again, got other verdicts; the first ones "
        "are those reported.",
        UNKNOWN: "Nobody has graded the evidence again yet; `evalkit regrade` does, "
        "and `evalkit audit` checks the whole record.",
    }[found]
    evidence = (
        f"{len({(row.trial, row.attempt) for row in rows})} attempts graded again, "
        f"{len(set(other)) or 'none'} otherwise"
    )
    return Gate(verdict.REPEAT, found, evidence, sentence)
