"""The figure of contrasts: each case, the pairs behind it, and all cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Patch

from evalkit import wording
from evalkit.conclusions import ONE_ARM, Analysis, CaseContrast
from evalkit.markup import Column, Figure, Prose, Shown, Table
from evalkit.plots.drawing import (
    BAND,
    BLUE,
    EDGE,
    INK,
    NOTHING,
    SOFT,
    aside,
    drawing,
    figure_html,
    heading,
    importance,
    rows_of,
    together,
)
from evalkit.records import Contrast

MOST_ROWS = 46
"""Of one figure: what a printed page can hold."""
_ROW_IN = 0.185
_PAIR: dict[str, Any] = {
    "marker": "o",
    "ms": 3.4,
    "mfc": "white",
    "mec": INK,
    "mew": 0.8,
    "ls": "none",
}
_MEAN: dict[str, Any] = {"marker": "|", "ms": 11, "mec": BLUE, "mew": 3.5, "ls": "none"}
_DIAMONDS: dict[bool, dict[str, Any]] = {
    is_confirmatory: {
        "marker": "D",
        "ms": 6.5,
        "mfc": fill,
        "mec": INK,
        "mew": 1.2,
        "ls": "none",
    }
    for is_confirmatory, fill in ((True, INK), (False, "white"))
}
_KINDS = {
    True: "Confirmatory: declared with the plan",
    False: "Exploratory: not declared as ones that count",
}


class _Row(NamedTuple):
    """One line of the figure: a heading, one case of a contrast, or all its cases."""

    label: str
    contrast: Contrast | None = None
    case: CaseContrast | None = None
    heads: bool = False


def forest(analysis: Analysis) -> Shown:
    """Each contrast of the registered outcome: its cases, estimate and interval."""
    found = [c for c in analysis.contrasts if c.measure == analysis.design.outcome]
    if len(analysis.design.arms) == 1:
        return Prose((ONE_ARM,))
    if not any(contrast.estimate is not None for contrast in found):
        return NOTHING
    found.sort(key=lambda contrast: not contrast.confirmatory)
    parts: list[list[_Row]] = [[]]
    kind: bool | None = None
    for contrast in found:
        own = _rows(analysis, contrast)
        if contrast.confirmatory != kind:
            own = [_Row(_KINDS[contrast.confirmatory]), *own]
        kind = contrast.confirmatory
        if parts[-1] and len(parts[-1]) + len(own) > MOST_ROWS:
            parts.append([])
        parts[-1] += own
    span = _span(analysis, found)
    drawn = [
        _figure(analysis, rows, f"forest-{n}" if n else "forest", span)
        for n, rows in enumerate(parts)
    ]
    return together(drawn)


def _rows(analysis: Analysis, contrast: Contrast) -> list[_Row]:
    arms = (contrast.arm, contrast.comparator)
    cases = [r for r in analysis.case_contrasts if (r.arm, r.comparator) == arms]
    return [
        _Row(_against(contrast), contrast, heads=True),
        *(_Row(case.case, contrast, case) for case in cases),
        _Row("all cases", contrast),
    ]


def _figure(
    analysis: Analysis, rows: Sequence[_Row], name: str, span: tuple[float, float]
) -> Figure:
    design = analysis.design
    with drawing(height_in=1.5 + _ROW_IN * len(rows)) as (made, (axes,)):
        is_case = [row.contrast is not None and not row.heads for row in rows]
        labels = [r.label if is_case[n] else "" for n, r in enumerate(rows)]
        rows_of(axes, labels)
        axes.set_xlim(*span)
        importance(axes, design.margin)
        for at, row in enumerate(rows):
            if row.contrast is None or row.heads:
                _heading(axes, at, row)
            elif row.case is not None:
                _case(axes, at, row.case)
            else:
                _pooled(axes, at, row.contrast)
        axes.set_xlabel("difference of mean scores (right: the first arm did better)")
        _legend(made, axes, rows)
        contrasts = [row.contrast for row in rows if row.heads and row.contrast]
        return figure_html(
            made,
            name=name,
            alt=_alt(analysis, contrasts),
            caption=f"Differences between arms, case by case and over all cases, with "
            f"{design.confidence:.0%} intervals for these cases; those declared as "
            f"confirmatory come first. A diamond without "
            f"a line has none. Within the band of "
            f"{wording.signed(-design.margin)} to {wording.signed(design.margin)} a "
            f"difference was declared before the run to be of no importance.",
            table=_table(rows),
        )


def _heading(axes: Axes, at: int, row: _Row) -> None:
    found = row.contrast
    if found is None:
        heading(axes, at, row.label, fontweight="bold", fontsize=10, color=SOFT)
        return
    heading(axes, at, row.label, fontweight="bold")
    numbers = "no estimate"
    if found.estimate is not None:
        numbers = wording.signed(found.estimate)
        if found.low is not None:
            numbers += f" ({wording.span(found.low, found.high)})"
    right = axes.get_yaxis_transform()
    axes.text(
        1, at, numbers, transform=right, ha="right", va="center", fontsize=9, zorder=3
    )


def _case(axes: Axes, at: int, case: CaseContrast) -> None:
    axes.plot(case.difference, at, zorder=3, **_MEAN)
    for n, pair in enumerate(case.pairs):
        axes.plot(pair, at + aside(n, 0.62), zorder=4, **_PAIR)


def _pooled(axes: Axes, at: int, found: Contrast) -> None:
    if found.estimate is None:
        return
    if found.low is not None and found.high is not None:
        axes.plot([found.low, found.high], [at, at], color=INK, lw=1.5, zorder=3)
    axes.plot(found.estimate, at, zorder=4, **_DIAMONDS[found.confirmatory])


def _legend(made: Drawing, axes: Axes, rows: Sequence[_Row]) -> None:
    kinds = {row.contrast.confirmatory for row in rows if row.contrast}
    marks = [("one pair of trials", _PAIR), ("mean of a case", _MEAN)] + [
        (f"all cases, {'confirmatory' if kind else 'exploratory'}", look)
        for kind, look in _DIAMONDS.items()
        if kind in kinds
    ]
    handles: list[Any] = [
        *(axes.plot([], [], label=label, **how)[0] for label, how in marks),
        Patch(fc=BAND, ec=SOFT, lw=0.8, ls=EDGE, label="of no importance"),
    ]
    made.legend(handles=handles, loc="outside lower center", ncols=2)


def _span(analysis: Analysis, found: Sequence[Contrast]) -> tuple[float, float]:
    """The same for every part: all that is drawn, and both edges of the band."""
    drawn = [pair for row in analysis.case_contrasts for pair in row.pairs]
    for contrast in found:
        drawn += [x for x in (contrast.low, contrast.high) if x is not None]
    margin = analysis.design.margin
    low, high = min(-margin, *drawn), max(margin, *drawn)
    beyond = 0.05 * (high - low)
    return low - beyond, high + beyond


def _against(contrast: Contrast) -> str:
    return f"{contrast.arm} against {contrast.comparator}"


def _alt(analysis: Analysis, found: Sequence[Contrast]) -> str:
    judged = [c for c in found if c.low is not None and c.high is not None]
    clear = [c for c in judged if not (c.low or 0) <= 0 <= (c.high or 0)]
    reading = (
        f"the interval leaves out zero for {wording.listed(map(_against, clear))}"
        if judged
        else "no difference could be given an interval"
    )
    said = "; ".join(
        f"{_against(c)} {wording.signed(c.estimate)}"
        + (f" ({wording.span(c.low, c.high)})" if c.low is not None else "")
        for c in found
    )
    return (
        f"Forest plot of differences in {analysis.design.outcome}: {reading}. {said}."
    )


def _table(rows: Sequence[_Row]) -> Table:
    cells: list[tuple[str, ...]] = []
    for row in rows:
        found = row.contrast
        if found is None or row.heads:
            continue
        kind = "confirmatory" if found.confirmatory else "exploratory"
        if row.case is not None:
            pairs = ", ".join(map(wording.signed, row.case.pairs))
            numbers = (wording.signed(row.case.difference), "", pairs, "")
        else:
            interval = wording.span(found.low, found.high)
            numbers = (
                wording.signed(found.estimate),
                interval,
                wording.n_of(found.n_blocks, "pair"),
                found.refusal or "",
            )
        cells.append((_against(found), kind, row.label, *numbers))
    columns = (
        *map(Column, ("Arms", "Kind", "Case")),
        Column("Difference", number=True),
        Column("Interval", number=True),
        Column("Pairs"),
        Column("What cannot be said"),
    )
    return Table("Differences", columns, tuple(cells)).without_empty()
