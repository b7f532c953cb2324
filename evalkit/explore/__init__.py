"""Transcripts to look into: any file of Claude Code or Codex, ours or not.

`account` sums one up; `index` makes one readable page by page, as `items`;
`search` finds in it, `timeline` makes a strip of it; `turns` are what an agent did at
a time, and `pairing` puts those of two trials side by side. They read one row at a
time and change nothing.
"""

from __future__ import annotations

from evalkit.explore.account import Account, account
from evalkit.explore.summary import summary_lines

__all__ = ["Account", "account", "summary_lines"]
