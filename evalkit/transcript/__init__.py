"""What an agent said it did, as its own files tell it. Pure.

`claude` reads Claude Code's stream-json and session files, `codex` the lines of
`codex exec --json` and Codex's rollout files, `kinds` tells them apart. All read
line by line; no line is fatal.
"""

from __future__ import annotations

from evalkit.transcript.calls import ModelCall
from evalkit.transcript.claude import End, Session, combine, parse
from evalkit.transcript.rows import Tokens

__all__ = ["End", "ModelCall", "Session", "Tokens", "combine", "parse"]
