"""What counts as what: the table from `ended`, a fact, to `outcome`, a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evalkit.records import Ended, Outcome, Step, StepResult

TASK, SELECT = "task", "select"
"""What a call is for: to carry out the step, or only to choose a skill for it."""
RETRY_GROWTH = 4
"""How much longer each further pause is, before a trial is tried again."""
MAX_ATTEMPTS = 3
"""Attempts at one trial before its block is excluded."""

TABLE: dict[Ended, Outcome] = {
    Ended.FINISHED: Outcome.SCORED,
    Ended.AGENT_ERROR: Outcome.SCORED,
    Ended.REFUSED: Outcome.SCORED,
    Ended.TIMED_OUT: Outcome.AGENT_LIMIT,
    Ended.AGENT_LIMIT: Outcome.AGENT_LIMIT,
    Ended.PROVIDER_FAULT: Outcome.INFRASTRUCTURE,
    Ended.LOGIN_FAILED: Outcome.INFRASTRUCTURE,
    Ended.MODEL_MISSING: Outcome.INFRASTRUCTURE,
    Ended.SANDBOX_FAULT: Outcome.INFRASTRUCTURE,
    Ended.INTERRUPTED: Outcome.INFRASTRUCTURE,
    Ended.DEPARTED: Outcome.INFRASTRUCTURE,
}
STOPS_RUN = frozenset({Ended.LOGIN_FAILED, Ended.MODEL_MISSING, Ended.SANDBOX_FAULT})
"""Facts that would repeat for every trial, so the run stops at once."""

_GRAVITY = (
    Outcome.INFRASTRUCTURE,
    Outcome.GRADER_DIED,
    Outcome.AGENT_LIMIT,
    Outcome.SCORED,
)


def registered_table() -> dict[str, str]:
    """The table as it is sealed in a registration."""
    return {ended.value: outcome.value for ended, outcome in TABLE.items()}


def outcome_of(
    steps: Sequence[StepResult], table: Mapping[str, str]
) -> tuple[Outcome, str]:
    """The gravest outcome among a trial's steps, and the fact behind it."""
    found = [(Outcome.SCORED, "every call finished and was graded")]
    for step in steps:
        for call in step.calls:
            outcome = Outcome(table[call.ended.value])
            if call.purpose == SELECT and outcome is not Outcome.INFRASTRUCTURE:
                continue  # whatever it chose, or not, the task went on without it
            detail = f": {call.detail}" if call.detail else ""
            found.append((outcome, f"{step.slug}: {call.ended.value}{detail}"))
        if step.grade is not None and step.grade.died is not None:
            found.append((Outcome.GRADER_DIED, f"{step.slug}: {step.grade.died}"))
    return min(found, key=lambda pair: _GRAVITY.index(pair[0]))


def goes_on(
    result: StepResult, step: Step, score: float, table: Mapping[str, str]
) -> bool:
    """True where a chain goes on after this step, given its score."""
    outcome, _ = outcome_of([result], table)
    if outcome is not Outcome.SCORED or result.calls[-1].ended is not Ended.FINISHED:
        return False
    return step.min_score is None or score >= step.min_score
