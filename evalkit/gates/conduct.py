"""Was the run carried out as planned?"""

from __future__ import annotations

from fractions import Fraction

from evalkit.conclusions import UNKNOWN_LISTS, Analysis
from evalkit.gates import verdict
from evalkit.gates.verdict import FAIL, PASS, UNKNOWN
from evalkit.records import Access, Gate
from evalkit.wording import k_of, listed, n_of

MAX_LOST = Fraction(1, 10)
"""Share of blocks that may be left out; with more, a run is inconclusive."""
COMPLETE = "complete"
STOPS = ("budget", "deadline")
MAX_NAMED = 3
"""Steps named in a line of evidence."""


def blocks_complete(analysis: Analysis) -> Gate:
    """Whether nine blocks in ten are whole."""
    design = analysis.design
    n_lost = design.n_blocks - design.n_complete
    enough = n_lost <= MAX_LOST * design.n_blocks
    return Gate(
        verdict.BLOCKS,
        PASS if enough else FAIL,
        f"{design.n_complete} of {design.n_blocks} blocks are whole, {n_lost} left "
        f"out; at most {float(MAX_LOST):.0%} may be",
        "Nearly all comparisons that were planned could be made."
        if enough
        else "Too many planned comparisons could not be made; what is missing could "
        "change the result.",
    )


def budget_not_hit(analysis: Analysis) -> Gate:
    """Whether the run came to its end, or a sealed budget stopped it."""
    ended, cost = analysis.integrity.ended, analysis.cost
    found = PASS if ended == COMPLETE else FAIL if ended in STOPS else UNKNOWN
    sentence = {
        PASS: "The run came to its end; no budget stopped it.",
        FAIL: "The run was stopped by its sealed budget of calls, tokens, dollars or "
        "time, so what was planned after that was never tried.",
        UNKNOWN: "The run has not come to its end, and may still go on.",
    }[found]
    return Gate(
        verdict.BUDGET,
        found,
        f"last end: {ended or 'none'}; "
        f"{n_of(analysis.integrity.n_starts, 'start')}; "
        f"{cost.all_attempts.n_calls} calls made, at most {cost.max_calls} allowed",
        sentence,
    )


def treatment_arrived(analysis: Analysis) -> Gate:
    """Whether requests show what the arms delivered, and nothing else."""
    n_steps = sum(row.n_steps for row in analysis.treatments)
    n_looked = sum(row.n_looked for row in analysis.treatments)
    n_stray = len(analysis.strays)
    found = FAIL if n_stray else PASS if 0 < n_looked == n_steps else UNKNOWN
    sentence = {
        PASS: "The model was told of every skill that its arm offers and of no other, "
        "and all text put into a prompt reached it.",
        FAIL: "In some steps the model was told of other skills than its arm offers, "
        "or text put into a prompt did not reach it.",
        UNKNOWN: f"What arrived is not known of every step: {_why_unseen(analysis)}.",
    }[found]
    return Gate(
        verdict.ARRIVED,
        found,
        f"{n_looked} of {n_steps} steps looked at, {n_stray or 'none'} otherwise than "
        f"delivered",
        sentence,
    )


def _why_unseen(analysis: Analysis) -> str:
    """Why nobody saw in every step what the model was told."""
    seals = analysis.seals
    if not any(row.n_steps for row in analysis.treatments):
        return "no step was analysed"
    if seals.access is None:
        return "the agent calls no model, so there are no requests to look at"
    if seals.access is Access.DIRECT:
        return "the way to the model leaves the gateway out, so nobody saw its requests"
    if seals.agent == UNKNOWN_LISTS:
        return (
            "requests passed the gateway, but in what words this program tells its model "
            "of skills is not known here"
        )
    return "in some steps no request passed the gateway"


def usage_complete(analysis: Analysis) -> Gate:
    """Whether every analysed trial reports all it used, and reporters agree."""
    n = sum(row.n_trials for row in analysis.usage)
    n_reported = sum(row.n_reported for row in analysis.usage)
    n_unknown = sum(row.n_unknown_requests or 0 for row in analysis.usage)
    found = UNKNOWN if not n else FAIL if n_reported < n or n_unknown else PASS
    sentence = {
        PASS: "Of every trial it is known what it used.",
        FAIL: "Of some trials it is not known, or not fully, what they used.",
        UNKNOWN: "No trial was analysed, so there is no usage to be known.",
    }[found]
    differing = [f"{row.trial}, {row.step}" for row in analysis.disagreements]
    if differing:
        sentence += (
            " Where reporters differ the most trustworthy one is believed, and both "
            "numbers are listed."
        )
    more = "; ..." if len(differing) > MAX_NAMED else ""
    named = f" ({'; '.join(differing[:MAX_NAMED])}{more})" if differing else ""
    sources = listed(dict.fromkeys(s for row in analysis.usage for s in row.sources))
    return Gate(
        verdict.USAGE,
        found,
        f"{k_of(n_reported, n)} trials report usage (by {sources}), "
        f"{n_of(n_unknown, 'request')} of unknown usage, reporters differ in "
        f"{n_of(len(differing), 'step')}{named}",
        sentence,
    )
