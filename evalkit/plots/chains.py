"""The figure of chains: how scores go from step to step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes

from evalkit import wording
from evalkit.conclusions import Analysis, StepRow
from evalkit.markup import Column, Prose, Shown, Table
from evalkit.plots.drawing import INK, Style, drawing, figure_html, styles

NO_CHAIN = Prose(("No case of this run is a chain of steps.",))
DODGE = 0.5
"""Width over which the marks of all arms are spread around a step's place."""


def steps(analysis: Analysis) -> Shown:
    """Every trial's score in each step of each chain, with the arms' means."""
    names = list(dict.fromkeys(row.case for row in analysis.steps))
    if not names:
        return NO_CHAIN
    arms = analysis.design.arms
    looks = styles(arms)
    with drawing(len(names), height_in=3.8) as (made, panels):
        for n, (axes, name) in enumerate(zip(panels, names, strict=True)):
            own = [row for row in analysis.steps if row.case == name]
            places = list(dict.fromkeys(f"{row.n} {row.step}" for row in own))
            axes.set_title(name, fontsize=10, loc="left")
            axes.set_ylim(-0.08, 1.1)
            axes.set_xlim(0.4, len(places) + 0.6)
            axes.set_xticks(range(1, len(places) + 1), places, rotation=20, ha="right")
            axes.grid(axis="y")
            axes.tick_params(axis="y", labelleft=n == 0)
            for place, arm in enumerate(arms):
                mine = [row for row in own if row.arm == arm]
                aside = DODGE * ((place + 0.5) / len(arms) - 0.5)
                _arm(axes, mine, aside, looks[arm])
        for arm in arms:
            look = looks[arm]
            panels[0].plot([], [], f"{look.marker}-", color=look.colour, label=arm)
        panels[0].plot(
            [], [], "o", mfc="none", color=INK, label="not reached, counts 0"
        )
        panels[0].set_ylabel("score of a step")
        made.legend(loc="outside lower center", ncols=4)
        return figure_html(
            made,
            name="steps",
            alt=_alt(analysis.steps),
            caption="Score of every analysed trial in each step, a number beside a mark "
            "for trials that lie on each other, and a line through the means of each "
            "arm. A step that is below its least score, or whose call failed, ends the "
            "chain: the steps after it are not reached.",
            table=_table(analysis),
        )


def _arm(axes: Axes, rows: Sequence[StepRow], aside: float, look: Style) -> None:
    means = [(row.n + aside, row.score) for row in rows if row.score is not None]
    axes.plot(*zip(*means, strict=True), color=look.colour, lw=1.6, alpha=0.6)
    for row in rows:
        found = Counter((point.score or 0, point.score is None) for point in row.points)
        for (score, is_lost), n in sorted(found.items()):
            axes.plot(
                row.n + aside,
                score,
                look.marker,
                color=look.colour,
                mfc="none" if is_lost else look.colour,
                mec=look.colour if is_lost else INK,
                mew=1.2 if is_lost else 0.6,
                ms=7,
            )
            if n > 1:
                axes.annotate(
                    f"{n}",
                    (row.n + aside, score),
                    (6, 4),
                    textcoords="offset points",
                    fontsize=8,
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
            ", ".join(
                "not reached" if point.score is None else wording.score(point.score)
                for point in row.points
            ),
        )
        for row in analysis.steps
    ]
    heads = ("Case", "Step", "Arm", "Mean", "Scores by repeat")
    columns = tuple(Column(head, number=head == "Mean") for head in heads)
    return Table("Scores of steps", columns, tuple(rows))
