"""Figures of scores: contrasts, and trials case by case."""

from __future__ import annotations

from collections import Counter

from matplotlib.axes import Axes

from evalkit import wording
from evalkit.conclusions import ONE_ARM, Analysis, CaseArm
from evalkit.markup import Column, Prose, Shown, Table
from evalkit.plots.drawing import (
    INK,
    SOFT,
    Style,
    drawing,
    figure_html,
    rows_of,
    styles,
)
from evalkit.records import Contrast

NOTHING = Prose(("There is nothing to draw: no trial was analysed.",))


def forest(analysis: Analysis) -> Shown:
    """Each contrast of the registered outcome: estimate, interval, and its cases."""
    found = [
        contrast
        for contrast in analysis.contrasts
        if contrast.measure == analysis.design.outcome
    ]
    drawable = [contrast for contrast in found if contrast.estimate is not None]
    if len(analysis.design.arms) == 1:
        return Prose((ONE_ARM,))
    if not drawable:
        return NOTHING
    with drawing(height_in=1.3 + 0.5 * len(found)) as (made, (axes,)):
        rows_of(axes, [f"{c.arm}\nagainst {c.comparator}" for c in found])
        margin = analysis.design.margin
        axes.axvspan(-margin, margin, color="#e8ebee", zorder=0)
        axes.axvline(0, color=INK, linewidth=1)
        looks = styles([case.id for case in analysis.cases])
        for row, contrast in enumerate(found):
            _forest_row(axes, row, contrast)
            _forest_cases(axes, row, contrast, analysis)
        for name, look in looks.items():
            axes.plot([], [], look.marker, color=look.colour, label=name)
        axes.plot([], [], "D", color=INK, label="all cases, with interval")
        axes.set_xlabel("difference of mean scores (right: the arm did better)")
        made.legend(loc="outside lower center", ncols=4)
        return figure_html(
            made,
            name="forest",
            alt=_forest_alt(analysis, drawable),
            caption=f"Differences between arms with {analysis.design.confidence:.0%} "
            f"intervals; above each, the difference in each case. Within the band of "
            f"{wording.signed(-margin)} to {wording.signed(margin)} a difference was "
            f"declared before the run to be of no importance.",
            table=_forest_table(analysis, found),
        )


def cases(analysis: Analysis) -> Shown:
    """Every trial's score, by case and arm, with the mean."""
    if not any(row.points for row in analysis.case_arms):
        return NOTHING
    arms = analysis.design.arms
    looks = styles(arms)
    n_cases = len(analysis.cases)
    with drawing(n_cases, height_in=3.6) as (made, panels):
        for n, (axes, case) in enumerate(zip(panels, analysis.cases, strict=True)):
            axes.set_title(case.id, fontsize=10, loc="left")
            axes.set_ylim(-0.06, 1.1)
            axes.set_xlim(-0.6, len(arms) - 0.4)
            axes.set_xticks(range(len(arms)), arms, rotation=40, ha="right")
            axes.grid(axis="y")
            axes.tick_params(axis="y", labelleft=n == 0)
            for row in analysis.case_arms:
                if row.case == case.id:
                    _trials(axes, arms.index(row.arm), row, looks[row.arm])
        panels[0].set_ylabel("score of a trial")
        return figure_html(
            made,
            name="cases",
            alt=_cases_alt(analysis),
            caption="Score of every analysed trial by case and arm; a number beside a "
            "mark counts trials that lie on each other; the line is their mean.",
            table=_cases_table(analysis),
        )


def _forest_row(axes: Axes, row: int, contrast: Contrast) -> None:
    if contrast.estimate is None:
        axes.text(0, row, "  no estimate", va="center", color=SOFT)
        return
    if contrast.low is not None and contrast.high is not None:
        axes.plot([contrast.low, contrast.high], [row, row], color=INK, linewidth=1.6)
    axes.plot(contrast.estimate, row, "D", color=INK, markersize=7)


def _forest_cases(axes: Axes, row: int, contrast: Contrast, analysis: Analysis) -> None:
    names = [case.id for case in analysis.cases]
    looks = styles(names)
    for case in analysis.case_contrasts:
        if (case.arm, case.comparator) != (contrast.arm, contrast.comparator):
            continue
        above = 0.16 + 0.22 * names.index(case.case) / max(1, len(names) - 1)
        axes.plot(
            case.difference,
            row - above,
            looks[case.case].marker,
            color=looks[case.case].colour,
            markersize=5,
            markeredgecolor=INK,
            markeredgewidth=0.5,
        )


def _trials(axes: Axes, place: int, row: CaseArm, look: Style) -> None:
    for score, n in sorted(Counter(point.score for point in row.points).items()):
        axes.plot(
            place,
            score,
            look.marker,
            color=look.colour,
            markersize=7,
            markeredgecolor=INK,
            markeredgewidth=0.6,
        )
        if n > 1:
            axes.annotate(
                f"{n}", (place, score), (6, 4), textcoords="offset points", fontsize=8
            )
    if row.score is not None:
        axes.plot(
            [place - 0.32, place + 0.32],
            [row.score] * 2,
            color=INK,
            linewidth=2,
            zorder=1,
        )


def _forest_alt(analysis: Analysis, drawable: list[Contrast]) -> str:
    said = "; ".join(
        f"{c.arm} against {c.comparator} {wording.signed(c.estimate)}"
        + (f" ({wording.span(c.low, c.high)})" if c.low is not None else "")
        for c in drawable
    )
    return f"Forest plot of differences in {analysis.design.outcome}: {said}."


def _forest_table(analysis: Analysis, found: list[Contrast]) -> Table:
    by_case = {
        (row.case, row.arm, row.comparator): row.difference
        for row in analysis.case_contrasts
    }
    names = [case.id for case in analysis.cases]
    rows = [
        (
            f"{c.arm} against {c.comparator}",
            wording.signed(c.estimate),
            wording.span(c.low, c.high),
            *(wording.signed(by_case.get((n, c.arm, c.comparator))) for n in names),
        )
        for c in found
    ]
    heads = ("All cases", "Interval", *names)
    columns = (Column("Arms"), *(Column(head, number=True) for head in heads))
    return Table("Differences", columns, tuple(rows))


def _cases_alt(analysis: Analysis) -> str:
    said = "; ".join(
        f"{case.id}: "
        + ", ".join(
            f"{row.arm} {wording.score(row.score)}"
            for row in analysis.case_arms
            if row.case == case.id
        )
        for case in analysis.cases
    )
    return f"Dots of trial scores in one panel per case; means are: {said}."


def _cases_table(analysis: Analysis) -> Table:
    rows = [
        (
            row.case,
            row.arm,
            wording.score(row.score),
            ", ".join(wording.score(point.score) for point in row.points),
        )
        for row in analysis.case_arms
    ]
    heads = ("Case", "Arm", "Mean", "Scores by repeat")
    columns = tuple(Column(head, number=head == "Mean") for head in heads)
    return Table("Scores", columns, tuple(rows))
