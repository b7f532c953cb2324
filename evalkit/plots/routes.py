"""The figure of routing: how often it was right, and what it took for what."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from evalkit import wording
from evalkit.conclusions import Analysis, Proportion, Routing
from evalkit.markup import Column, Prose, Shown, Table
from evalkit.plots.drawing import INK, SOFT, drawing, figure_html, rows_of

_BARS = (
    ("exact", "exactly the canonical skills", "D"),
    ("any_hit", "one of them", "o"),
    ("nothing_picked", "nothing picked", "s"),
)


def routing(analysis: Analysis) -> Shown:
    """Proportions with intervals, and canonical against picked skills, per arm."""
    if analysis.routing_refusal:
        return Prose((analysis.routing_refusal,))
    if not analysis.routing:
        return Prose(("No arm of this run was routed, so there is nothing to draw.",))
    n_skills = max(len({c.canonical for c in row.cells}) for row in analysis.routing)
    panels = 2 * len(analysis.routing)
    height = max(2.6, 1.9 + 0.4 * n_skills)
    widths = [1.0, 1.2] * len(analysis.routing)
    with drawing(panels, height_in=height, widths=widths) as (made, axes):
        for n, row in enumerate(analysis.routing):
            _proportions(axes[2 * n], row)
            _matrix(axes[2 * n + 1], row)
        return figure_html(
            made,
            name="routing",
            alt="Routing: "
            + "; ".join(
                f"{row.arm} chose exactly the canonical skills for "
                f"{wording.k_of_n(row.exact)} {row.unit}"
                for row in analysis.routing
            )
            + ".",
            caption="Left: how often routing was right, with Wilson intervals; an upright bar is the "
            "ceiling that the candidates set. Right: "
            "skills a case calls for against the skill picked, as counts of steps; bold is right.",
            table=_table(analysis),
        )


def _proportions(axes: Axes, row: Routing) -> None:
    rows_of(axes, [label for _, label, _ in _BARS])
    for place, (name, _, marker) in enumerate(_BARS):
        found: Proportion = getattr(row, name)
        if found.low is None or found.high is None:
            continue
        axes.plot([found.low, found.high], [place, place], color=INK, linewidth=1.5)
        axes.plot(found.k / found.n, place, marker, color="#0072B2", markersize=8)
        ceiling = {"exact": row.exact_ceiling, "any_hit": row.any_hit_ceiling}.get(name)
        if ceiling is not None:
            share = ceiling.k / ceiling.n
            axes.plot(share, place, "|", color=INK, markersize=18, markeredgewidth=2)
        axes.annotate(
            wording.k_of_n(found),
            (found.k / found.n, place),
            (0, 8),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
        )
    axes.set_xlim(-0.08, 1.08)
    axes.set_xlabel(f"share of {row.unit}")
    axes.set_title(row.arm, fontsize=10, loc="left")


def _matrix(axes: Axes, row: Routing) -> None:
    wanted = sorted({cell.canonical for cell in row.cells})
    picked = sorted({cell.picked for cell in row.cells})
    counts = [[0 for _ in picked] for _ in wanted]
    for cell in row.cells:
        counts[wanted.index(cell.canonical)][picked.index(cell.picked)] = cell.n
    most = max(max(line) for line in counts)
    shades = mpl.colormaps["Blues"]
    for y, line in enumerate(counts):
        for x, n in enumerate(line):
            shade = shades(0.6 * n / max(most, 1))
            axes.add_patch(
                Rectangle((x - 0.5, y - 0.5), 1, 1, fc=shade, ec=SOFT, lw=0.5)
            )
            right = "bold" if wanted[y] == picked[x] else "normal"
            axes.text(x, y, f"{n}", ha="center", va="center", fontweight=right)
    axes.set_xlim(-0.5, len(picked) - 0.5)
    axes.set_ylim(len(wanted) - 0.5, -0.5)
    axes.set_xticks(range(len(picked)), picked, rotation=30, ha="right")
    axes.set_yticks(range(len(wanted)), wanted)
    axes.set_xlabel("picked")
    axes.set_ylabel("called for")
    axes.tick_params(length=0)


def _table(analysis: Analysis) -> Table:
    rows = [
        (row.arm, cell.canonical, cell.picked, wording.count(cell.n))
        for row in analysis.routing
        for cell in row.cells
    ]
    heads = ("Arm", "Called for", "Picked", "How often")
    columns = tuple(Column(head, number=head == "How often") for head in heads)
    return Table("Called for and picked", columns, tuple(rows))
