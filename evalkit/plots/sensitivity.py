"""The figure of methods: how an estimate moves when it is made another way."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes

from evalkit import wording
from evalkit.conclusions import ONE_ARM, Analysis, SensitivityRow
from evalkit.markup import Column, Figure, Prose, Shown, Table
from evalkit.plots.drawing import (
    BLUE,
    INK,
    NOTHING,
    drawing,
    figure_html,
    importance,
    rows_of,
    together,
)

_LABEL = 27
"""Characters of a method's name in one line."""


def sensitivity(analysis: Analysis) -> Shown:
    """Each confirmatory contrast by each method; the first contrast where none is."""
    if len(analysis.design.arms) == 1:
        return Prose((ONE_ARM,))
    first = [c for c in analysis.contrasts if c.measure == analysis.design.outcome]
    chosen = [c for c in first if c.confirmatory] or first[:1]
    drawn: list[Figure] = []
    for n, contrast in enumerate(chosen):
        arms = (contrast.arm, contrast.comparator)
        rows = [r for r in analysis.sensitivity if (r.arm, r.comparator) == arms]
        if any(row.estimate is not None for row in rows):
            name = f"sensitivity-{n}" if n else "sensitivity"
            drawn.append(_figure(analysis, rows, name))
    return together(drawn) if drawn else NOTHING


def _figure(analysis: Analysis, rows: Sequence[SensitivityRow], name: str) -> Figure:
    drawn = [row for row in rows if row.estimate is not None]
    refused = [row.method for row in rows if row.estimate is None]
    against = f"{rows[0].arm} against {rows[0].comparator}"
    with drawing(height_in=1.1 + 0.36 * len(drawn)) as (made, (axes,)):
        rows_of(axes, [textwrap.fill(row.method, _LABEL) for row in drawn])
        axes.set_title(against)
        importance(axes, analysis.design.margin)
        for at, row in enumerate(drawn):
            _row(axes, at, row)
        axes.set_xlabel("difference (right: the first arm did better)")
        without = (
            f" No estimate by: {wording.listed(refused)}; the table says why."
            if refused
            else ""
        )
        return figure_html(
            made,
            name=name,
            alt=f"Estimates of {against} by method: "
            + "; ".join(f"{row.method} {_numbers(row)}" for row in drawn)
            + ".",
            caption=f"The difference of {against} by other methods and on other trials. "
            f"The square, with its thick line, is what was registered; the others "
            f"(round, dashed) rest on assumptions that the table names, and are no "
            f"choice to pick from.{without}",
            table=_table(rows),
        )


def _row(axes: Axes, at: int, row: SensitivityRow) -> None:
    colour = BLUE if row.registered else INK
    dash, width = ("-", 2.6) if row.registered else ((0, (4, 1.5)), 1.4)
    if row.low is not None and row.high is not None:
        ends = [row.low, row.high]
        axes.plot(ends, [at, at], ls=dash, color=colour, lw=width)
        axes.plot(ends, [at, at], "|", color=colour, ms=7, mew=1.4)
    marker, fill = ("s", colour) if row.registered else ("o", "white")
    if row.estimate is not None:
        axes.plot(row.estimate, at, marker, color=colour, mfc=fill, ms=7)


def _numbers(row: SensitivityRow) -> str:
    span = f" ({wording.span(row.low, row.high)})" if row.low is not None else ""
    return f"{wording.signed(row.estimate)}{span}"


def _table(rows: Sequence[SensitivityRow]) -> Table:
    cells = [
        (
            row.method,
            "yes" if row.registered else "",
            wording.signed(row.estimate) if row.estimate is not None else "none",
            wording.span(row.low, row.high) if row.low is not None else "none",
            wording.p_value(row.p) if row.p is not None else "none",
            row.assumes,
            row.refusal or "",
        )
        for row in rows
    ]
    columns = (
        *map(Column, ("Method", "Registered")),
        *(Column(head, number=True) for head in ("Difference", "Interval", "p")),
        *map(Column, ("Assumes", "What cannot be said")),
    )
    return Table(
        f"{rows[0].arm} against {rows[0].comparator}, by method", columns, tuple(cells)
    ).without_empty()
