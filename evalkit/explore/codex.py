"""Rows of Codex, of its stream or of a rollout, taken apart into items."""

from __future__ import annotations

from typing import Any

import msgspec

from evalkit.explore.claude import said
from evalkit.explore.given import CHANGES, PATCH_TOOL, edits_of, patch_in
from evalkit.explore.items import Facet, Part
from evalkit.explore.values import value
from evalkit.transcript import codex
from evalkit.transcript.codex import Item, Payload, Row

_SAID = {
    "agent_message": Facet.ASSISTANT,
    "reasoning": Facet.THINKING,
    "error": Facet.ERROR,
    "file_change": Facet.CALL | Facet.EDIT,
    "mcp_tool_call": Facet.CALL,
    "web_search": Facet.CALL,
    "todo_list": Facet.SYSTEM,
}
_ROLES = {"assistant": Facet.ASSISTANT, "user": Facet.USER}
FAILURES = frozenset({"error", "stream_error", "turn_aborted"})
PATCHES = frozenset({"patch_apply_begin", "patch_apply_end"})
"""Rows that tell what a patch changes, beside the call that holds it."""
INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
"""How messages begin that stand as the user's and come from the CLI."""


def parts(row: Row) -> list[Part]:
    """The items of a row, one at least."""
    if row.item is not None:
        return _of_item(row.type, row.item)
    if row.payload is not None:
        return [_of_payload(row.type, row.payload)]
    if row.type in {"error", "turn.failed"}:
        return [Part(Facet.ERROR | Facet.SYSTEM)]
    return [Part(Facet.SYSTEM if row.type in codex.KNOWN_TYPES else Facet.UNKNOWN)]


def fields(row: Row, part: Part) -> dict[str, Any]:
    """What an item tells of a part of a row, beside its place and its usage."""
    found: dict[str, Any] = {
        "row": row.type,
        "time": row.timestamp,
        "is_error": bool(part.facets & Facet.ERROR),
    }
    if row.item is not None:
        return found | _told(row.item, part)
    if row.payload is not None:
        inner = f"/{row.payload.type}" if row.payload.type else ""
        return found | {"row": f"{row.type}{inner}"} | _kept(row.payload, part)
    return found | {"text": (row.error.message if row.error else row.message) or ""}


def _of_item(name: str, item: Item) -> list[Part]:
    if name != "item.completed":
        return [Part(Facet.SYSTEM)]
    if item.type == "command_execution":
        failed = item.exit_code != 0 or item.status == "failed"
        error = Facet.ERROR if failed else 0
        return [Part(Facet.CALL, "call"), Part(Facet.RESULT | error)]
    error = Facet.ERROR if item.status in {"failed", "declined"} else 0
    return [Part(_SAID.get(item.type, Facet.UNKNOWN) | error)]


def _of_payload(name: str, payload: Payload) -> Part:
    if name == "response_item":
        return Part(_of_response(payload))
    if name == "compacted":
        return Part(Facet.SUMMARY)
    if name == "event_msg" and payload.type in FAILURES:
        return Part(Facet.ERROR | Facet.SYSTEM)
    return Part(Facet.SYSTEM if name in codex.KNOWN_TYPES else Facet.UNKNOWN)


def _of_response(payload: Payload) -> int:
    kind = payload.type or ""
    if kind == "message":
        injected = _texts(payload.content).startswith(INJECTED)
        role = _ROLES.get(payload.role or "", Facet.SYSTEM)
        return Facet.SYSTEM if injected else role
    if kind == "reasoning":
        return Facet.THINKING
    if kind.endswith("_call"):
        edits = (
            payload.name == PATCH_TOOL
            or patch_in(_given(_told_to(payload))) is not None
        )
        return Facet.CALL | (Facet.EDIT if edits else 0)
    return Facet.RESULT if kind.endswith("_output") else Facet.UNKNOWN


def _told(item: Item, part: Part) -> dict[str, Any]:
    if part.facets & Facet.RESULT:
        return {"text": item.aggregated_output or "", "tool_use_id": item.id}
    if part.content == "call":
        given = {"command": item.command}
        return {
            "text": msgspec.json.encode(given).decode(),
            "input": given,
            "tool": "shell",
            "tool_use_id": item.id,
        }
    if part.facets & Facet.CALL:
        return _called(item)
    return {"text": item.text or item.message or item.command or ""}


def _called(item: Item) -> dict[str, Any]:
    """A call that the stream tells with what came of it, or without."""
    given: dict[str, Any] = {}
    if item.type == CHANGES:
        changes = value(item.changes)
        paths = [one.get("path") for one in changes] if _are_rows(changes) else changes
        given = {"path": ", ".join(map(str, paths or ())), "changes": changes}
    elif item.query is not None:
        given = {"query": item.query}
    else:
        given = {"arguments": _given(value(item.arguments))}
    names = [str(name) for name in (item.server, item.tool) if name]
    return {
        "text": msgspec.json.encode(given).decode(),
        "input": given,
        "tool": ".".join(names) or item.type,
        "tool_use_id": item.id,
    }


def _are_rows(changes: Any) -> bool:
    return isinstance(changes, list) and all(isinstance(c, dict) for c in changes)


def _kept(payload: Payload, part: Part) -> dict[str, Any]:
    if part.facets & Facet.CALL:
        told = _told_to(payload)
        return {
            "text": said(told),
            "input": _given(told),
            "tool": payload.name or payload.type,
            "tool_use_id": payload.call_id,
        }
    if part.facets & Facet.RESULT:
        text = said(value(payload.output))
        return {"text": text, "tool_use_id": payload.call_id}
    if payload.type in PATCHES:
        return {"text": _patched(value(payload.changes))}
    for raw in (payload.content, payload.summary, payload.message):
        text = _texts(raw)
        if text:
            return {"text": text}
    return {"text": ""}


def _told_to(payload: Payload) -> Any:
    """What a tool was given, as it stands in the row."""
    found = value(payload.arguments) or value(payload.input)
    return found or value(payload.action)


def _patched(changes: Any) -> str:
    """What a patch came to, file by file."""
    parts: list[str] = []
    for edit in edits_of(CHANGES, {"changes": changes}):
        parts += [f"{edit.path}: {edit.note}", *(edit.lines or ())]
    return "\n".join(parts)


def _texts(raw: msgspec.Raw) -> str:
    found = value(raw)
    return said(found) if found else ""


def _given(found: Any) -> Any:
    """Arguments are JSON inside a text."""
    return value(found) if isinstance(found, str) else found
