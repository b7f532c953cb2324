"""What all figures share: colours and shapes of arms, axes, and SVG for a page."""

from __future__ import annotations

import io
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from evalkit.markup import Figure, Table

INK = "#1b1f24"
SOFT = "#6b747d"
WIDTH_IN = 10.0
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#d8dde2",
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
}


class Style(NamedTuple):
    """How one arm (or case) looks, everywhere."""

    colour: str
    marker: str


def styles(names: Sequence[str]) -> dict[str, Style]:
    """A style per name, by its place; they repeat after seven."""
    return {
        name: Style(_COLOURS[n % len(_COLOURS)], _MARKERS[n % len(_MARKERS)])
        for n, name in enumerate(names)
    }


@contextmanager
def drawing(
    n_columns: int = 1, *, height_in: float, widths: Sequence[float] | None = None
) -> Generator[tuple[Drawing, list[Axes]]]:
    """A drawing of some panels side by side, with our settings in force."""
    with mpl.rc_context(_SETTINGS):
        made = Drawing(figsize=(WIDTH_IN, height_in), layout="constrained")
        found = made.subplots(1, n_columns, squeeze=False, width_ratios=widths)
        yield made, list(found[0])


def rows_of(axes: Axes, names: Sequence[str]) -> None:
    """Horizontal rows with these names, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


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
    with mpl.rc_context(salted):
        made.savefig(written, format="svg", metadata=nothing)
    return Figure(_own_svg(written.getvalue(), name, alt, caption), alt, caption, table)


def _own_svg(source: str, name: str, alt: str, caption: str) -> str:
    """The SVG with title and description, own ids, and no style sheet."""
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    root = ET.fromstring(source)  # noqa: S314 - we drew it
    for holder in list(root.iter()):
        for child in list(holder):
            if child.tag in {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}:
                holder.remove(child)
    for element in root.iter():
        for key, value in element.attrib.items():
            element.set(key, _own_ids(key, value, name))
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    for place, (tag, text) in enumerate((("title", caption), ("desc", alt))):
        told = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{tag}"})
        told.text = text
        root.insert(place, told)
    return ET.tostring(root, encoding="unicode")


def _own_ids(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == f"{{{_XLINK}}}href":
        return f"#{name}-{value.removeprefix('#')}"
    return value.replace("url(#", f"url(#{name}-")
