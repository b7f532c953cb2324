"""What a request asks for, and what it tells the model of. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from evalkit.records import Record

HEADINGS = (
    "The following skills are available for use with the Skill tool:",
    "### Available skills",
)
"""What stands before the skills that Claude Code, and Codex, tell a model of."""
_ENTRY = re.compile(r"- (\S+?)(?: \([^)]*\))?(?:: .*)?")
MAX_LISTED = 1_000
MAX_NAME_CHARS = 200
MODELS_OWN = "assistant"
TOOLS_OWN = "tool_result"


class Contents(Record, frozen=True):
    """A request: `listed` and `carried` as in `records.Exchange`.

    Of `listed`, at most `MAX_LISTED` names are kept, each cut to `MAX_NAME_CHARS`;
    where there were more, the last entry is "... and N more".
    """

    model: str
    streamed: bool
    listed: tuple[str, ...]
    carried: tuple[str, ...]


class UnreadableError(Exception):
    """A body is no request for a model; says why."""


def read(body: bytes, marks: Mapping[str, str]) -> Contents:
    """Read the body of a request.

    Args:
        body: JSON, of any of the protocols.
        marks: Texts to look for, by name.

    Raises:
        UnreadableError: It is no JSON object that names a model.
    """
    try:
        return _read(msgspec.json.decode(body), marks)
    except msgspec.DecodeError as error:
        raise UnreadableError(f"the body is no JSON: {error}") from error
    except RecursionError as error:
        raise UnreadableError("the body is nested too deep") from error


def _read(request: Any, marks: Mapping[str, str]) -> Contents:
    model = request.get("model") if isinstance(request, dict) else None
    if not isinstance(model, str):
        raise UnreadableError("the body names no model")
    parts = [request.get(name) for name in ("system", "instructions")]
    parts += [request.get(name) for name in ("messages", "input")]
    texts = list(_texts(parts))
    told = [text for part in parts for text in _told(part)]
    return Contents(
        model=model,
        streamed=request.get("stream") is True,
        listed=_bounded(dict.fromkeys(n for text in told for n in _skills(text))),
        carried=tuple(n for n, mark in marks.items() if any(mark in t for t in texts)),
    )


def _bounded(names: Collection[str]) -> tuple[str, ...]:
    """An agent can list any number of any length; a row has to stay small."""
    kept = tuple(name[:MAX_NAME_CHARS] for name in islice(names, MAX_LISTED))
    n_more = len(names) - len(kept)
    return (*kept, f"... and {n_more:,} more") if n_more else kept


def _texts(value: Any) -> Iterator[str]:
    """Every string in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _told(part: Any) -> Iterator[str]:
    """Texts that somebody other than the model and its tools wrote."""
    if isinstance(part, str):
        yield part
    for item in part if isinstance(part, list) else ():
        if not isinstance(item, dict) or item.get("role") == MODELS_OWN:
            continue
        if item.get("type") == TOOLS_OWN:
            continue
        yield from _told(item.get("content"))
        if isinstance(text := item.get("text"), str):
            yield text


def _skills(text: str) -> Iterator[str]:
    """Names in the lists of skills of a text: `- name: description`, `- name`."""
    for heading in HEADINGS:
        for after in text.split(heading)[1:]:
            for line in _block(after):
                if found := _ENTRY.fullmatch(line):
                    yield found[1]


def _block(after: str) -> Iterator[str]:
    """Entries up to the next heading, closing tag, or paragraph of prose."""
    begun = blank = False
    for line in after.splitlines():
        if line.startswith("- "):
            begun, blank = True, False
            yield line
        elif not line.strip():
            blank = True
        elif begun and (blank or line.startswith(("#", "</"))):
            return
