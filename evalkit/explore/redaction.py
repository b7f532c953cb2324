"""Secrets in what leaves the machine, each replaced by what kind it was.

A replaced secret leaves the names around it, so that a reader sees what was there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from detect_secrets.filters import heuristic
from detect_secrets.plugins.keyword import DENYLIST, KeywordDetector

from evalkit.explore.secret_forms import NAMES, PRIVATE_KEY, forms

WINDOW = 4096
"""Characters of a line that are looked at together; detectors are slow on more."""
OVERLAP = 1024
MIN_CHARS = 6
"""Of a value that only its name makes a secret."""
MIN_KNOWN_CHARS = 8
"""Of a text that is taken out wherever it stands; a shorter one is a word."""
PLANTED = re.compile(
    r"evalkit-(?:canary-[0-9a-f]{32}|(?=[a-z0-9_-]*[A-Z])[\w-]{43}(?![\w-]))"
)
"""What a run gives an agent in place of a key, and what is planted to show a leak."""
_ESCAPE = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
_KEYWORDS = KeywordDetector()
_NAME = re.compile("|".join(DENYLIST), re.IGNORECASE)
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
        return self.part(text, 0, len(text))

    def part(self, text: str, start: int, stop: int) -> str:
        """What stands from `start` to `stop` in a text, as `__call__` tells it.

        A secret that lies across an end is seen whole, and replaced whole.
        """
        if not self.on or len(text) < MIN_CHARS:
            return text[start:stop]
        parts, done = [], start
        for span in find_secrets(text, self._known):
            if span.end <= start or span.start >= stop:
                continue
            inside = "".join(_ESCAPE.findall(text[span.start : span.end]))
            parts += [text[done : span.start], f"[redacted: {span.kind}]", inside]
            self.counts[span.kind] += 1
            done = span.end
        return "".join([*parts, text[done:stop]])


def find_secrets(text: str, known: Iterable[str] = ()) -> list[Span]:
    """The secrets of a text in order; none reaches into another.

    Colours of a terminal inside of one do not hide it.
    """
    plain, places = _without_escapes(text)
    found = [
        Span(m.start(), m.end(), "Private Key") for m in PRIVATE_KEY.finditer(plain)
    ]
    found += [Span(m.start(), m.end(), "Planted Key") for m in PLANTED.finditer(plain)]
    for secret in known:
        found += [
            Span(start, start + len(secret), "Known Secret")
            for start in _places(plain, secret)
        ]
    for start, piece in _pieces(plain):
        found += [
            Span(start + span.start, start + span.end, span.kind)
            for span in (*_of_form(piece, plain, start), *_of_name(piece))
        ]
    return [
        Span(places[span.start], places[span.end - 1] + 1, span.kind)
        for span in _apart(found)
    ]


def _of_form(piece: str, text: str, at: int) -> Iterator[Span]:
    """Secrets by their form in a piece, which begins `at` in a text.

    What still belongs to one goes on in the text, where the piece has ended.
    """
    for form in forms():
        for match in form.pattern.finditer(piece):
            start, end = _value(match)
            if not _is_harmless(piece, start, end, chosen=form.chosen):
                rest = None if form.chosen else _REST.match(text, at + end)
                yield Span(start, rest.end() - at if rest else end, form.kind)


def _of_name(piece: str) -> Iterator[Span]:
    """Values in quotes that are given to a name."""
    if not _NAME.search(piece):
        return
    at = 0
    for line in piece.split("\n"):
        for secret in _named(line):
            for start in _places(line, secret):
                end = at + start + len(secret)
                if not _is_harmless(piece, at + start, end, chosen=True):
                    yield Span(at + start, end, str(KeywordDetector.secret_type))
        at += len(line) + 1


def _value(match: re.Match[str]) -> tuple[int, int]:
    """Where the secret of a match is: its longest group, or all of it."""
    spans = [match.span(n) for n in range(1, (match.re.groups or 0) + 1)]
    start, end = max(spans, key=lambda span: span[1] - span[0], default=match.span())
    return (start, end) if end - start >= MIN_CHARS else match.span()


def _named(line: str) -> Iterator[str]:
    """Values that a line gives to names; the detector takes the first of them."""
    # It tries every part of a word against every other: minutes for the longest.
    rest = _LONG.sub(lambda m: m[0][:128], line)
    for _ in range(MAX_OF_A_LINE):
        if not _NAME.search(rest) or not set(rest) & set("\"'`"):
            return
        found = list(_KEYWORDS.analyze_string(rest))
        if not found:
            return
        yield from found
        rest = rest[max(rest.find(one) + len(one) for one in found) :]


def _is_harmless(piece: str, start: int, end: int, *, chosen: bool) -> bool:
    secret = piece[start:end]
    if not chosen:
        return not _DIGIT.search(secret)
    line = piece[piece.rfind("\n", 0, start) + 1 : _end_of_line(piece, end)]
    return (
        len(secret) < MIN_CHARS
        or heuristic.is_not_alphanumeric_string(secret)
        or heuristic.is_templated_secret(secret)
        or heuristic.is_prefixed_with_dollar_sign(secret)
        or heuristic.is_sequential_string(secret)
        or heuristic.is_indirect_reference(line)
    )


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while part and at >= 0:
        yield at
        at = text.find(part, at + len(part))


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Whole lines, as many as make a piece, with where they start.

    A longer line comes in pieces that overlap.
    """
    start = done = 0
    for line in text.split("\n"):
        end = start + len(line)
        if end - done > WINDOW and start > done:
            yield done, text[done : start - 1]
            done = start
        if len(line) > WINDOW:
            for at in range(start, end - OVERLAP, WINDOW - OVERLAP):
                yield at, text[at : min(at + WINDOW, end)]
            done = end + 1
        start = end + 1
    if done < len(text):
        yield done, text[done:]


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
