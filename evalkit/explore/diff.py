"""Two texts, or a patch, line by line."""

from __future__ import annotations

from difflib import unified_diff

from evalkit.markup import escape

MAX_LINES = 3000
"""Lines of a side that are aligned; longer sides stand whole, one after the other."""
_KINDS = {"+": "added", "-": "removed", "@": "place", "*": "place"}


def diff_lines(old: str, new: str) -> list[str]:
    """A unified diff without the names of its sides."""
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > MAX_LINES:
        return [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    return list(unified_diff(before, after, lineterm=""))[2:]


def diff_html(lines: list[str]) -> str:
    """The inside of a `pre`: added and removed lines begin with + and -."""
    return "".join(f"{_line(line)}\n" for line in lines)


def _line(line: str) -> str:
    kind = _KINDS.get(line[:1])
    shown = escape(line)
    return f'<span class="{kind}">{shown}</span>' if kind else shown
