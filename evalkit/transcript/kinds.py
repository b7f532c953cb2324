"""Whose transcript a file is, by its first rows. Pure."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

from evalkit.transcript import codex
from evalkit.transcript.lines import FAULTS, decode
from evalkit.transcript.rows import NOTHING


class Kind(StrEnum):
    """The four forms of transcripts that are read."""

    CLAUDE_SESSION = "claude-session"
    CLAUDE_STREAM = "claude-stream-json"
    CODEX_STREAM = "codex-jsonl"
    CODEX_ROLLOUT = "codex-rollout"


class _Head(msgspec.Struct):
    type: Any = None
    session_id: Any = None
    kept_id: Any = msgspec.field(default=None, name="sessionId")
    leaf: Any = msgspec.field(default=None, name="leafUuid")
    snapshot: msgspec.Raw = NOTHING
    message: msgspec.Raw = NOTHING
    payload: msgspec.Raw = NOTHING


_decoder = msgspec.json.Decoder(_Head)
_ROLLOUT = frozenset(name for name in codex.KNOWN_TYPES if "_" in name) | {"compacted"}
_STREAM = codex.KNOWN_TYPES - _ROLLOUT


def recognise(lines: Iterable[bytes]) -> tuple[Kind | None, str]:
    """The kind of the first line that is a row of one; else what the lines hold.

    Args:
        lines: The head of a file; a line may be torn.
    """
    types: dict[str, None] = {}
    n_json = n_lines = 0
    for line in lines:
        if line.isspace():
            continue
        n_lines += 1
        head = _head(line.removeprefix(BOM_UTF8) if n_lines == 1 else line)
        if head is None:
            continue
        n_json += 1
        kind = _kind(head)
        if kind is not None:
            return kind, ""
        if isinstance(head.type, str):
            types[head.type[:40]] = None
    return None, _said(n_lines, n_json, list(types))


def _head(line: bytes) -> _Head | None:
    try:
        return decode(line, _decoder)
    except FAULTS:
        return None


def _kind(head: _Head) -> Kind | None:
    if not isinstance(head.type, str):
        return None
    if _is_object(head.payload):
        return Kind.CODEX_ROLLOUT if head.type in _ROLLOUT else None
    if isinstance(head.session_id, str):
        return Kind.CLAUDE_STREAM if _has_message(head) else None
    kept = isinstance(head.kept_id, str)
    if head.type in _STREAM and not kept:
        return Kind.CODEX_STREAM
    told = kept or isinstance(head.leaf, str) or _is_object(head.snapshot)
    if told or _is_object(head.message):
        return Kind.CLAUDE_SESSION if _has_message(head) else None
    return None


def _has_message(head: _Head) -> bool:
    return head.type not in {"user", "assistant"} or _is_object(head.message)


def _is_object(raw: msgspec.Raw) -> bool:
    return bytes(raw)[:1] == b"{"


def _said(n_lines: int, n_json: int, types: list[str]) -> str:
    if not n_lines:
        return "nothing but blank lines"
    if not n_json:
        return "text whose lines are no JSON objects"
    named = ", ".join(map(repr, types[:5]))
    return f"JSON of another kind ({f'of types {named}' if types else 'without types'})"
