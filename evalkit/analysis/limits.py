"""What the numbers of an analysis cannot say, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from evalkit.conclusions import ONE_ARM, Analysis
from evalkit.records import Access

GATEWAY = "gateway"
"""The reporter of usage that an agent cannot write to."""


def with_limits(analysis: Analysis) -> Analysis:
    """The analysis with the limits that its own numbers show."""
    found = (*_of_design(analysis), *_of_data(analysis), *_of_record(analysis))
    return msgspec.structs.replace(analysis, limits=found)


def _of_design(analysis: Analysis) -> Iterator[str]:
    design = analysis.design
    if analysis.warning:
        yield analysis.warning
    yield (
        f"The numbers are about {_count(design.n_cases, 'task')} only. "
        f"What holds for other tasks cannot be read from them."
    )
    if len(design.arms) < 2:
        yield ONE_ARM
    elif not analysis.contrasts:
        missing = " or ".join(design.comparators)
        yield f"No arm is named {missing}, so no arm is compared with another."
    n_compared = len({(c.arm, c.comparator) for c in analysis.contrasts})
    if n_compared > 1:
        n_declared = sum(contrast.confirmatory for contrast in analysis.contrasts)
        yield (
            f"{n_compared} pairs of arms are compared on several measures. Only "
            f"{_count(n_declared, 'declared comparison')} of {design.outcome} can claim "
            f"anything, corrected for that number; of all others some look clear by "
            f"chance."
        )
    if design.imbalance > 1:
        yield (
            f"The order of arms is not balanced: counts of places or neighbours "
            f"differ by up to {design.imbalance}."
        )


def _of_data(analysis: Analysis) -> Iterator[str]:
    design = analysis.design
    n_lost = design.n_blocks - design.n_complete
    if n_lost:
        yield (
            f"{n_lost} of {design.n_blocks} blocks are left out of every comparison, "
            f"because one of their trials has no result."
        )
    for arm in analysis.flow:
        if arm.agent_limit:
            yield (
                f"{arm.arm}: {_count(arm.agent_limit, 'trial')} met a limit of the "
                f"agent, graded as delivered, with time and tokens cut short."
            )
        if arm.grader_died:
            died = _count(arm.grader_died, "trial")
            yield f"{arm.arm}: {died} scored 0 because the grader died."
    n_trials = sum(report.n_trials for report in analysis.usage)
    n_reported = sum(report.n_reported for report in analysis.usage)
    if n_reported < n_trials:
        yield f"{n_trials - n_reported} of {n_trials} trials lack a report of their usage."
    sources = {source for report in analysis.usage for source in report.sources}
    if sources - {GATEWAY}:
        yield "Tokens are as the agent's own records tell them; nothing else counted."
    n_unknown = sum(report.n_unknown_requests or 0 for report in analysis.usage)
    if n_unknown:
        yield (
            f"Nobody told what {_count(n_unknown, 'request')} used: tokens and dollars "
            f"of their arms are lower bounds."
        )
    if analysis.strays:
        yield (
            f"In {_count(len(analysis.strays), 'step')} the agent's requests show another "
            f"treatment than its arm delivered."
        )


def _of_record(analysis: Analysis) -> Iterator[str]:
    if analysis.integrity.ended != "complete":
        yield (
            f"The run is not complete (last: {analysis.integrity.ended or 'no end'}); "
            f"numbers may still change."
        )
    if analysis.seals.access is Access.DIRECT:
        yield (
            "The agent reached its model directly, which is weaker than through the "
            "gateway: its tools could read the credential, and usage is the agent's "
            "own account."
        )
    if analysis.seals.isolation == "none":
        yield "Agent and delivered programs ran without a sandbox."
    if analysis.deviations:
        listed = _count(len(analysis.deviations), "deviation")
        yield f"What was done is not all as registered: {listed} in the list."


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"
