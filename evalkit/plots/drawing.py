"""What all figures share: colours and shapes of arms, axes, and SVG for a page.

Marks and letters stand out from their ground by 3 to 1 or more: the two light colours
of the palette come last, and fill only shapes that have a dark outline.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import blended_transform_factory

from evalkit import wording
from evalkit.markup import Figure, Page, Prose, Shown, Table, visible

INK = "#1b1f24"
SOFT = "#57606a"
BAND = "#e8ebee"
GRID = "#d8dde2"
EDGE = (0, (4, 3))
BLUE = "#0072B2"
RED = "#D55E00"
PURPLE = "#CC79A7"
WIDTH_IN = 5.6
"""So narrow that letters of 9 points are still legible on a telephone."""
NOTHING = Prose(("There is nothing to draw: no trial was analysed.",))
UNREPORTED = Prose(
    ("There is nothing to draw: no arm reports this for all of its trials.",)
)
_COLOURS = (BLUE, RED, "#009E73", PURPLE, "#000000", "#E69F00", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", "-.", ":", (0, (6, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_STANDS_OUT = 3.0
_GOLDEN = 0.618034
_Item = TypeVar("_Item")
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9.5,
    "text.parse_math": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "legend.fontsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
}


class Style(NamedTuple):
    """How one arm looks, everywhere; `line` is its colour where nothing outlines it."""

    colour: str
    marker: str
    dash: Any
    line: str


def styles(names: Sequence[str]) -> dict[str, Style]:
    """A style per name, by its place; they repeat after seven."""
    found: dict[str, Style] = {}
    for n, name in enumerate(names):
        colour = _COLOURS[n % len(_COLOURS)]
        line = colour if contrast(colour, "white") >= _STANDS_OUT else INK
        marker, dash = _MARKERS[n % len(_MARKERS)], _DASHES[n % len(_DASHES)]
        found[name] = Style(colour, marker, dash, line)
    return found


def contrast(colour: Any, ground: Any) -> float:
    """How far two colours are apart in brightness, from 1 to 21 (WCAG 2.2)."""
    dark, light = sorted((_luminance(colour), _luminance(ground)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(ground: Any) -> str:
    """Black or white, whichever is easier to read there."""
    return max(("black", "white"), key=lambda ink: contrast(ink, ground))


@contextmanager
def drawing(
    n_columns: int = 1,
    n_rows: int = 1,
    *,
    height_in: float,
    widths: Sequence[float] | None = None,
    heights: Sequence[float] | None = None,
) -> Generator[tuple[Drawing, list[Axes]]]:
    """A drawing of some panels, row by row, with our settings in force."""
    with mpl.rc_context(_SETTINGS):
        made = Drawing(figsize=(WIDTH_IN, height_in), layout="constrained")
        found = made.subplots(
            n_rows,
            n_columns,
            squeeze=False,
            width_ratios=widths,
            height_ratios=heights,
        )
        yield made, list(found.flat)


def rows_of(axes: Axes, names: Sequence[str]) -> None:
    """Horizontal rows with these names, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


def heading(axes: Axes, row: float, text: str, **how: Any) -> None:
    """A line of text above the rows that follow, from the drawing's left edge."""
    across = blended_transform_factory(axes.figure.transSubfigure, axes.transData)
    ground = Rectangle((0, row - 0.5), 1, 1, transform=across, fc="white", lw=0)
    ground.set(in_layout=False, clip_on=False, zorder=2)
    axes.add_patch(ground)
    said = axes.text(0.005, row, text, transform=across, va="center", zorder=3, **how)
    said.set_in_layout(False)


def importance(axes: Axes, margin: float) -> None:
    """The line of no difference, and the band in which one is of no importance."""
    axes.axvspan(-margin, margin, color=BAND, lw=0, zorder=0)
    for edge in (-margin, margin):
        axes.axvline(edge, color=SOFT, lw=0.8, ls=EDGE, zorder=1)
    axes.axvline(0, color=INK, lw=1, zorder=1)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(_signed))


def aside(n: int, width: float) -> float:
    """How far the n-th mark of a row lies beside it: spread evenly, never by chance."""
    return ((n + 0.5) * _GOLDEN % 1 - 0.5) * width


def in_parts(items: Sequence[_Item], most: int) -> list[Sequence[_Item]]:
    """Items in as few parts as hold at most so many, of about equal size."""
    n_parts = -(-len(items) // most)
    bounds = [round(n * len(items) / n_parts) for n in range(n_parts + 1)]
    return [items[a:b] for a, b in pairwise(bounds)]


def together(figures: Sequence[Figure]) -> Shown:
    """A figure by itself, several one after the other."""
    return figures[0] if len(figures) == 1 else Page(tuple(figures))


def figure_html(
    made: Drawing, *, name: str, alt: str, caption: str, table: Table
) -> Figure:
    """A drawing as inline SVG that a page can hold.

    Args:
        made: The drawing.
        name: Unlike that of any other figure of a page; all ids begin with it.
        alt: What it shows, and the main reading.
        caption: Stands below.
        table: Its numbers.
    """
    written = io.StringIO()
    salted: dict[Any, Any] = {**_SETTINGS, "svg.hashsalt": name}
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context(salted), warnings.catch_warnings():
        # A reader's browser draws the letters, with whatever fonts it has.
        warnings.filterwarnings("ignore", r"Glyph \d+ .*missing from font")
        # `savefig` draws twice, once for the layout alone; drawing lays out anyway.
        FigureCanvasSVG(made).print_svg(written, metadata=nothing)
    svg = _own_svg(visible(written.getvalue()), name, visible(alt), visible(caption))
    return Figure(svg, alt, caption, table)


def _signed(value: float, _place: int | None) -> str:
    return wording.signed(value)


def _luminance(colour: Any) -> float:
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in to_rgb(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _own_svg(source: str, name: str, alt: str, caption: str) -> str:
    """The SVG with title and description, own ids, and no style sheet."""
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    root = ET.fromstring(source)  # noqa: S314 - we drew it
    for holder in list(root.iter()):
        for child in list(holder):
            if child.tag in {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}:
                holder.remove(child)
    _number_ids(root, name)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    for place, (tag, text) in enumerate((("title", caption), ("desc", alt))):
        told = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{tag}"})
        told.text = text
        root.insert(place, told)
    return ET.tostring(root, encoding="unicode")


def _number_ids(root: ET.Element, name: str) -> None:
    """Ids that something refers to, numbered; no others.

    The library makes them from places whose last binary digit is left to chance.
    """
    link = f"{{{_XLINK}}}href"
    found = [element.get("id", "") for element in root.iter()]
    said = " ".join(v for e in root.iter() for k, v in e.attrib.items() if k != "id")
    wanted = set(re.findall(r"#([\w-]+)", said))
    own = {
        old: f"{name}-{n}"
        for n, old in enumerate(old for old in found if old in wanted)
    }
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key == "id" and value not in own:
                del element.attrib[key]
            elif key == "id":
                element.set(key, own[value])
            elif key == link or "url(#" in value:
                new = re.sub(
                    r"#([\w-]+)", lambda at: f"#{own.get(at[1], at[1])}", value
                )
                element.set(key, new)
