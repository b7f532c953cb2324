"""What a reader sees of a transcript: one record for each thing said or done."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from evalkit.records import Record
from evalkit.transcript import Tokens


class Facet:
    """What an item is, as bits: an error is also a result, an edit also a call.

    `LAUNCH` calls a subagent, `SUBAGENT` was said or done by one. `BAD` is a line
    that is no row.
    """

    USER = 1
    ASSISTANT = 2
    THINKING = 4
    CALL = 8
    RESULT = 16
    ERROR = 32
    SUBAGENT = 64
    LAUNCH = 128
    SKILL = 256
    EDIT = 512
    SUMMARY = 1024
    SYSTEM = 2048
    UNKNOWN = 4096
    BAD = 8192


class ItemKind(StrEnum):
    """The one word for an item."""

    USER = "user"
    ASSISTANT = "assistant"
    THINKING = "thinking"
    CALL = "tool call"
    RESULT = "result"
    ERROR = "error"
    SUBAGENT = "sub-agent"
    SKILL = "skill"
    SUMMARY = "summary"
    SYSTEM = "system"
    UNKNOWN = "unknown"


FILTERS = {
    "user": Facet.USER,
    "assistant": Facet.ASSISTANT,
    "thinking": Facet.THINKING,
    "tool call": Facet.CALL,
    "result": Facet.RESULT,
    "error": Facet.ERROR,
    "sub-agent": Facet.SUBAGENT | Facet.LAUNCH,
    "skill": Facet.SKILL,
    "edit": Facet.EDIT,
    "summary": Facet.SUMMARY,
    "system": Facet.SYSTEM,
    "unknown": Facet.UNKNOWN,
}
"""What can be filtered by, and the facets that each lets through."""

_ORDER = (
    (Facet.LAUNCH, ItemKind.SUBAGENT),
    (Facet.SKILL, ItemKind.SKILL),
    (Facet.CALL, ItemKind.CALL),
    (Facet.RESULT, ItemKind.RESULT),
    (Facet.ERROR, ItemKind.ERROR),
    (Facet.THINKING, ItemKind.THINKING),
    (Facet.ASSISTANT, ItemKind.ASSISTANT),
    (Facet.USER, ItemKind.USER),
    (Facet.SUMMARY, ItemKind.SUMMARY),
    (Facet.SYSTEM, ItemKind.SYSTEM),
)


class Image(Record, frozen=True):
    """A picture in an item: what kind, and how many bytes it has decoded."""

    media_type: str
    n_bytes: int


class Item(Record, frozen=True):
    """One thing said or done.

    Args:
        n: Its number in the transcript, from 0.
        kind: What it is.
        facets: All that it is, as `Facet` bits.
        line: Number of its line in its file, from 1.
        agent: Id of the subagent whose file the line is in; None: the main file.
        row: Type of the line's row, with its subtype after a slash.
        text: What was said; of a call the input as JSON, of a result the output, of
            a row that says nothing its line.
        tool: Name of the tool, of calls.
        tool_use_id: What ties a result to its call.
        input: What a tool was given.
        is_error: True where a result or a row says so.
        is_raw: True where `text` is the line as it stands.
        images: Pictures in it.
        message_id: Of the request it belongs to.
        model: Who said it.
        parent: The call that a subagent's item hangs on, or the subagent's id.
        time: When, as the row says it.
        usage: Of its request, at the request's first item only.
        final: False where `usage` counts the start of the output only.
        cumulative: Usage of all requests up to this item.
    """

    n: int
    kind: ItemKind
    facets: int
    line: int
    agent: str | None
    row: str
    text: str
    tool: str | None = None
    tool_use_id: str | None = None
    input: Any = None
    is_error: bool = False
    is_raw: bool = False
    images: tuple[Image, ...] = ()
    message_id: str | None = None
    model: str | None = None
    parent: str | None = None
    time: str | None = None
    usage: Tokens | None = None
    final: bool = True
    cumulative: Tokens = Tokens(0, 0, 0, 0, 0)


class Part(NamedTuple):
    """A piece of a row that is an item by itself, and what is in it."""

    facets: int
    content: Any = None


def kind_of(facets: int) -> ItemKind:
    """The one word for what has these facets."""
    for facet, kind in _ORDER:
        if facets & facet:
            return kind
    return ItemKind.UNKNOWN
