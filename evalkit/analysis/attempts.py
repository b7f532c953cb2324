"""How attempts ended, and which blocks that cost."""

from __future__ import annotations

from evalkit.conclusions import AttemptRow, LostBlock
from evalkit.facts import INTERRUPTED, Attempt, Facts
from evalkit.outcomes import SELECT
from evalkit.records import Call, Outcome, Registration, TrialResult
from evalkit.schedule import blocks_of

NO_RESULT = "no result"
MAX_DETAILS = 3
"""Words for how attempts ended, shown of those that ended alike."""


def attempt_rows(registration: Registration, found: Facts) -> tuple[AttemptRow, ...]:
    """Attempts by what they count as and by how they ended, the most frequent first."""
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in found.attempts:
        outcome = attempt.result.outcome.value if attempt.result else NO_RESULT
        ended, _ = _fact(registration, attempt.result)
        groups.setdefault((outcome, ended), []).append(attempt)
    last = {attempt.key: attempt.attempt for attempt in found.attempts}
    rows = [
        AttemptRow(
            outcome=outcome,
            ended=ended,
            n=len(own),
            n_again=sum(a.attempt != last[a.key] for a in own),
            details=_details(registration, own),
        )
        for (outcome, ended), own in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.n))


def lost_blocks(registration: Registration, found: Facts) -> tuple[LostBlock, ...]:
    """Every block with a trial that has no result, in the order planned."""
    trials = {trial.key: trial for trial in found.trials}
    missing = (
        (block[0], {k.arm: trials[k].status for k in block if not trials[k].counts})
        for block in blocks_of(registration.schedule)
    )
    return tuple(
        LostBlock(first.case, first.repeat, arms) for first, arms in missing if arms
    )


def _fact(registration: Registration, result: TrialResult | None) -> tuple[str, str]:
    """How the call ended by which an attempt counts as what it does, and the detail."""
    if result is None:
        return INTERRUPTED, ""
    for step in result.steps:
        if result.outcome is Outcome.GRADER_DIED and step.grade and step.grade.died:
            return Outcome.GRADER_DIED.value, step.grade.died
    choosing_counts = result.outcome is Outcome.INFRASTRUCTURE
    calls = [
        call
        for step in result.steps
        for call in step.calls
        if call.purpose != SELECT or choosing_counts
    ]
    same = [c for c in calls if registration.outcomes[c.ended] == result.outcome]
    # Of calls that count alike, one that did not simply finish tells more.
    told: list[Call] = sorted(same, key=lambda call: call.ended == "finished")
    return (told[0].ended.value, told[0].detail) if told else (NO_RESULT, result.reason)


def _details(registration: Registration, own: list[Attempt]) -> tuple[str, ...]:
    told = dict.fromkeys(_fact(registration, a.result)[1] for a in own)
    return tuple(text for text in told if text)[:MAX_DETAILS]
