"""Rows of Claude Code, taken apart into items."""

from __future__ import annotations

from typing import Any

import msgspec

from evalkit.explore.items import Facet, Image, Part
from evalkit.explore.values import value
from evalkit.transcript import claude, rows
from evalkit.transcript.rows import NOTHING

EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
LAUNCHES = frozenset({"Agent", "Task"})
SKILL_BODY = "Base directory for this skill:"
SUMMARIES = frozenset({"compact_boundary", "microcompact_boundary", "away_summary"})
FAILURES = frozenset({"api_error", "model_refusal_no_fallback", "permission_denied"})


class Block(rows.Block, gc=False):
    """A content block with all that a reader sees."""

    id: str | None = None
    tool_use_id: str | None = None
    content: msgspec.Raw = NOTHING
    source: msgspec.Raw = NOTHING
    is_error: bool | None = None


class Message(rows.Message, gc=False):
    """A message with such blocks."""

    content: str | list[Block] | None = None  # pyright: ignore[reportIncompatibleVariableOverride] - narrower


class Row(rows.Row, gc=False):
    """A line with all that a reader sees."""

    message: Message | str | None = None  # pyright: ignore[reportIncompatibleVariableOverride] - narrower
    timestamp: str | None = None
    agent_id: str | None = msgspec.field(default=None, name="agentId")
    is_meta: bool | None = msgspec.field(default=None, name="isMeta")
    is_synthetic: bool | None = msgspec.field(default=None, name="isSynthetic")
    is_summary: bool | None = msgspec.field(default=None, name="isCompactSummary")
    is_failure: bool | None = msgspec.field(default=None, name="isApiErrorMessage")
    told_failure: bool | None = msgspec.field(default=None, name="is_api_error_message")
    parent_call: str | None = msgspec.field(default=None, name="parentToolUseID")
    level: Any = None
    is_error: Any = None
    content: msgspec.Raw = NOTHING
    result: msgspec.Raw = NOTHING
    summary: msgspec.Raw = NOTHING
    outcome: msgspec.Raw = msgspec.field(default=NOTHING, name="toolUseResult")


class Inner(msgspec.Struct):
    """A row of a subagent inside a row of progress."""

    type: str = ""
    message: Message | str | None = None


class Progress(msgspec.Struct):
    """What a row of progress holds."""

    agent_id: str | None = msgspec.field(default=None, name="agentId")
    message: Inner | str | None = None


class Outcome(msgspec.Struct):
    """The structured result of a call, as far as it names a subagent."""

    agent_id: str | None = msgspec.field(default=None, name="agentId")


decode_progress = msgspec.json.Decoder(Progress).decode
_decode_outcome = msgspec.json.Decoder(Outcome).decode


def parts(row: Row) -> list[Part]:
    """The items of a row, one at least."""
    name = row.type
    if name in {"user", "assistant"}:
        side = row.is_sidechain or row.parent_tool_use_id
        found = _of_message(row, name, row.message, Facet.SUBAGENT if side else 0)
    elif name == "progress":
        inner = progress_of(row).message
        found = (
            _of_message(row, inner.type, inner.message, Facet.SUBAGENT)
            if isinstance(inner, Inner)
            else []
        )
    else:
        found = [Part(_of_row(row))]
    return found or [Part(Facet.SYSTEM)]


def message_of(row: Row) -> Message | None:
    """The message of a row, or that of a subagent inside it."""
    message: Any = row.message
    if row.type == "progress":
        inner = progress_of(row).message
        message = inner.message if isinstance(inner, Inner) else None
    return message if isinstance(message, Message) else None


def progress_of(row: Row) -> Progress:
    """What a row of progress holds; empty where it is nothing we know."""
    if not bytes(row.data).startswith(b"{"):
        return Progress()
    try:
        return decode_progress(row.data)
    except msgspec.MsgspecError:
        return Progress()


def launched(row: Row) -> str | None:
    """Id of the subagent whose end the row tells."""
    raw = bytes(row.outcome)
    if not raw.startswith(b"{") or b'"agentId"' not in raw:
        return None
    try:
        return _decode_outcome(raw).agent_id
    except msgspec.MsgspecError:
        return None


def fields(row: Row, part: Part) -> dict[str, Any]:
    """What an item tells of a part of a row, beside its place and its usage."""
    message = message_of(row)
    subtype = f"/{row.subtype}" if row.subtype else ""
    found: dict[str, Any] = {
        "row": f"{row.type}{subtype}",
        "message_id": message.id if message else None,
        "model": message.model if message else None,
        "parent": _parent(row, part),
        "time": row.timestamp,
    }
    block = part.content
    if isinstance(block, Block):
        return found | _of_block(block)
    text = block if isinstance(block, str) else _text_of(row)
    return found | {"text": text, "is_error": bool(part.facets & Facet.ERROR)}


def _of_message(row: Row, name: str, message: Any, more: int) -> list[Part]:
    if not isinstance(message, Message):
        return [Part(Facet.SYSTEM | more, message)]
    whole = _of_text(row, name, message) | more
    if isinstance(message.content, str):
        return [Part(_skill(whole, message.content), message.content)]
    return [
        Part(_of_kind(block, whole, more), block) for block in message.content or ()
    ]


def _of_text(row: Row, name: str, message: Message) -> int:
    """What plain text in a message is."""
    if row.is_summary:
        return Facet.SUMMARY
    if row.is_failure or row.told_failure:
        return Facet.ERROR
    if name == "assistant":
        made = message.model == claude.SYNTHETIC
        return Facet.SYSTEM if made else Facet.ASSISTANT
    return Facet.SYSTEM if row.is_meta or row.is_synthetic else Facet.USER


def _of_kind(block: Block, whole: int, more: int) -> int:
    name = block.type
    if name == "text":
        return _skill(whole, block.text or "")
    if name in {"image", "document"}:
        return whole
    if name in {"thinking", "redacted_thinking"}:
        return Facet.THINKING | more
    if name == "tool_use" or name.endswith("_tool_use"):
        return Facet.CALL | _of_tool(block.name) | more
    if name == "tool_result" or name.endswith("_tool_result"):
        return Facet.RESULT | (Facet.ERROR if block.is_error else 0) | more
    return Facet.UNKNOWN | more


def _of_tool(name: str | None) -> int:
    if name in EDITS:
        return Facet.EDIT
    if name in LAUNCHES:
        return Facet.LAUNCH
    return Facet.SKILL if name == "Skill" else 0


def _skill(whole: int, text: str) -> int:
    """The text of a skill that a row brings is the CLI's own, even as a user's."""
    if not whole & (Facet.SYSTEM | Facet.USER) or not text.startswith(SKILL_BODY):
        return whole
    return (whole & ~Facet.USER) | Facet.SYSTEM | Facet.SKILL


def _of_row(row: Row) -> int:
    if row.type == "summary" or row.subtype in SUMMARIES:
        return Facet.SUMMARY
    if row.subtype in FAILURES or row.level == "error" or row.is_error is True:
        return Facet.ERROR | Facet.SYSTEM
    return Facet.SYSTEM if row.type in claude.KNOWN_TYPES else Facet.UNKNOWN


def _parent(row: Row, part: Part) -> str | None:
    if not part.facets & Facet.SUBAGENT:
        return None
    agent = progress_of(row).agent_id if row.type == "progress" else row.agent_id
    return row.parent_tool_use_id or row.parent_call or agent


def _of_block(block: Block) -> dict[str, Any]:
    text = block.text or block.thinking or ""
    found: dict[str, Any] = {"text": text, "tool": block.name}
    if block.type.endswith("tool_use"):
        return found | {
            "text": bytes(block.input).decode(),
            "input": value(block.input),
            "tool_use_id": block.id,
        }
    if block.type.endswith("tool_result"):
        inside = value(block.content)
        return found | {
            "text": said(inside),
            "images": tuple(_images(inside)),
            "is_error": bool(block.is_error),
            "tool_use_id": block.tool_use_id,
        }
    if block.type in {"image", "document"}:
        return found | {"images": (_image(value(block.source)),)}
    return found


def said(content: Any) -> str:
    """The text of a result: a text, or the texts of its blocks; else it as JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        texts = [str(part["text"]) for part in parts if "text" in part]
        if texts or any(part.get("type") == "image" for part in parts):
            return "\n".join(texts)
    return msgspec.json.encode(content).decode()


def _images(content: Any) -> list[Image]:
    blocks = content if isinstance(content, list) else []
    found: list[Image] = []
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "image":
            source = block.get("source")
            if isinstance(source, dict):
                found.append(_image(source))
    return found


def _image(source: Any) -> Image:
    told = source if isinstance(source, dict) else {}
    data = str(told.get("data") or "")
    return Image(str(told.get("media_type")), len(data) * 3 // 4)


def _text_of(row: Row) -> str:
    """What a row without a message tells; empty where a reader needs its JSON."""
    for raw in (row.summary, row.result, row.content):
        if raw is not NOTHING and bytes(raw) != b"null":
            return said(value(raw))
    return row.error if isinstance(row.error, str) else ""
