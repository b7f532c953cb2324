"""Which files beside a session are those of its subagents."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalkit.transcript import rows

MAX_FIRST_LINE_BYTES = 2**20


def files_of(path: Path, session: str | None) -> list[Path]:
    """The subagents' files of a session file, in the order of their names.

    The CLI keeps them in `SESSION/subagents/`; earlier ones in the session's own
    folder, where those of other sessions lie too: its first row tells whose it is.

    Args:
        path: The session file; one that is a subagent's own has none.
        session: The session's id, None where its rows tell none.
    """
    if path.name.startswith("agent-"):
        return []
    names = dict.fromkeys(name for name in (path.stem, session) if name)
    kept = [
        file
        for name in names
        if "/" not in name
        for file in (path.parent / name / "subagents").rglob("agent-*.jsonl")
    ]
    strays = path.parent.glob("agent-*.jsonl") if session else ()
    kept += [file for file in strays if _is_of(file, session)]
    found = {file.resolve(): file for file in kept if file.is_file()}
    return sorted(found.values())


def agent_of(path: Path) -> str:
    """The id of the subagent whose file it is."""
    return path.stem.removeprefix("agent-")


def _is_of(file: Path, session: str | None) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        line = opened.readline(MAX_FIRST_LINE_BYTES)
    try:
        return rows.decode_row(line).kept_id == session
    except msgspec.MsgspecError:
        return False
