"""Secrets in what leaves the machine, each replaced by what kind it was.

A replaced secret leaves the names around it, so that a reader sees what was there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from detect_secrets.filters import heuristic
from detect_secrets.plugins.keyword import KeywordDetector

from evalkit.explore.secret_forms import NAMES, PRIVATE_KEY, forms

WINDOW = 4096
"""Characters of a line that are looked at together; detectors are slow on more."""
OVERLAP = 1024
MIN_CHARS = 6
"""Of a value that only its name makes a secret."""
MIN_KNOWN_CHARS = 8
"""Of a text that is taken out wherever it stands; a shorter one is a word."""
CANARY = re.compile(r"evalkit-canary-[0-9a-f]{32}")
_ESCAPE = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
_KEYWORDS = KeywordDetector()
_LONG = re.compile(r"\w{128,}")
_REST = re.compile(r"[\w=+/-]*(?:\.[\w=+/-]+)*")
"""What still belongs to a token whose beginning was recognised."""
MAX_OF_A_LINE = 50
"""Values that a line may give to names."""
_DIGIT = re.compile("[0-9]")
"""What was drawn at random has one; a name of 44 letters is a name."""


def secrets_of(environment: Mapping[str, str]) -> list[str]:
    """Values that an environment keeps under a name for secrets."""
    named = re.compile(rf"(?:^|_)(?:{NAMES})(?:_|$)", re.IGNORECASE)
    return [
        value
        for name, value in environment.items()
        if named.search(name) and len(value) >= MIN_KNOWN_CHARS and name != "PWD"
    ]


class Span(NamedTuple):
    """Where a secret stands in a text, and its kind."""

    start: int
    end: int
    kind: str


class Redactor:
    """Replaces secrets in texts, and counts them by kind.

    Args:
        known: Texts to be taken out wherever they stand, such as a run's canaries.
        on: False leaves every text as it is.
    """

    def __init__(self, known: Iterable[str] = (), *, on: bool = True) -> None:
        self.on = on
        self.counts: Counter[str] = Counter()
        self._known = [text for text in known if len(text) >= MIN_KNOWN_CHARS]

    def __call__(self, text: str) -> str:
        """The text, with `[redacted: kind]` for each secret."""
        if not self.on or len(text) < MIN_CHARS:
            return text
        parts, done = [], 0
        for span in find_secrets(text, self._known):
            inside = "".join(_ESCAPE.findall(text[span.start : span.end]))
            parts += [text[done : span.start], f"[redacted: {span.kind}]", inside]
            self.counts[span.kind] += 1
            done = span.end
        return "".join([*parts, text[done:]])


def find_secrets(text: str, known: Iterable[str] = ()) -> list[Span]:
    """The secrets of a text in order; none reaches into another.

    Colours of a terminal inside of one do not hide it.
    """
    plain, places = _without_escapes(text)
    found = [
        Span(m.start(), m.end(), "Private Key") for m in PRIVATE_KEY.finditer(plain)
    ]
    found += [Span(m.start(), m.end(), "Canary") for m in CANARY.finditer(plain)]
    for secret in known:
        found += _spans(plain, secret, "Known Secret")
    for start, piece in _pieces(plain):
        for span in _in_line(piece):
            found.append(Span(start + span.start, start + span.end, span.kind))
    return [
        Span(places[span.start], places[span.end - 1] + 1, span.kind)
        for span in _apart(found)
    ]


def _in_line(line: str) -> Iterator[Span]:
    for form in forms():
        for match in form.pattern.finditer(line):
            start, end = _value(match)
            if not _is_harmless(line[start:end], line, chosen=form.chosen):
                rest = None if form.chosen else _REST.match(line, end)
                yield Span(start, rest.end() if rest else end, form.kind)
    for secret in _named(line):
        yield from _spans(line, secret, str(KeywordDetector.secret_type))


def _value(match: re.Match[str]) -> tuple[int, int]:
    """Where the secret of a match is: its longest group, or all of it."""
    spans = [match.span(n) for n in range(1, (match.re.groups or 0) + 1)]
    start, end = max(spans, key=lambda span: span[1] - span[0], default=match.span())
    return (start, end) if end - start >= MIN_CHARS else match.span()


def _named(line: str) -> Iterator[str]:
    """Values in quotes that a line gives to a name; the detector takes the first."""
    # It tries every part of a word against every other: minutes for the longest.
    rest = _LONG.sub(lambda m: m[0][:128], line)
    for _ in range(MAX_OF_A_LINE):
        found = list(_KEYWORDS.analyze_string(rest)) if set(rest) & set("\"'`") else []
        if not found:
            return
        yield from (one for one in found if not _is_harmless(one, line, chosen=True))
        rest = rest[max(rest.find(one) + len(one) for one in found) :]


def _is_harmless(secret: str, line: str, *, chosen: bool) -> bool:
    if not chosen:
        return not _DIGIT.search(secret)
    return (
        len(secret) < MIN_CHARS
        or heuristic.is_not_alphanumeric_string(secret)
        or heuristic.is_templated_secret(secret)
        or heuristic.is_prefixed_with_dollar_sign(secret)
        or heuristic.is_sequential_string(secret)
        or heuristic.is_indirect_reference(line)
    )


def _spans(text: str, secret: str, kind: str) -> list[Span]:
    return [
        Span(m.start(), m.end(), kind) for m in re.finditer(re.escape(secret), text)
    ]


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Lines with where they start; of a long one, pieces that overlap."""
    start = 0
    for line in text.split("\n"):
        for at in range(0, max(len(line) - OVERLAP, 1), WINDOW - OVERLAP):
            yield start + at, line[at : at + WINDOW]
        start += len(line) + 1


def _apart(found: list[Span]) -> list[Span]:
    """The first and longest of those that share a character."""
    kept: list[Span] = []
    for span in sorted(found, key=lambda s: (s.start, -s.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
        elif span.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=span.end)
    return kept


def _without_escapes(text: str) -> tuple[str, range | list[int]]:
    """The text without a terminal's escapes, and where each character stood."""
    if "\x1b" not in text:
        return text, range(len(text))
    places: list[int] = []
    done = 0
    for escape in _ESCAPE.finditer(text):
        places += range(done, escape.start())
        done = escape.end()
    places += range(done, len(text))
    return "".join(map(text.__getitem__, places)), places
