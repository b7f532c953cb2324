"""The figure of routing: how often it was right, and what it took for what."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from evalkit import wording
from evalkit.conclusions import NONE, Analysis, Proportion, Routing
from evalkit.markup import Column, Figure, Prose, Shown, Table
from evalkit.plots.drawing import (
    BLUE,
    INK,
    SOFT,
    drawing,
    figure_html,
    ink_on,
    rows_of,
    together,
)

_BARS = (
    ("exact", "exactly the\ncanonical skills", "D"),
    ("any_hit", "one of them", "o"),
    ("nothing_picked", "nothing picked", "s"),
)


def routing(analysis: Analysis) -> Shown:
    """Proportions with intervals, and canonical against picked skills, per arm."""
    if analysis.routing_refusal:
        return Prose((analysis.routing_refusal,))
    if not analysis.routing:
        return Prose(("No arm of this run was routed, so there is nothing to draw.",))
    drawn = [
        _figure(row, f"routing-{n}" if n else "routing")
        for n, row in enumerate(analysis.routing)
    ]
    return together(drawn)


def _figure(row: Routing, name: str) -> Figure:
    wanted = _skills({cell.canonical for cell in row.cells})
    picked = _skills({cell.picked for cell in row.cells})
    heights = [1.5, 1.1 + 0.3 * len(wanted)]
    height = 0.4 + sum(heights)
    with drawing(1, 2, height_in=height, heights=heights) as (made, (above, below)):
        above.set_title(row.arm)
        _proportions(above, row)
        _matrix(below, row, wanted, picked)
        return figure_html(
            made,
            name=name,
            alt=f"Routing: {row.arm} chose exactly the canonical skills for "
            f"{wording.k_of_n(row.exact)} {row.unit}, one of them for "
            f"{wording.k_of_n(row.any_hit)} that need one, and none for "
            f"{wording.k_of_n(row.nothing_picked)}.",
            caption=f"{row.arm}. Above: how often routing was right, with Wilson "
            f"intervals; an upright bar is the ceiling that the candidates set. Below: "
            f"the skills a step calls for against the skill picked, as counts of steps; "
            f"a framed, bold count is right.",
            table=_table(row),
        )


def _skills(found: set[str]) -> list[str]:
    """In order of name; no skill stands last, also where it never occurs."""
    return [*sorted(found - {NONE}), NONE]


def _proportions(axes: Axes, row: Routing) -> None:
    rows_of(axes, [label for _, label, _ in _BARS])
    for place, (name, _, marker) in enumerate(_BARS):
        found: Proportion = getattr(row, name)
        if found.low is None or found.high is None:
            continue
        axes.plot([found.low, found.high], [place, place], color=INK, lw=1.5)
        axes.plot(found.k / found.n, place, marker, color=BLUE, mec=INK, ms=7)
        ceiling = {"exact": row.exact_ceiling, "any_hit": row.any_hit_ceiling}.get(name)
        if ceiling is not None and ceiling.n:
            share = ceiling.k / ceiling.n
            axes.plot(share, place, "|", color=INK, ms=16, mew=2)
        axes.text(
            1.02,
            place,
            wording.k_of_n(found),
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=9,
        )
    axes.set_xlim(-0.04, 1.04)
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.set_xlabel(f"share of {row.unit}")


def _matrix(axes: Axes, row: Routing, wanted: list[str], picked: list[str]) -> None:
    counts = {(cell.canonical, cell.picked): cell.n for cell in row.cells}
    most = max(counts.values(), default=1)
    shades = mpl.colormaps["cividis"]
    for y, canonical in enumerate(wanted):
        for x, given in enumerate(picked):
            n = counts.get((canonical, given), 0)
            shade = shades(n / most) if n else "white"
            right = canonical == given
            cell = Rectangle((x - 0.5, y - 0.5), 1, 1, fc=shade, ec=SOFT, lw=0.6)
            axes.add_patch(cell)
            if right:
                frame = Rectangle((x - 0.44, y - 0.42), 0.88, 0.84, fc="none")
                frame.set(ec=ink_on(shade), lw=1.2)
                axes.add_patch(frame)
            axes.text(
                x,
                y,
                f"{n}",
                ha="center",
                va="center_baseline",
                color=ink_on(shade),
                fontweight="bold" if right else "normal",
            )
    axes.set_xlim(-0.5, len(picked) - 0.5)
    axes.set_ylim(len(wanted) - 0.5, -0.5)
    axes.set_xticks(
        range(len(picked)), picked, rotation=30, ha="right", rotation_mode="anchor"
    )
    axes.set_yticks(range(len(wanted)), wanted)
    axes.set_xlabel("picked")
    axes.set_ylabel("called for")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _table(row: Routing) -> Table:
    rows = [
        (row.arm, cell.canonical, cell.picked, wording.count(cell.n))
        for cell in row.cells
    ]
    heads = ("Arm", "Called for", "Picked", "How often")
    columns = tuple(Column(head, number=head == "How often") for head in heads)
    return Table("Called for and picked", columns, tuple(rows))
