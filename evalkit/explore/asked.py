"""What a browser may ask of a session, checked before anything is done with it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from evalkit.errors import InputError

Id = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
Number = Annotated[int, msgspec.Meta(ge=-1, le=2**40)]
Words = Annotated[str, msgspec.Meta(max_length=4096)]
Names = Annotated[tuple[Words, ...], msgspec.Meta(max_length=64)]


class Asked(
    msgspec.Struct,
    frozen=True,
    tag_field="ask",
    tag=str.lower,
    kw_only=True,
    forbid_unknown_fields=True,
):
    """A question; its answer carries the same `id`."""

    id: Id


class Hello(Asked, frozen=True):
    """What is there, and what to begin with?"""


class Run(Asked, frozen=True):
    """Which trials has a run?"""

    run: Words


class Trial(Asked, frozen=True):
    """What became of an attempt, and which transcripts has it?"""

    run: Words
    key: Words
    attempt: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Open(Asked, frozen=True):
    """A transcript of an attempt, by its name."""

    run: Words
    key: Words
    attempt: Annotated[int, msgspec.Meta(ge=1)]
    transcript: Words


class File(Asked, frozen=True):
    """A transcript by its path."""

    path: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]


class OfView(Asked, frozen=True):
    """A question about a transcript that was opened."""

    view: Natural


class Choose(OfView, frozen=True):
    """Show only some kinds; where does item `n` stand then?"""

    names: Names
    n: Natural = 0


class Page(OfView, frozen=True):
    """A page of what is shown."""

    page: Natural


class Whole(OfView, frozen=True):
    """One item, as far as it is ever told."""

    n: Natural


class Jump(OfView, frozen=True):
    """The next item of a kind after item `n`, or before it; -1 is before the first."""

    name: Words
    n: Number
    back: bool = False


class Place(OfView, frozen=True):
    """Where item `n` stands among those shown."""

    n: Natural


class Find(OfView, frozen=True):
    """Begin a search; `More` goes on with it."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    regex: bool = False
    case: bool = False


class More(OfView, frozen=True):
    """What a search finds further on."""


class Strip(OfView, frozen=True):
    """All of a transcript in so many buckets that a strip can show it."""


class Beside(OfView, frozen=True):
    """What stands beside a transcript."""

    what: Words


class Pair(Asked, frozen=True):
    """A trial, and another arm of its block beside it."""

    run: Words
    key: Words
    other: Words
    attempt: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Rows(Asked, frozen=True):
    """A page of the two trials that are compared."""

    pair: Natural
    part: Natural
    page: Natural


class Redact(Asked, frozen=True):
    """Whether secrets are taken out from now on."""

    on: bool


Question = (
    Hello
    | Run
    | Trial
    | Open
    | File
    | Choose
    | Page
    | Whole
    | Jump
    | Place
    | Find
    | More
    | Strip
    | Beside
    | Redact
    | Pair
    | Rows
)


def read_question(content: Any) -> Question:
    """The question that a message is.

    Raises:
        InputError: It is none.
    """
    try:
        return msgspec.convert(content, Question, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(
            "message of the explorer",
            expected="a question that it knows",
            found=str(error),
            cure="reload the page, so that its script is that of this kernel",
        ) from error


def id_of(content: Any) -> str | None:
    """The id that an answer to a message should carry, even if it is no question."""
    given = content.get("id") if isinstance(content, dict) else None
    return given if isinstance(given, str) and len(given) <= 64 else None
