"""Output of a terminal as HTML: its colours as classes, all else as it was written.

Only what sets colours and weights is carried out. An escape that would move the
cursor or erase is shown instead, so that nothing of the output is lost.
"""

from __future__ import annotations

import re

import nh3
from ansi2html import Ansi2HTMLConverter

from evalkit.markup import escape, visible

_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")
_WIDE = re.compile(r"([34]8);2;(\d{1,3});(\d{1,3});(\d{1,3})")
_USED = re.compile(r"ansi([34]8)-(\d{1,3})\b")
_LEVELS = (0, 95, 135, 175, 215, 255)
_GROUND = (0x16, 0x19, 0x1D)
_MIN_CONTRAST = 4.5
_CUBE, _GREYS = 16, 232
Colour = tuple[int, int, int]


def terminal(text: str) -> str:
    """The inside of a `pre`."""
    if "\x1b" not in text:
        return escape(text)
    pieces = _STYLE.split(text)
    pieces[::2] = map(visible, pieces[::2])
    pieces[1::2] = (_WIDE.sub(_nearest, style) for style in pieces[1::2])
    # Made anew each time: a converter remembers the colour a text ended with.
    made = Ansi2HTMLConverter(linkify=False).convert("".join(pieces), full=False)
    return visible(nh3.clean(made, tags={"span"}, attributes={"span": {"class"}}))


def colours_left_on(text: str) -> str:
    """The escapes that are still in force after a text."""
    found: list[str] = []
    for style in _STYLE.findall(text):
        found = [] if style in {"\x1b[m", "\x1b[0m"} else [*found[-8:], style]
    return "".join(found)


def style_of(page: str) -> str:
    """Rules for the colours beyond the first sixteen that a page has."""
    rules: list[str] = []
    for place, number in sorted({(m[1], int(m[2])) for m in _USED.finditer(page)}):
        colour = _colour(number)
        if colour is None:
            continue
        if place == "38":
            rules.append(f".ansi38-{number}{{color:{_hex(_readable(colour))}}}")
        else:
            ink = "#000" if _luminance(colour) > 0.18 else "#fff"
            rules.append(f".ansi48-{number}{{background:{_hex(colour)};color:{ink}}}")
    return "".join(rules)


def _nearest(found: re.Match[str]) -> str:
    """A colour of millions as the nearest of 216."""
    places = [
        min(range(6), key=lambda n, level=level: abs(_LEVELS[n] - level))
        for level in map(int, found.groups()[1:])
    ]
    red, green, blue = places
    return f"{found[1]};5;{_CUBE + 36 * red + 6 * green + blue}"


def _colour(number: int) -> Colour | None:
    """A colour of the 256; None for the first sixteen, which the sheet has."""
    if _CUBE <= number < _GREYS:
        red, rest = divmod(number - _CUBE, 36)
        return _LEVELS[red], _LEVELS[rest // 6], _LEVELS[rest % 6]
    if _GREYS <= number < 256:
        level = 8 + 10 * (number - _GREYS)
        return level, level, level
    return None


def _readable(colour: Colour) -> Colour:
    """The colour, as much lighter as it takes to be read on a terminal's ground."""
    ground = _luminance(_GROUND) + 0.05
    while (_luminance(colour) + 0.05) / ground < _MIN_CONTRAST:
        red, green, blue = (part + (255 - part + 7) // 8 for part in colour)
        colour = red, green, blue
    return colour


def _luminance(colour: Colour) -> float:
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (part / 255 for part in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
