"""Where an agent can read the rule of a case: in the prompt, in files, in their names.

Read as people read it: whatever the case of letters, the line breaks, the hyphens,
the marks of comments or of Markdown in between, and the encoding of a file. What is
compressed, or put together by a program only when it runs, is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evalkit import files
from evalkit.ambiguity.phrases import Phrases, shown
from evalkit.records import Case

N_QUOTED = 8
"""So many words of the injection in a row are a quotation of it."""
WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


class _Seen(NamedTuple):
    """A text that an agent sees; a name has no lines."""

    place: str
    text: str
    has_lines: bool = True


def leaks(root: Path, case: Case) -> Iterator[str]:
    """Where the rule stands: `path:line: term`, or the words quoted of the injection."""
    terms = Phrases(case.leak_terms)
    quotations = Phrases(_rows(case.injection or ""), across=True)
    for seen in _all_seen(root, case):
        told = dict.fromkeys(terms.find(seen.text))
        if quoted := next(quotations.find(seen.text), None):
            told[quoted._replace(phrase=f'"{quoted.phrase}"')] = None
        for found in told:
            line = f":{found.line}" if seen.has_lines else ""
            yield f"{seen.place}{line}: {found.phrase}"


def states(term: str, text: str) -> bool:
    """True where a text has this term."""
    return any(Phrases([term]).find(text))


def _all_seen(root: Path, case: Case) -> Iterator[_Seen]:
    for step in case.steps:
        yield _Seen(f"prompt of {step.slug}", step.prompt)
    for entry in files.read_tree(root / "cases" / case.id / "fixture"):
        yield _Seen(f"name of fixture/{entry.path}", entry.path, has_lines=False)
        for text in _readings(entry.data):
            yield _Seen(f"fixture/{entry.path}", text)


def _readings(data: bytes) -> Iterator[str]:
    """What the bytes of a file may say."""
    try:
        yield data.decode()
    except UnicodeDecodeError:
        yield data.decode("latin-1")
    if b"\0" in data:
        for encoding in WIDE:
            yield data.decode(encoding, errors="replace")


def _rows(injection: str) -> Iterator[str]:
    """All so many words in a row, or all words there are."""
    words = re.findall(r"[^\W_]+", shown(injection))
    n = min(N_QUOTED, len(words))
    for first in range(len(words) - n + 1 if n else 0):
        yield " ".join(words[first : first + n])
