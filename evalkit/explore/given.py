"""What a tool was given: what it is about, and the edits it makes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from evalkit.explore.diff import diff_lines

_TELLING = (
    "file_path", "notebook_path", "command", "cmd", "skill", "pattern", "query",
    "path", "url",
)  # fmt: skip
"""Arguments that tell what a call is about, the one that tells most first."""
_PATCH = re.compile(
    r"(?:(?:\S*sh -l?c )?['\"]?apply_patch\b[^\n]*?)?\s*"
    r"(\*\*\* Begin Patch\n.*?\*\*\* End Patch)\s*\S{0,20}\s*",
    re.DOTALL,
)
"""A patch in Codex's form, as a shell may be given it, with nothing beside it."""
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
PATCH_TOOL, CHANGES = "apply_patch", "file_change"
"""Codex's tool that edits, and its word for what that came to."""
_HOLDERS = ("command", "cmd", "input", "patch")
"""Arguments that may hold a patch."""
WHOLE = "writes the whole file; the call does not tell what was there before"
CELL = "writes a cell; the call does not tell what was there before"
PATCH = "a patch, as it was given"
EVERYWHERE = "wherever it stands"
NAMED = "its lines are not told"


class Edit(NamedTuple):
    """What a call changes in a file; `old` is empty where it tells nothing of before.

    `new` is a patch where `is_patch`; None: it names the file, and none of its lines.
    """

    path: str
    old: str
    new: str | None
    note: str = ""
    is_patch: bool = False

    @property
    def lines(self) -> list[str] | None:
        """The lines to show of it."""
        if self.new is None:
            return None
        return (
            self.new.splitlines() if self.is_patch else diff_lines(self.old, self.new)
        )


def main_argument(given: Any) -> str:
    """The argument that tells most of what a tool was given; empty where none does.

    Of a patch the files that it changes.
    """
    patch = patch_in(given)
    files = _PATCHED.findall(patch or "")
    if files:
        return ", ".join(files)
    if isinstance(given, str):
        return given
    for name in _TELLING if isinstance(given, dict) else ():
        told = _joined(given.get(name))
        if told:
            return told
    return str(given.get("description") or "") if isinstance(given, dict) else ""


def patch_in(given: Any) -> str | None:
    """The patch that a tool was given, if it was given nothing else."""
    if isinstance(given, dict):
        given = next((given[name] for name in _HOLDERS if name in given), None)
    found = _PATCH.fullmatch(_joined(given))
    return found[1] if found else None


def edits_of(tool: str | None, given: Any) -> list[Edit]:
    """The edits of a call; none where it makes none, or not as we know them."""
    patch = patch_in(given)
    if patch is not None:
        return [Edit("", "", patch, PATCH, is_patch=True)]
    if tool == PATCH_TOOL:
        patch = given.get("input") or given.get("patch") if _is_table(given) else given
        whole = isinstance(patch, str) and patch
        return [Edit("", "", patch, PATCH, is_patch=True)] if whole else []
    if not _is_table(given):
        return []
    if tool == CHANGES:
        return [*_changed(given.get("changes"))]
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


def _changed(changes: Any) -> Iterator[Edit]:
    """Edits as Codex tells them afterwards: a list of files, or by their paths."""
    if isinstance(changes, dict):
        changes = [{"path": path, **_plain(change)} for path, change in changes.items()]
    for one in changes if isinstance(changes, list) else ():
        if isinstance(one, dict) and isinstance(one.get("path"), str):
            yield _change(one["path"], {**one, **_plain(one.get("kind"))})


def _plain(change: Any) -> dict[str, Any]:
    """A change with its word as `kind`, which older ones make the name of the rest."""
    if not isinstance(change, dict):
        return {"kind": change}
    if "type" in change:
        return {**change, "kind": change["type"]}
    word, inside = next(iter(change.items()), (None, None))
    return {**(inside if isinstance(inside, dict) else {}), "kind": word}


def _change(path: str, told: dict[str, Any]) -> Edit:
    moved = told.get("move_path")
    word = str(told.get("kind") or "changed")
    note = f"{word}, moved to {moved}" if moved else word
    patch = told.get("unified_diff") or told.get("diff")
    if isinstance(patch, str):
        return Edit(path, "", patch, note, is_patch=True)
    content = told.get("content")
    if isinstance(content, str):
        return Edit(path, "", content, note)
    return Edit(path, "", None, f"{note}; {NAMED}")


def _is_whole(edit: tuple[Any, ...]) -> bool:
    return all(isinstance(text, str) for text in edit[:4])


def _joined(told: Any) -> str:
    if isinstance(told, list):
        return " ".join(map(str, told))
    return told if isinstance(told, str) else ""


def _replaced(path: str, given: Any) -> Edit:
    if not _is_table(given):
        return Edit(path, "", None)  # pyright: ignore[reportArgumentType] - refused by who asks
    note = EVERYWHERE if given.get("replace_all") is True else ""
    return Edit(path, given.get("old_string"), given.get("new_string"), note)


def _is_table(given: Any) -> bool:
    return isinstance(given, dict)
