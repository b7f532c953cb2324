"""Where an agent can read the rule of a case: in the prompt, in files, in their names.

Read as people read it: whatever the case of letters, the line breaks, the hyphens,
the marks of comments or of Markdown in between, and the encoding of a file. What is
compressed, or put together by a program only when it runs, is not found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evalkit import files
from evalkit.records import Case

N_QUOTED = 8
"""So many words of the injection in a row are a quotation of it."""
WORD = r"[^\W_]+"
BETWEEN = r"(?:[^\w.!?]|_)"
"""What may stand between two words of a phrase; a sentence does not end there."""
BROKEN = r"(?:-(?:\s*\n[\s#>*/|]*)?)?"
"""A word may have a hyphen, and go on in the next line behind a comment's mark."""
ALIKE = {
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc"), "'"),
}
WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


class _Seen(NamedTuple):
    """A text that an agent sees; a name has no lines."""

    place: str
    text: str
    has_lines: bool = True


def leaks(root: Path, case: Case) -> Iterator[str]:
    """Where the rule stands: `path:line: term`, or the words quoted of the injection."""
    terms = {term: _pattern(term) for term in case.leak_terms if has_word(term)}
    quotations = _quotations(case.injection or "")
    for seen in _all_seen(root, case):
        text = _plain(seen.text)
        found = {
            (match.start(), term): None
            for term, pattern in terms.items()
            for match in pattern.finditer(text)
        }
        for words, pattern in quotations.items():
            if quoted := pattern.search(text):
                found[quoted.start(), f'"{words}"'] = None
                break
        for start, phrase in found:
            line = f":{text.count(chr(10), 0, start) + 1}" if seen.has_lines else ""
            yield f"{seen.place}{line}: {phrase}"


def states(term: str, text: str) -> bool:
    """True where a text has this term."""
    return bool(_pattern(term).search(_plain(text)))


def has_word(term: str) -> bool:
    """True where there is something in a term to look for."""
    return bool(re.search(WORD, term))


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


def _plain(text: str) -> str:
    """A text without differences that a reader passes over; lines stay as they are."""
    alike = unicodedata.normalize("NFKC", text).translate(ALIKE)
    shown = (char for char in alike if unicodedata.category(char) != "Cf")
    return "".join(shown).casefold()


def _pattern(term: str) -> re.Pattern[str]:
    """How a term may be written.

    A space stands for anything between words, a hyphen also for nothing.
    """
    parts = re.split(f"({WORD})", _plain(term.strip()))
    gaps = (_gap(part) for part in parts[::2])
    words = (BROKEN.join(map(re.escape, part)) for part in (*parts[1::2], ""))
    return re.compile(
        "".join(text for pair in zip(gaps, words, strict=True) for text in pair)
    )


def _gap(written: str) -> str:
    if not written:
        return ""
    if written.isspace():
        return f"{BETWEEN}+"
    if not written.strip("-_"):
        return f"{BETWEEN}*"
    return r"\s*".join(map(re.escape, written.split()))


def _quotations(injection: str) -> dict[str, re.Pattern[str]]:
    """Patterns of all so many words in a row, or of all words there are."""
    words = re.findall(WORD, injection)
    n = min(N_QUOTED, len(words))
    rows = (" ".join(words[i : i + n]) for i in range(len(words) - n + 1) if n)
    return {row: _pattern(row) for row in rows}
