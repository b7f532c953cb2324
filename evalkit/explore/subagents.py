"""Which files beside a session are those of its subagents."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import msgspec

from evalkit.explore.opening import opened
from evalkit.transcript.lines import FAULTS, decode

MAX_FIRST_LINE_BYTES = 2**20


def files_of(path: Path, session: str | None) -> list[Path]:
    """The subagents' files of a session file, in the order of their names.

    The CLI keeps them in `SESSION/subagents/`; earlier ones in the session's own
    folder, where those of other sessions lie too: its first row tells whose it is.

    Args:
        path: The session file; one that is a subagent's own has none.
        session: The session's id, None where its rows tell none.

    Raises:
        InputError: It cannot be told whose a file is, since it may not be read.
    """
    if path.name.startswith("agent-"):
        return []
    names = dict.fromkeys(name for name in (path.stem, session) if name)
    kept = [
        file
        for name in names
        if "/" not in name
        for file in _below(path.parent / name / "subagents")
    ]
    strays = path.parent.glob("agent-*.jsonl") if session else ()
    kept += [file for file in strays if _is_of(file, session)]
    found = {file.resolve(): file for file in kept if file.is_file()}
    return sorted(found.values())


def agent_of(path: Path) -> str:
    """The id of the subagent whose file it is."""
    return path.stem.removeprefix("agent-")


def _below(folder: Path) -> list[Path]:
    try:
        return [*folder.rglob("agent-*.jsonl")]
    except OSError as error:
        # A session's id is a text of any length; no folder can have such a name.
        if error.errno != errno.ENAMETOOLONG:
            raise
        return []


class _Owned(msgspec.Struct):
    """A row, as far as it tells whose it is."""

    kept_id: Any = msgspec.field(default=None, name="sessionId")


_OWNED = msgspec.json.Decoder[Any](_Owned)


def _is_of(file: Path, session: str | None) -> bool:
    if not file.is_file():
        return False
    with opened(file) as found:
        line = found.readline(MAX_FIRST_LINE_BYTES)
    try:
        return decode(line, _OWNED).kept_id == session
    except FAULTS:
        return False
