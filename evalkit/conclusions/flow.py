"""Who took part: trials and attempts, and what was lost."""

from __future__ import annotations

from evalkit.records import Record


class Exclusion(Record, frozen=True):
    """Trials that did not get from one stage of the flow to the next."""

    after: str
    reason: str
    n: int


class Flow(Record, frozen=True):
    """Trials of one arm: each stage is the one before it less its exclusions.

    `started`: an attempt began; `completed`: an attempt ended; `scored`: it
    counts as a result; `analysed`: its whole block does. Of the analysed,
    `agent_limit` met a limit of the agent and `grader_died` scored zero so.
    """

    arm: str
    planned: int
    started: int
    completed: int
    scored: int
    analysed: int
    exclusions: tuple[Exclusion, ...]
    agent_limit: int
    grader_died: int


class AttemptRow(Record, frozen=True):
    """Attempts of the run that ended alike: what they count as, and the fact behind it.

    `ended` is that of the call which decided, or why there is none. `n_again`:
    another attempt at the trial followed. `details` are some of the words for it.
    """

    outcome: str
    ended: str
    n: int
    n_again: int
    details: tuple[str, ...]


class LostBlock(Record, frozen=True):
    """A block left out of every comparison: what became of its arms without result."""

    case: str
    repeat: int
    missing: dict[str, str]
