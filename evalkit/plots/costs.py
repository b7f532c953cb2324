"""Figures of price and time."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from evalkit import wording
from evalkit.conclusions import Analysis
from evalkit.markup import Column, Prose, Shown, Table
from evalkit.plots.drawing import INK, drawing, figure_html, rows_of, styles

UNREPORTED = Prose(
    ("There is nothing to draw: no arm reports this for all of its trials.",)
)
_CLASSES = (
    ("input", "fresh input", "#0072B2", ""),
    ("write_5m", "cache write, 5 min", "#E69F00", "//"),
    ("write_1h", "cache write, 1 h", "#D55E00", "xx"),
    ("read", "cache read", "#56B4E9", ".."),
    ("output", "output", "#009E73", "\\\\"),
)


def price(analysis: Analysis) -> Shown:
    """Tokens by class, and dollars, of each arm's mean trial."""
    if not any(row.tokens or row.usd is not None for row in analysis.arms):
        return UNREPORTED
    names = [row.arm for row in analysis.arms]
    with drawing(2, height_in=1.5 + 0.42 * len(names)) as (made, (left, right)):
        rows_of(left, names)
        rows_of(right, [""] * len(names))
        _tokens(left, analysis)
        for row, arm in enumerate(analysis.arms):
            if arm.usd is not None:
                right.barh(row, arm.usd, 0.6, color="#b8c0c8", edgecolor=INK, lw=0.7)
            said = wording.at_least(wording.usd(arm.usd), bound=bool(arm.n_understated))
            right.annotate(
                said,
                (arm.usd or 0, row),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
            )
        right.margins(x=0.22)
        right.set_xlim(left=0)
        right.set_xlabel("dollars per trial")
        made.legend(loc="outside lower center", ncols=5)
        return figure_html(
            made,
            name="price",
            alt="Bars of tokens by class and of dollars per trial: "
            + "; ".join(
                f"{row.arm} {wording.count(row.tokens.total if row.tokens else None)} "
                f"tokens, {wording.usd(row.usd)}"
                for row in analysis.arms
            )
            + ".",
            caption=f"Tokens by kind (left) and dollars (right) of an arm's mean trial, "
            f"by the accounting {analysis.seals.accounting}.",
            table=_price_table(analysis),
        )


def price_and_score(analysis: Analysis) -> Shown:
    """Score against dollars: every trial, and each arm's mean."""
    drawn = [
        row
        for row in analysis.arms
        if row.usd is not None and row.usd > 0 and row.score is not None
    ]
    if not drawn:
        return UNREPORTED
    looks = styles(analysis.design.arms)
    with drawing(height_in=4.2) as (made, (axes,)):
        for case in analysis.case_arms:
            priced = [point for point in case.points if point.usd]
            look = looks[case.arm]
            axes.plot(
                [point.usd or 0.0 for point in priced],
                [point.score for point in priced],
                look.marker,
                color=look.colour,
                alpha=0.35,
                markersize=4,
                linestyle="none",
            )
        for row in drawn:
            look = looks[row.arm]
            axes.plot(
                [row.usd or 0.0],
                [row.score or 0.0],
                look.marker,
                color=look.colour,
                markersize=11,
                markeredgecolor=INK,
                linestyle="none",
                label=row.arm,
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(_dollars))
        axes.xaxis.set_minor_formatter(FuncFormatter(_dollars))
        axes.tick_params(axis="x", which="minor", labelsize=7.5, rotation=30)
        axes.set_ylim(-0.05, 1.08)
        axes.grid(visible=True)
        axes.set_xlabel("dollars per trial (each step right is a multiple)")
        axes.set_ylabel("score")
        made.legend(loc="outside right upper", title="mean of an arm")
        return figure_html(
            made,
            name="price-score",
            alt="Scatter of score against dollars; means: "
            + "; ".join(
                f"{row.arm} {wording.score(row.score)} at {wording.usd(row.usd)}"
                for row in drawn
            )
            + ".",
            caption="Score against dollars: large marks are means of arms, small ones "
            "are trials. Better is up, cheaper is left.",
            table=_score_table(analysis),
        )


def time(analysis: Analysis) -> Shown:
    """Wall clock of every trial, and each arm's mean."""
    if not any(p.wall_s is not None for row in analysis.case_arms for p in row.points):
        return UNREPORTED
    names = list(analysis.design.arms)
    looks = styles(names)
    with drawing(height_in=1.1 + 0.42 * len(names)) as (made, (axes,)):
        rows_of(axes, names)
        for case in analysis.case_arms:
            told = [p.wall_s for p in case.points if p.wall_s is not None]
            look = looks[case.arm]
            axes.plot(
                told,
                [names.index(case.arm)] * len(told),
                look.marker,
                color=look.colour,
                alpha=0.45,
                markersize=5,
                linestyle="none",
            )
        for row in analysis.arms:
            if row.wall_s is not None:
                at = names.index(row.arm)
                axes.plot([row.wall_s] * 2, [at - 0.33, at + 0.33], color=INK, lw=2.2)
        axes.set_xlim(left=0)
        axes.set_xlabel("seconds of wall clock in the agent's calls")
        return figure_html(
            made,
            name="time",
            alt="Wall clock of trials by arm; means: "
            + "; ".join(f"{r.arm} {wording.seconds(r.wall_s)}" for r in analysis.arms)
            + ".",
            caption="Wall clock of every analysed trial; the line is the arm's mean.",
            table=_time_table(analysis),
        )


def _tokens(axes: Axes, analysis: Analysis) -> None:
    for name, label, colour, hatch in _CLASSES:
        for row, arm in enumerate(analysis.arms):
            if arm.tokens is None:
                continue
            order = [kind for kind, *_ in _CLASSES]
            left = sum(getattr(arm.tokens, k) for k in order[: order.index(name)])
            width = getattr(arm.tokens, name)
            axes.barh(row, width, 0.6, left, color=colour, hatch=hatch, ec=INK, lw=0.5)
        axes.bar(0, 0, color=colour, hatch=hatch, ec=INK, lw=0.5, label=label)
    for row, arm in enumerate(analysis.arms):
        if arm.tokens is None:
            axes.text(0, row, f" {wording.NOT_REPORTED}", va="center", fontsize=8.5)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(_thousands))
    axes.set_xlabel("tokens per trial")


def _dollars(value: float, _place: int | None) -> str:
    return f"${value:g}"


def _thousands(value: float, _place: int | None) -> str:
    return f"{value:,.0f}"


def _price_table(analysis: Analysis) -> Table:
    heads = (*(label for _, label, *_ in _CLASSES), "dollars")
    rows = [
        (
            arm.arm,
            *(
                wording.count(getattr(arm.tokens, name) if arm.tokens else None)
                for name, *_ in _CLASSES
            ),
            wording.usd(arm.usd),
        )
        for arm in analysis.arms
    ]
    columns = (Column("Arm"), *(Column(head, number=True) for head in heads))
    return Table("Means per trial", columns, tuple(rows))


def _score_table(analysis: Analysis) -> Table:
    rows = [(r.arm, wording.score(r.score), wording.usd(r.usd)) for r in analysis.arms]
    heads = ("Mean score", "Dollars per trial")
    columns = (Column("Arm"), *(Column(head, number=True) for head in heads))
    return Table("Score and price", columns, tuple(rows))


def _time_table(analysis: Analysis) -> Table:
    rows = [
        (
            row.case,
            row.arm,
            ", ".join(wording.seconds(point.wall_s) for point in row.points),
        )
        for row in analysis.case_arms
    ]
    columns = (Column("Case"), Column("Arm"), Column("By repeat", number=True))
    return Table("Wall clock of each trial", columns, tuple(rows))
