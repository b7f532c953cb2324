"""The figure of scores: every trial, by case and arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes

from evalkit import wording
from evalkit.conclusions import Analysis, CaseArm
from evalkit.markup import Column, Figure, Shown, Table
from evalkit.plots.drawing import (
    INK,
    NOTHING,
    Style,
    drawing,
    figure_html,
    in_parts,
    styles,
    together,
)

MOST_CASES = 12
"""Of one figure: what a printed page can hold."""
_LONG_NAME = 19
"""Characters; a title of more fills a panel of three beside each other."""


def cases(analysis: Analysis) -> Shown:
    """Every trial's score, by case and arm, with the mean."""
    if not any(row.points for row in analysis.case_arms):
        return NOTHING
    parts = in_parts([case.id for case in analysis.cases], MOST_CASES)
    drawn = [
        _figure(analysis, part, f"cases-{n}" if n else "cases")
        for n, part in enumerate(parts)
    ]
    return together(drawn)


def _figure(analysis: Analysis, names: Sequence[str], name: str) -> Figure:
    arms = analysis.design.arms
    looks = styles(arms)
    fitting = 2 if max(map(len, names)) > _LONG_NAME else 3
    n_columns = min(fitting, len(names))
    n_rows = -(-len(names) // n_columns)
    rows = [row for row in analysis.case_arms if row.case in names]
    with drawing(n_columns, n_rows, height_in=0.9 + 1.85 * n_rows) as (made, panels):
        for axes in panels[len(names) :]:
            axes.set_visible(False)
        for n, (axes, case) in enumerate(zip(panels, names, strict=False)):
            axes.set_title(case, fontsize=9)
            axes.set_ylim(-0.08, 1.16)
            axes.set_xlim(-0.7, len(arms) - 0.3)
            is_last = n + n_columns >= len(names)
            axes.set_xticks(
                range(len(arms)), arms if is_last else [], rotation=40, ha="right"
            )
            axes.set_yticks([0, 0.5, 1])
            axes.grid(axis="y")
            axes.tick_params(axis="y", labelleft=n % n_columns == 0)
            for row in rows:
                if row.case == case:
                    _trials(axes, arms.index(row.arm), row, looks[row.arm])
        made.supylabel("score of a trial", fontsize=9.5)
        return figure_html(
            made,
            name=name,
            alt=_alt(rows),
            caption="Score of every analysed trial by case and arm; a number beside a "
            "mark counts trials that lie on each other; the line is their mean.",
            table=_table(rows),
        )


def _trials(axes: Axes, place: int, row: CaseArm, look: Style) -> None:
    if row.score is not None:
        ends = [place - 0.45, place + 0.05]
        axes.plot(ends, [row.score] * 2, color=INK, lw=2, zorder=1)
    for score, n in sorted(Counter(point.score for point in row.points).items()):
        axes.plot(place, score, look.marker, color=look.colour, ms=6, mec=INK, mew=0.7)
        if n > 1:
            axes.annotate(
                f"{n}",
                (place, score),
                (6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
            )


def _alt(rows: Sequence[CaseArm]) -> str:
    said = "; ".join(
        f"{case}: "
        + ", ".join(
            f"{row.arm} {wording.score(row.score)}" for row in rows if row.case == case
        )
        for case in dict.fromkeys(row.case for row in rows)
    )
    return f"Dots of trial scores in one panel per case; means are: {said}."


def _table(rows: Sequence[CaseArm]) -> Table:
    cells = [
        (
            row.case,
            row.arm,
            wording.score(row.score),
            wording.scores([point.score for point in row.points]),
        )
        for row in rows
    ]
    heads = ("Case", "Arm", "Mean", "Scores by repeat")
    columns = tuple(Column(head, number=head == "Mean") for head in heads)
    return Table("Scores", columns, tuple(cells))
