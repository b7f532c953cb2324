"""Two requests, compared but for what varies by nature: the rules are data. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec

from evalkit.records import Record

LEFT_OUT = "~"
"""Stands for what a rule leaves out, also in what is shown."""
MAX_SHOWN = 70
"""Characters shown of each side of a difference."""
_BEFORE = 20
"""Of these, characters before the first that differs."""
_ABSENT = object()


class Rule(Record, frozen=True):
    """What may differ, and why; see `data/varies.toml`."""

    name: str
    why: str
    at: tuple[str, ...]
    pattern: str


class Comparison(NamedTuple):
    """The first place that differs, in words, if any; and the rules it took to agree."""

    difference: str | None
    varied: tuple[str, ...]


class Varying:
    """Compares requests by these rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = [(rule, re.compile(rule.pattern)) for rule in rules]

    def compare(self, recorded: Any, asked: Any) -> Comparison:
        """Hold a request, as decoded JSON, against a recorded one."""
        varied: dict[str, None] = {}
        for path, old, new in _leaves("", recorded, asked):
            if not (isinstance(old, str) and isinstance(new, str)):
                return Comparison(_told(path, old, new), ())
            bare, other, used = self._without(path, old, new)
            if bare != other:
                return Comparison(_told(path, bare, other), ())
            varied.update(dict.fromkeys(used))
        return Comparison(None, tuple(varied))

    def _without(self, path: str, old: str, new: str) -> tuple[str, str, list[str]]:
        """Two texts without what may differ there, as far as it takes."""
        used: list[str] = []
        for rule, pattern in self._rules:
            if old == new:
                break
            if any(fnmatchcase(path, place) for place in rule.at):
                before = old, new
                old, new = (pattern.sub(LEFT_OUT, text) for text in before)
                used += [rule.name] if (old, new) != before else []
        return old, new, used


def rules_of(table: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules of a parsed `varies.toml`."""
    return msgspec.convert(table["rule"], tuple[Rule, ...])


def _leaves(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """Every innermost pair that is not the same, in the order of the recorded one."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{path}.{key}" if path else str(key)
            yield from _leaves(inner, old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif isinstance(old, list) and isinstance(new, list):
        for n, (one, other) in enumerate(zip_longest(old, new, fillvalue=_ABSENT)):
            yield from _leaves(f"{path}.{n}", one, other)
    elif type(old) is not type(new) or old != new:  # True is not 1
        yield path, old, new


def _told(path: str, old: Any, new: Any) -> str:
    if isinstance(old, str) and isinstance(new, str):
        pairs = enumerate(zip_longest(old, new))
        first = next(n for n, (one, other) in pairs if one != other)
        begin = max(0, first - _BEFORE)
        shown = [_quoted(text, begin) for text in (old, new)]
    else:
        shown = [
            "nothing" if value is _ABSENT else _cut(msgspec.json.encode(value).decode())
            for value in (old, new)
        ]
    return f"{path}: recorded {shown[0]} -> asked {shown[1]}"


def _quoted(text: str, begin: int) -> str:
    before = "..." * bool(begin)
    return msgspec.json.encode(before + _cut(text[begin:])).decode()


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
