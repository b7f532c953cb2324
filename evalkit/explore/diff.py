"""Edits as what they change, line by line."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any, NamedTuple

from evalkit.markup import escape

MAX_LINES = 3000
"""Lines of a side that are aligned; longer sides stand whole, one after the other."""
_KINDS = {"+": "added", "-": "removed", "@": "place", "*": "place"}


class Edit(NamedTuple):
    """What a call changes in a file; `old` is empty where it tells nothing of before."""

    path: str
    old: str
    new: str
    note: str = ""


def edits_of(tool: str | None, given: Any) -> list[Edit]:
    """The edits of a call; none where it makes none, or not as we know them."""
    if tool == "apply_patch":
        patch = given.get("input") or given.get("patch") if _is(given) else given
        return [Edit("", "", patch, PATCH)] if isinstance(patch, str) else []
    if not _is(given):
        return []
    path = given.get("file_path") or given.get("notebook_path") or ""
    if tool == "Write":
        found = [Edit(path, "", given.get("content"), WHOLE)]
    elif tool == "NotebookEdit":
        found = [Edit(path, "", given.get("new_source"), CELL)]
    elif tool == "Edit":
        found = [_replaced(path, given)]
    elif tool == "MultiEdit":
        listed = given.get("edits")
        steps = listed if isinstance(listed, list) else [None]
        found = [_replaced(path, one) for one in steps]
    else:
        return []
    return found if all(map(_is_whole, found)) else []


def _is_whole(edit: tuple[Any, ...]) -> bool:
    return all(isinstance(text, str) for text in edit)


WHOLE = "writes the whole file; the call does not tell what was there before"
CELL = "writes a cell; the call does not tell what was there before"
PATCH = "a patch, as it was given"
EVERYWHERE = "wherever it stands"


def diff_lines(old: str, new: str) -> list[str]:
    """A unified diff without the names of its sides."""
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > MAX_LINES:
        return [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    return list(unified_diff(before, after, lineterm=""))[2:]


def patch_lines(edit: Edit) -> list[str]:
    """The lines to show of an edit."""
    if edit.note == PATCH:
        return edit.new.splitlines()
    return diff_lines(edit.old, edit.new)


def diff_html(lines: list[str]) -> str:
    """The inside of a `pre`: added and removed lines begin with + and -."""
    return "".join(f"{_line(line)}\n" for line in lines)


def _line(line: str) -> str:
    kind = _KINDS.get(line[:1])
    shown = escape(line)
    return f'<span class="{kind}">{shown}</span>' if kind else shown


def _replaced(path: str, given: Any) -> Edit:
    if not _is(given):
        return Edit(path, "", None)  # pyright: ignore[reportArgumentType] - refused by who asks
    note = EVERYWHERE if given.get("replace_all") is True else ""
    return Edit(path, given.get("old_string"), given.get("new_string"), note)


def _is(given: Any) -> bool:
    return isinstance(given, dict)
