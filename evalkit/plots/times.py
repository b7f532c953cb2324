"""The figure of time: every trial until it finished, or was cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from evalkit import wording
from evalkit.conclusions import Analysis, TimeRow
from evalkit.markup import Column, Shown, Table
from evalkit.plots.drawing import (
    BLUE,
    INK,
    UNREPORTED,
    aside,
    drawing,
    figure_html,
    rows_of,
    styles,
)

_MOST_TOLD = 12
"""Trials of an arm whose seconds a table lists one by one."""


def time(analysis: Analysis) -> Shown:
    """Seconds of every trial by arm, the mean to the limit, and the median."""
    if not any(row.points for row in analysis.times):
        return UNREPORTED
    groups: dict[float, list[TimeRow]] = {}
    for row in analysis.times:
        groups.setdefault(row.limit_s, []).append(row)
    n_arms = len(analysis.design.arms)
    height = 0.5 + len(groups) * (0.85 + 0.34 * n_arms)
    with drawing(1, len(groups), height_in=height) as (made, panels):
        for axes, rows in zip(panels, groups.values(), strict=True):
            _panel(axes, rows, analysis.design.arms)
            if len(groups) > 1:
                axes.set_title(", ".join(rows[0].cases), fontsize=9)
        panels[-1].set_xlabel("seconds of the agent's work")
        cut: dict[str, Any] = {
            "marker": ">",
            "mfc": "white",
            "mec": INK,
            "ls": "none",
            "color": INK,
        }
        handles = [
            Line2D([], [], color=INK, lw=2.6, label="mean to the limit"),
            Line2D([], [], color=BLUE, lw=2.2, ls=":", label="median"),
        ]
        if any(row.n_cut for row in analysis.times):
            handles.append(Line2D([], [], ms=6, label="cut off at the limit", **cut))
        made.legend(handles=handles, loc="outside lower center", ncols=3)
        return figure_html(
            made,
            name="time",
            alt="Seconds of trials by arm; means to the limit: "
            + "; ".join(
                f"{row.arm} {wording.seconds(row.restricted_mean_s)}"
                + (f", {wording.k_of(row.n_cut, row.n)} cut off" if row.n_cut else "")
                for row in analysis.times
            )
            + ".",
            caption="Time of every analysed trial. An open mark with an arrow is a trial "
            "that was cut off at its limit, "
            "the dashed line: it would have taken longer. The upright line is the mean "
            "of the time or the limit, whichever is less; the dotted one is the median, "
            "where half of the trials finished. Trials that failed for another reason "
            "than time are not drawn; the table counts them.",
            table=_table(analysis),
        )


def _panel(axes: Axes, rows: Sequence[TimeRow], arms: Sequence[str]) -> None:
    rows_of(axes, arms)
    looks = styles(arms)
    limit_s = rows[0].limit_s
    for row in rows:
        place = arms.index(row.arm)
        look = looks[row.arm]
        for n, point in enumerate(row.points):
            y = place + aside(n, 0.5)
            if point.finished:
                axes.plot(
                    point.seconds,
                    y,
                    look.marker,
                    color=look.colour,
                    mec=INK,
                    mew=0.5,
                    ms=4.5,
                )
                continue
            axes.plot(
                point.seconds, y, look.marker, mfc="white", mec=look.line, mew=1, ms=4.5
            )
            axes.annotate(
                "",
                (point.seconds, y),
                (14, 0),
                textcoords="offset points",
                arrowprops={"arrowstyle": "<-", "color": INK, "lw": 1},
                annotation_clip=False,
            )
        ends = [place - 0.38, place + 0.38]
        if row.restricted_mean_s is not None:
            axes.plot([row.restricted_mean_s] * 2, ends, color=INK, lw=2.6, zorder=3)
        if row.median_s is not None:
            axes.plot([row.median_s] * 2, ends, color=BLUE, lw=2.2, ls=":", zorder=3)
    if any(row.n_cut for row in rows):
        axes.axvline(limit_s, color=INK, lw=1, ls="--", zorder=1)
        axes.set_xlim(0, 1.08 * limit_s)
    else:
        axes.set_xlim(left=0)


def _table(analysis: Analysis) -> Table:
    rows = [
        (
            row.arm,
            wording.listed(row.cases),
            wording.seconds(row.limit_s),
            *map(wording.count, (row.n, row.n_cut, row.n_failed)),
            _or_none(row.restricted_mean_s),
            _or_none(row.median_s),
            _each(row),
            row.refusal or "",
        )
        for row in analysis.times
    ]
    heads = ("Limit", "Trials", "Cut off", "Failed", "Mean to the limit", "Median")
    columns = (
        *map(Column, ("Arm", "Cases")),
        *(Column(head, number=True) for head in heads),
        *map(Column, ("Each trial", "What cannot be said")),
    )
    return Table("Time of trials", columns, tuple(rows)).without_empty()


def _or_none(seconds: float | None) -> str:
    return "none" if seconds is None else wording.seconds(seconds)


def _each(row: TimeRow) -> str:
    told = [
        wording.seconds(point.seconds) + ("" if point.finished else " (cut off)")
        for point in sorted(row.points, key=lambda point: point.seconds)
    ]
    more = len(told) - _MOST_TOLD
    said = ", ".join(told[:_MOST_TOLD])
    return f"{said}, and {more} longer ones" if more > 0 else said
