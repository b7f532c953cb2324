"""The figure of price and score together: what better costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from evalkit import wording
from evalkit.conclusions import Analysis, ArmSummary
from evalkit.markup import Column, Shown, Table
from evalkit.plots.drawing import INK, UNREPORTED, Style, drawing, figure_html, styles
from evalkit.stats import pareto_front

_LEAST = 1e-9
"""Dollars; a scale of multiples has no place for an end at 0 or below."""
_Span = tuple[float | None, float | None]


def price_and_score(analysis: Analysis) -> Shown:
    """Each arm's mean score against its mean price, with both intervals."""
    drawn = [row for row in analysis.arms if row.usd and row.score is not None]
    if not drawn:
        return UNREPORTED
    looks = styles(analysis.design.arms)
    joined, claim = _front(drawn)
    with drawing(height_in=4.3) as (made, (axes,)):
        for case in analysis.case_arms:
            priced = [point for point in case.points if point.usd]
            axes.plot(
                [point.usd or 0.0 for point in priced],
                [point.score for point in priced],
                looks[case.arm].marker,
                mec=looks[case.arm].line,
                mfc="none",
                mew=0.8,
                ms=3.5,
                ls="none",
            )
        for cheap, dear in joined:
            axes.plot(
                [cheap.usd or 0, dear.usd or 0],
                [cheap.score or 0, dear.score or 0],
                color=INK,
                lw=1.4,
                ls="--",
            )
        for row in drawn:
            look = looks[row.arm]
            at = (row.usd or 0.0, row.score or 0.0)
            _bars(axes, row, look)
            axes.plot(
                *at,
                look.marker,
                color=look.colour,
                ms=8,
                mec=INK,
                ls="none",
                label=row.arm,
                zorder=4,
            )
        _dollar_axis(axes, analysis)
        axes.set_ylim(-0.05, 1.08)
        axes.grid(visible=True)
        axes.set_ylabel("score")
        made.legend(loc="outside lower center", ncols=3, title="mean of an arm")
        return figure_html(
            made,
            name="price-score",
            alt="Scatter of score against dollars; means: "
            + "; ".join(
                f"{row.arm} {wording.score(row.score)} at {wording.usd(row.usd)}"
                for row in drawn
            )
            + f". {claim}",
            caption=f"Score against dollars ({analysis.seals.accounting}): large marks "
            f"are means of arms with their {analysis.design.confidence:.0%} intervals "
            f"where there are any (a bar may leave the figure), small ones are trials. "
            f"Better is up, cheaper is left. "
            f"{claim}",
            table=_table(analysis),
        )


def _front(arms: Sequence[ArmSummary]) -> tuple[list[tuple[ArmSummary, ...]], str]:
    """Neighbours of the front that are told apart, and what may be said of them."""
    by_name = {row.arm: row for row in arms}
    points = {row.arm: (row.usd or 0.0, row.score or 0.0) for row in arms}
    front = [by_name[name] for name in pareto_front(points)]
    names = wording.listed(row.arm for row in front)
    if len(front) == 1:
        others = [row for row in arms if row is not front[0]]
        if not others:
            return [], ""
        if all(_apart(front[0], other) for other in others):
            return [], f"{names} is both best and cheapest, beyond all intervals."
        return [], (
            f"{names} has the best mean and the least price, but an interval overlaps "
            f"another arm's or is missing, so no front is claimed."
        )
    pairs = list(pairwise(front))
    joined = [pair for pair in pairs if _apart(*pair)]
    if not joined:
        return [], (
            f"By their means no arm beats {names} in both, but their intervals overlap "
            f"or are missing, so no front is claimed."
        )
    said = wording.listed(f"{a.arm} to {b.arm}" for a, b in joined)
    rest = (
        "" if len(joined) == len(pairs) else " Others of the front are not told apart."
    )
    return joined, (
        f"The dashed line joins arms that no other beats in both, where neither "
        f"interval overlaps: {said}.{rest}"
    )


def _apart(one: ArmSummary, other: ArmSummary) -> bool:
    """Neither the scores' intervals nor the prices' overlap; all four are known."""
    scores = (one.score_low, one.score_high), (other.score_low, other.score_high)
    prices = (one.usd_low, one.usd_high), (other.usd_low, other.usd_high)
    return _disjoint(*scores) and _disjoint(*prices)


def _disjoint(one: _Span, other: _Span) -> bool:
    (a, b), (c, d) = one, other
    if a is None or b is None or c is None or d is None:
        return False
    return b < c or d < a


def _bars(axes: Axes, row: ArmSummary, look: Style) -> None:
    x, y = row.usd or 0.0, row.score or 0.0
    how: dict[str, Any] = {"color": look.line, "ls": look.dash, "lw": 1.4, "zorder": 3}
    if row.score_low is not None and row.score_high is not None:
        axes.plot([x, x], [row.score_low, row.score_high], **how)
    if row.usd_low is not None and row.usd_high is not None:
        axes.plot([max(row.usd_low, _LEAST), row.usd_high], [y, y], **how)


def _dollar_axis(axes: Axes, analysis: Analysis) -> None:
    """A scale of multiples around what is drawn, its numbers far enough apart."""
    told = [p.usd for row in analysis.case_arms for p in row.points if p.usd]
    told += [row.usd for row in analysis.arms if row.usd]
    low, high = min(told) / 1.5, max(told) * 1.5
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    decades = math.log10(high / low)
    subs = (
        (1.0,) if decades > 2 else (1.0, 3.0) if decades > 1 else (1.0, 2.0, 3.0, 5.0)
    )
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_major_formatter("${x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("dollars per trial (each step right is a multiple)")


def _table(analysis: Analysis) -> Table:
    rows = [
        (
            row.arm,
            wording.score(row.score),
            _between(wording.score(row.score_low), wording.score(row.score_high)),
            wording.usd(row.usd),
            _between(wording.usd(row.usd_low), wording.usd(row.usd_high)),
        )
        for row in analysis.arms
    ]
    heads = ("Mean score", "its interval", "Dollars per trial", "their interval")
    columns = (Column("Arm"), *(Column(head, number=True) for head in heads))
    return Table("Score and price", columns, tuple(rows))


def _between(low: str, high: str) -> str:
    return "none" if wording.NOT_REPORTED in {low, high} else f"{low} to {high}"
