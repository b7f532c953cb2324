"""The figures of checks: how many trials of each arm passed each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from evalkit import wording
from evalkit.conclusions import Analysis, CheckRow
from evalkit.markup import Column, Figure, Shown, Table
from evalkit.plots.drawing import (
    INK,
    NOTHING,
    SOFT,
    drawing,
    figure_html,
    heading,
    in_parts,
    ink_on,
    together,
)

MOST_ROWS = 38
"""Checks of one figure: what a printed page can hold."""
_ROW_IN = 0.2
_HATCH = "////"
_DIED = "\N{DAGGER}"


class _Line(NamedTuple):
    """One check of a case, with its row per arm; `says` is what a failure says."""

    says: str
    check: str
    by_arm: dict[str, CheckRow]


def checks(analysis: Analysis) -> Shown:
    """One figure per case: its checks, by what a failure says, against the arms."""
    drawn: list[Figure] = []
    for place, case in enumerate(analysis.cases):
        lines = _lines([r for r in analysis.checks if r.case == case.id and r.n])
        parts = in_parts(lines, MOST_ROWS) if lines else []
        for n, part in enumerate(parts):
            title = case.id + (f", part {n + 1} of {len(parts)}" if parts[1:] else "")
            drawn.append(_figure(analysis, title, part, f"checks-{place}-{n}"))
    return together(drawn) if drawn else NOTHING


def _lines(rows: Sequence[CheckRow]) -> list[_Line]:
    """Checks whose failure says the same stand together, step by step."""
    has_steps = len({row.step for row in rows}) > 1
    found: dict[str, dict[str, _Line]] = {}
    for row in rows:
        says = row.complaint.value if row.complaint else "not said"
        says = f"{row.step}: {says}" if has_steps else says
        group = found.setdefault(says, {})
        group.setdefault(row.check, _Line(says, row.check, {})).by_arm[row.arm] = row
    return [line for group in found.values() for line in group.values()]


def _figure(
    analysis: Analysis, title: str, lines: Sequence[_Line], name: str
) -> Figure:
    arms = analysis.design.arms
    n_rows = len(lines) + len({line.says for line in lines})
    rows = [row for line in lines for row in line.by_arm.values()]
    with drawing(height_in=1.35 + _ROW_IN * n_rows) as (made, (axes,)):
        axes.set_title(title)
        labels: list[str] = []
        says = ""
        for line in lines:
            if line.says != says:
                says = line.says
                heading(axes, len(labels), says, style="italic")
                labels.append("")
            for x, arm in enumerate(arms):
                _cell(axes, x, len(labels), line.by_arm.get(arm))
            labels.append(line.check)
        axes.set_xlim(-0.5, len(arms) - 0.5)
        axes.set_ylim(n_rows - 0.5, -0.5)
        axes.set_yticks(range(n_rows), labels)
        turned: dict[str, Any] = {
            "rotation": 25,
            "ha": "left",
            "rotation_mode": "anchor",
        }
        axes.set_xticks(range(len(arms)), arms, **(turned if len(arms) > 4 else {}))
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)
        made.legend(handles=_legend(rows), loc="outside lower center", ncols=4)
        return figure_html(
            made,
            name=name,
            alt=_alt(title, arms, lines),
            caption=f"{title}: trials that passed each check, of all analysed trials; "
            f"checks stand under what a failed one says about a delivery.{_exceptions(rows)}",
            table=_table(arms, lines),
        )


def _legend(rows: Sequence[CheckRow]) -> list[Patch]:
    shades = mpl.colormaps["cividis"]
    shown = [
        Patch(fc=shades(share), ec=SOFT, label=label)
        for share, label in ((0.0, "none"), (0.5, "half"), (1.0, "all"))
    ]
    if any(row.n_not_reached for row in rows):
        shown.append(Patch(fc="white", ec=SOFT, hatch=_HATCH, label="not reached"))
    return shown


def _exceptions(rows: Sequence[CheckRow]) -> str:
    said = ""
    if any(row.n_not_reached for row in rows):
        said += " Hatched: the share whose chain ended before the step was reached."
    if any(row.n_grader_died for row in rows):
        said += f" {_DIED}: in some the grader died, and the check counts as failed."
    return said


def _cell(axes: Axes, x: int, y: int, row: CheckRow | None) -> None:
    if row is None:
        axes.text(x, y, "-", ha="center", va="center", fontsize=8.5)
        return
    is_reached = row.n_not_reached < row.n
    shade = mpl.colormaps["cividis"](row.k / row.n) if is_reached else "white"
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fc=shade, ec=SOFT, lw=0.6))
    if row.n_not_reached:
        share = row.n_not_reached / row.n
        width = 0.28 * share if is_reached else 1
        axes.add_patch(
            Rectangle(
                (x + 0.5 - width, y - 0.5),
                width,
                1,
                fc="white",
                ec=SOFT,
                lw=0.6,
                hatch=_HATCH,
            )
        )
    if not is_reached:
        ground = Rectangle((x - 0.24, y - 0.42), 0.48, 0.84, fc="white", lw=0)
        axes.add_patch(ground)
    died = _DIED if row.n_grader_died else ""
    axes.text(
        x,
        y,
        f"{row.k}/{row.n}{died}",
        ha="center",
        va="center_baseline",
        fontsize=8.5,
        color=ink_on(shade) if is_reached else INK,
    )


def _alt(title: str, arms: Sequence[str], lines: Sequence[_Line]) -> str:
    same = sum(len({row.k for row in line.by_arm.values()}) < 2 for line in lines)
    told: list[str] = []
    for arm in arms:
        mine = [line.by_arm[arm] for line in lines if arm in line.by_arm]
        k, n = sum(row.k for row in mine), sum(row.n for row in mine)
        told.append(f"{arm} {wording.k_of(k, n)}")
    return (
        f"Grid of checks by arm for {title}; checks passed, over trials: "
        f"{', '.join(told)}. {wording.k_of(same, len(lines))} checks came out the same "
        f"in every arm."
    )


def _table(arms: Sequence[str], lines: Sequence[_Line]) -> Table:
    rows = [
        (
            line.check,
            line.says,
            *(
                wording.trials_passed(line.by_arm[arm])
                if arm in line.by_arm
                else wording.NOT_APPLICABLE
                for arm in arms
            ),
        )
        for line in lines
    ]
    columns = (
        *map(Column, ("Check", "A failure says")),
        *(Column(arm, number=True) for arm in arms),
    )
    return Table("Trials that passed each check", columns, tuple(rows))
