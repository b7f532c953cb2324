"""What the runner and a machine tell each other, as bytes that need no common code."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from evalkit.records import Record, TrialSpec


class Order(Record, frozen=True):
    """One attempt to carry out.

    `bundle` is the digest of what it rests on; `run` tells runs apart that are under
    way at the same time; `at_once` is this attempt's share of the sealed number.
    """

    bundle: str
    run: str
    spec: TrialSpec
    at_once: int | None = None


class Answer(Record, frozen=True, tag_field="is"):
    """Base of what a machine says."""


class Ready(Answer, frozen=True, tag="ready"):
    """All is here as registered. `worker` is its own id, which no later one has."""

    worker: str


class Missing(Answer, frozen=True, tag="missing"):
    """The bundle is not here, or no more; nothing was begun."""


class Fault(StrEnum):
    """Why an order was not carried out."""

    DRIFT = "drift"
    INFRASTRUCTURE = "infrastructure"
    STOPPED = "stopped"
    OTHER = "other"


class Refused(Answer, frozen=True, tag="refused"):
    """An order was not carried out, or not to its end."""

    fault: Fault
    said: str


class Carried(Answer, frozen=True, tag="carried"):
    """An attempt's evidence: a tar of its folder, with its digest.

    `notes` are the lines of its gateway, `recordings` a tar of bodies; both may be
    empty.
    """

    evidence: bytes
    digest: str
    notes: bytes
    recordings: bytes


Answers = Ready | Missing | Refused | Carried


def encode(value: Order | Answers) -> bytes:
    """Either, as bytes."""
    return msgspec.msgpack.encode(value)


def read_order(data: bytes) -> Order:
    """An order from its bytes."""
    return msgspec.msgpack.decode(data, type=Order)


def read_answer(data: bytes) -> Answers:
    """An answer from its bytes."""
    return msgspec.msgpack.decode(data, type=Answers)
