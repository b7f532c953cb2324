"""The figure of price: tokens by kind, dollars at two rates, and times baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from evalkit import wording
from evalkit.conclusions import Analysis, ArmSummary, Overhead
from evalkit.markup import Column, Shown, Table
from evalkit.plots.drawing import (
    BLUE,
    INK,
    PURPLE,
    RED,
    UNREPORTED,
    drawing,
    figure_html,
    rows_of,
)

_ROW_IN = 0.3
_CLASSES = (
    ("input", "fresh input", BLUE, ""),
    ("write_5m", "cache write, 5 min", PURPLE, "////"),
    ("write_1h", "cache write, 1 h", RED, "xxxx"),
    ("read", "cache read", "#009E73", "...."),
    ("output", "output", "#000000", ""),
)
_EDGE: dict[str, Any] = {"ec": INK, "lw": 0.5}


def price(analysis: Analysis) -> Shown:
    """Tokens by kind, dollars, and both against baseline, of each arm's mean trial."""
    arms = analysis.arms
    if not any(row.tokens or row.usd is not None for row in arms):
        return UNREPORTED
    compared = any(_told(row.overhead) for row in arms)
    heights = [1.0, 1.5, 1.2][: 3 if compared else 2]
    height = 0.9 * len(heights) + sum(heights) * _ROW_IN * len(arms)
    with drawing(1, len(heights), height_in=height, heights=heights) as (made, panels):
        for axes in panels:
            rows_of(axes, [row.arm for row in arms])
        _tokens(panels[0], analysis)
        _dollars(panels[1], analysis)
        if compared:
            _overhead(panels[2], analysis)
        return figure_html(
            made,
            name="price",
            alt="Bars of tokens by kind and of dollars per trial: "
            + "; ".join(
                f"{row.arm} {wording.count(row.tokens.total if row.tokens else None)} "
                f"tokens, {wording.usd(row.usd)} as registered, "
                f"{wording.usd(row.usd_list)} at list price"
                for row in arms
            )
            + ".",
            caption=f"An arm's mean trial: tokens by kind, and dollars by the registered "
            f"accounting ({analysis.seals.accounting}) and at list price."
            + (
                " Below, each arm's totals as multiples of those of baseline."
                if compared
                else ""
            ),
            table=_table(analysis),
        )


def _tokens(axes: Axes, analysis: Analysis) -> None:
    order = [name for name, *_ in _CLASSES]
    for name, _, colour, hatch in _CLASSES:
        for at, arm in enumerate(analysis.arms):
            if arm.tokens is not None:
                left = sum(getattr(arm.tokens, k) for k in order[: order.index(name)])
                width = getattr(arm.tokens, name)
                axes.barh(at, width, 0.62, left, color=colour, hatch=hatch, **_EDGE)
    for at, arm in enumerate(analysis.arms):
        total = arm.tokens.total if arm.tokens else None
        _beside(axes, wording.count(total), total or 0, at, arm)
    _scale(axes, "tokens per trial", "{x:,.0f}")
    _legend(axes, [Patch(fc=c, hatch=h, label=w, **_EDGE) for _, w, c, h in _CLASSES])


def _dollars(axes: Axes, analysis: Analysis) -> None:
    looks = _rates(analysis)
    for n, (name, _, colour, hatch) in enumerate(looks):
        for row, arm in enumerate(analysis.arms):
            value: float | None = getattr(arm, name)
            at = row - 0.2 + 0.4 * n
            axes.barh(at, value or 0, 0.36, color=colour, hatch=hatch, **_EDGE)
            _beside(axes, wording.usd(value), value or 0, at, arm)
    _scale(axes, "dollars per trial", "${x:g}")
    _legend(axes, [Patch(fc=c, hatch=h, label=w, **_EDGE) for _, w, c, h in looks])


def _overhead(axes: Axes, analysis: Analysis) -> None:
    (usd, at_registered, *_), (listed, at_list, *_) = _rates(analysis)
    marks = (
        ("tokens", "tokens", "#000000", "D"),
        (usd, f"dollars, {at_registered}", BLUE, "o"),
        (listed, f"dollars, {at_list}", PURPLE, "s"),
    )
    handles: list[Line2D] = []
    for n, (name, label, colour, marker) in enumerate(marks):
        look: dict[str, Any] = {"color": colour, "marker": marker, "mec": INK, "ms": 6}
        handles.append(Line2D([], [], ls="none", label=label, **look))
        for row, arm in enumerate(analysis.arms):
            value = getattr(arm.overhead, name) if arm.overhead else None
            if value is not None:
                axes.plot(value, row + 0.24 * (n - 1), zorder=3, **look)
    axes.axvline(1, color=INK, lw=1.2)
    _scale(axes, "times baseline", "{x:g}x")
    _legend(axes, handles)


def _rates(analysis: Analysis) -> tuple[tuple[str, str, str, str], ...]:
    """Field, label, colour and hatch of dollars as registered and at list price."""
    return (
        ("usd", analysis.seals.accounting, BLUE, ""),
        ("usd_list", "list price", PURPLE, "////"),
    )


def _scale(axes: Axes, label: str, form: str) -> None:
    axes.margins(x=0.2)
    axes.autoscale(axis="x")
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(form)
    axes.set_xlabel(label)


def _legend(axes: Axes, handles: Sequence[Artist]) -> None:
    axes.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=3,
        columnspacing=1.2,
        handletextpad=0.5,
        borderaxespad=0.3,
    )


def _beside(axes: Axes, said: str, x: float, y: float, arm: ArmSummary) -> None:
    axes.annotate(
        wording.at_least(said, bound=bool(arm.n_understated)),
        (x, y),
        (4, 0),
        textcoords="offset points",
        va="center",
        fontsize=8.5,
    )


def _told(overhead: Overhead | None) -> bool:
    return overhead is not None and (
        overhead.tokens is not None or overhead.usd is not None
    )


def _table(analysis: Analysis) -> Table:
    rows = [
        (
            arm.arm,
            *(
                wording.count(getattr(arm.tokens, name) if arm.tokens else None)
                for name, *_ in _CLASSES
            ),
            wording.usd(arm.usd),
            wording.usd(arm.usd_list),
            *(
                wording.ratio(getattr(arm.overhead, name)) if arm.overhead else ""
                for name in ("tokens", "usd", "usd_list")
            ),
        )
        for arm in analysis.arms
    ]
    heads = (
        *(label for _, label, *_ in _CLASSES),
        "dollars",
        "dollars, list price",
        "tokens against baseline",
        "dollars against baseline",
        "the same, list price",
    )
    columns = (Column("Arm"), *(Column(head, number=True) for head in heads))
    return Table("Means per trial", columns, tuple(rows)).without_empty()
