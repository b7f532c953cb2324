"""What reached the agent: skills offered and used."""

from __future__ import annotations

from enum import StrEnum

from evalkit.conclusions.scores import Proportion
from evalkit.records import Record

UNKNOWN_LISTS = "command"
"""The agent that may tell its model of skills in words that nobody here knows."""


class Received(StrEnum):
    """What reached a trial of an arm's context, from the weakest to the strongest."""

    NOTHING = "nothing"
    OFFERED = "offered only"
    PICKED = "text in the prompt"
    INVOKED = "skill invoked"
    READ = "skill file read"


class TreatmentRow(Record, frozen=True):
    """What reached the agent in one arm, over the steps its trials reached.

    In `n_looked` of them a gateway saw what the model was told. Steps that skills
    were laid at home for are `n_offered`, those that text was put into the prompt
    for `n_injected`; `n_listed` and `n_carried` are those of them whose requests
    told of all these skills, and held all that text (None where nobody looked).
    """

    arm: str
    n_steps: int
    n_looked: int
    n_offered: int
    n_listed: int | None
    n_injected: int
    n_carried: int | None
    n_invoked: int
    n_read: int
    skills_invoked: dict[str, int]


class Stray(Record, frozen=True):
    """A step whose requests show another treatment than was delivered.

    `not_listed`: skills at home that no request told of; `not_carried`: text put into
    the prompt that no request held; `not_offered`: skills that a request told of
    although the arm did not give them.
    """

    trial: str
    step: str
    not_listed: tuple[str, ...]
    not_carried: tuple[str, ...]
    not_offered: tuple[str, ...]


class ReceivedRow(Record, frozen=True):
    """Trials of one arm by the strongest treatment that reached them. Not randomised.

    In `n_looked` of them a gateway saw what the model was told; in the others what
    was delivered is taken to have reached it. `uses_seen` is False where the agent
    leaves no record of skills it invoked or read. `score` is the mean over trials.
    """

    arm: str
    received: Received
    n: int
    n_looked: int
    uses_seen: bool
    score: float | None
    passed: Proportion


class SharedSkills(Record, frozen=True):
    """Two arms with whole libraries from different sources, skill by skill.

    `same` to the byte, `changed` under one name, or only in one of them.
    """

    arm: str
    other: str
    source: str | None
    other_source: str | None
    same: tuple[str, ...]
    changed: tuple[str, ...]
    only_arm: tuple[str, ...]
    only_other: tuple[str, ...]
    sentence: str
