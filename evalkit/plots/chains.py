"""The figure of chains: how scores go from step to step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from evalkit import wording
from evalkit.conclusions import Analysis, StepRow
from evalkit.markup import Column, Prose, Shown, Table
from evalkit.plots.drawing import INK, Style, drawing, figure_html, styles

NO_CHAIN = Prose(("No case of this run is a chain of steps.",))
DODGE = 0.72
"""Width over which the marks of all arms are spread around a step's place."""
_COLUMNS = 2


def steps(analysis: Analysis) -> Shown:
    """Every trial's score in each step of each chain, with the arms' means."""
    names = list(dict.fromkeys(row.case for row in analysis.steps))
    if not names:
        return NO_CHAIN
    arms = analysis.design.arms
    n_columns = min(_COLUMNS, len(names))
    n_rows = -(-len(names) // n_columns)
    with drawing(n_columns, n_rows, height_in=0.7 + 2.9 * n_rows) as (made, panels):
        for axes in panels[len(names) :]:
            axes.set_visible(False)
        for n, (axes, name) in enumerate(zip(panels, names, strict=False)):
            axes.tick_params(axis="y", labelleft=n % n_columns == 0)
            _panel(axes, [row for row in analysis.steps if row.case == name], arms)
        made.supylabel("score of a step", fontsize=9.5)
        made.legend(handles=_legend(arms), loc="outside lower center", ncols=3)
        return figure_html(
            made,
            name="steps",
            alt=_alt(analysis.steps),
            caption="Score of every analysed trial in each step, a number above a mark "
            "for trials that lie on each other, and a line through the means of each "
            "arm. A step that is below its least score, or whose call failed, ends the "
            "chain: the steps after it are not reached.",
            table=_table(analysis),
        )


def _panel(axes: Axes, rows: Sequence[StepRow], arms: Sequence[str]) -> None:
    places = list(dict.fromkeys(f"{row.n} {row.step}" for row in rows))
    axes.set_title(rows[0].case, fontsize=9)
    axes.set_ylim(-0.08, 1.16)
    axes.set_yticks([0, 0.5, 1])
    axes.set_xlim(0.4, len(places) + 0.6)
    axes.set_xticks(
        range(1, len(places) + 1),
        places,
        rotation=25,
        ha="right",
        rotation_mode="anchor",
    )
    axes.grid(axis="y")
    looks = styles(arms)
    for place, arm in enumerate(arms):
        mine = [row for row in rows if row.arm == arm]
        beside = DODGE * ((place + 0.5) / len(arms) - 0.5)
        _arm(axes, mine, beside, looks[arm])


def _legend(arms: Sequence[str]) -> list[Line2D]:
    lost = Line2D(
        [],
        [],
        ls="none",
        marker="o",
        mfc="none",
        color=INK,
        label="not reached, counts 0",
    )
    return [
        *(
            Line2D(
                [],
                [],
                color=look.line,
                ls=look.dash,
                marker=look.marker,
                mfc=look.colour,
                mec=INK,
                label=arm,
            )
            for arm, look in styles(arms).items()
        ),
        lost,
    ]


def _arm(axes: Axes, rows: Sequence[StepRow], beside: float, look: Style) -> None:
    means = [(row.n + beside, row.score) for row in rows if row.score is not None]
    axes.plot(*zip(*means, strict=True), color=look.line, ls=look.dash, lw=1.4)
    for row in rows:
        found = Counter((point.score or 0, point.score is None) for point in row.points)
        for (score, is_lost), n in sorted(found.items()):
            axes.plot(
                row.n + beside,
                score,
                look.marker,
                mfc="white" if is_lost else look.colour,
                mec=look.line if is_lost else INK,
                mew=1.2 if is_lost else 0.6,
                ms=6,
            )
            if n > 1:
                axes.annotate(
                    f"{n}",
                    (row.n + beside, score),
                    (0, 4.5),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8.5,
                )


def _alt(rows: Sequence[StepRow]) -> str:
    said = "; ".join(
        f"{case}, {arm}: "
        + ", ".join(
            f"{row.step} {wording.score(row.score)}"
            for row in rows
            if (row.case, row.arm) == (case, arm)
        )
        for case, arm in dict.fromkeys((row.case, row.arm) for row in rows)
    )
    return f"Scores from step to step, one panel per chain; means are: {said}."


def _table(analysis: Analysis) -> Table:
    rows = [
        (
            row.case,
            f"{row.n} {row.step}",
            row.arm,
            wording.score(row.score),
            wording.scores([point.score for point in row.points], "not reached"),
        )
        for row in analysis.steps
    ]
    heads = ("Case", "Step", "Arm", "Mean", "Scores by repeat")
    columns = tuple(Column(head, number=head == "Mean") for head in heads)
    return Table("Scores of steps", columns, tuple(rows))
