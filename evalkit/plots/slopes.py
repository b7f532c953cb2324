"""The figure of pairs: each block's score in the comparator and in the arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from evalkit import wording
from evalkit.conclusions import ONE_ARM, Analysis
from evalkit.markup import Column, Figure, Fold, Page, Prose, Shown, Table
from evalkit.plots.drawing import (
    BLUE,
    INK,
    NOTHING,
    RED,
    SOFT,
    drawing,
    figure_html,
    in_parts,
)

MOST_CASES, MOST_ARMS = 6, 5
"""Of one figure: what a printed page can hold."""
_ASIDE = 0.05
"""Between lines that would lie on each other, in units of score."""
_BUNDLE = 0.18
"""Greatest width of all such lines together."""
_APART = 0.13
"""Least distance of two numbers above each other."""
_WAYS = {
    1: ("the arm did better", BLUE, "-"),
    -1: ("worse", RED, "--"),
    0: ("the same", SOFT, ":"),
}


class _Pairs(NamedTuple):
    """Scores of the blocks of one case in a contrast, comparator's first."""

    case: str
    arm: str
    comparator: str
    scores: tuple[tuple[float, float], ...]

    @property
    def means(self) -> tuple[float, float] | None:
        """Of the comparator and of the arm."""
        n = len(self.scores)
        if not n:
            return None
        return sum(a for a, _ in self.scores) / n, sum(b for _, b in self.scores) / n


def slopes(analysis: Analysis) -> Shown:
    """Every block's line from the comparator to the arm, case by case."""
    if len(analysis.design.arms) == 1:
        return Prose((ONE_ARM,))
    pairs = _pairs(analysis)
    if not any(found.scores for found in pairs):
        return NOTHING
    by_comparator: dict[str, list[Figure]] = {}
    for n, part in enumerate(_parts(pairs)):
        figure = _figure(part, f"slopes-{n}" if n else "slopes")
        by_comparator.setdefault(part[0].comparator, []).append(figure)
    first, *others = by_comparator.items()
    folds = [Fold(f"The same from {name}", found) for name, found in others]
    return Page((*first[1], *folds))


def _parts(pairs: Sequence[_Pairs]) -> Iterator[list[_Pairs]]:
    """What goes into one figure: one comparator, some arms, some cases."""
    cases = list(dict.fromkeys(row.case for row in pairs))
    for comparator in dict.fromkeys(row.comparator for row in pairs):
        own = [row for row in pairs if row.comparator == comparator]
        for arms in in_parts(list(dict.fromkeys(row.arm for row in own)), MOST_ARMS):
            for some in in_parts(cases, MOST_CASES):
                yield [row for row in own if row.arm in arms and row.case in some]


def _pairs(analysis: Analysis) -> list[_Pairs]:
    by_trial = {
        (row.case, row.arm): {point.repeat: point.score for point in row.points}
        for row in analysis.case_arms
    }
    found: list[_Pairs] = []
    for row in analysis.case_contrasts:
        mine = by_trial[row.case, row.arm]
        other = by_trial[row.case, row.comparator]
        scores = tuple((other[n], mine[n]) for n in sorted(mine.keys() & other.keys()))
        found.append(_Pairs(row.case, row.arm, row.comparator, scores))
    return found


def _figure(pairs: Sequence[_Pairs], name: str) -> Figure:
    cases = list(dict.fromkeys(row.case for row in pairs))
    contrasts = list(dict.fromkeys((row.arm, row.comparator) for row in pairs))
    height = 1.3 + 1.3 * len(cases)
    with drawing(1, len(cases), height_in=height) as (made, panels):
        for axes, case in zip(panels, cases, strict=True):
            axes.set_title(case, fontsize=9)
            axes.set_ylim(-0.14, 1.14)
            axes.set_yticks([0, 0.5, 1])
            axes.set_xlim(-0.7, 3 * len(contrasts) - 1.3)
            axes.grid(axis="y")
            for row in pairs:
                if row.case == case:
                    _slope(axes, 3 * contrasts.index((row.arm, row.comparator)), row)
            ends = [(3 * n, 3 * n + 1) for n in range(len(contrasts))]
            axes.set_xticks([x for both in ends for x in both], [""] * 2 * len(ends))
        words = [word for arm, comparator in contrasts for word in (comparator, arm)]
        panels[-1].set_xticks(
            panels[-1].get_xticks(),
            words,
            rotation=30,
            ha="right",
            rotation_mode="anchor",
        )
        made.supylabel("score of a trial", fontsize=9.5)
        _legend(made)
        return figure_html(
            made,
            name=name,
            alt=_alt(pairs),
            caption=f"From {pairs[0].comparator}: one line per block, from the comparator's trial to the arm's in the "
            "same block. Lines that would lie on each other are set a little apart, and "
            "a number counts the trials that share a score. The thick line joins the "
            "means.",
            table=_table(pairs),
        )


def _slope(axes: Axes, x: int, row: _Pairs) -> None:
    for (before, after), n in sorted(Counter(row.scores).items()):
        _, colour, dash = _WAYS[(after > before) - (after < before)]
        between = min(_ASIDE, _BUNDLE / n)
        for k in range(n):
            up = between * (k - (n - 1) / 2)
            axes.plot([x, x + 1], [before + up, after + up], dash, color=colour, lw=1.1)
            axes.plot([x, x + 1], [before + up, after + up], "o", color=colour, ms=2.6)
    if row.means:
        axes.plot([x, x + 1], row.means, color=INK, lw=1.8, zorder=3)
        axes.plot([x, x + 1], row.means, "D", color=INK, mfc="white", ms=5, zorder=4)
    for side in (0, 1):
        last = -1.0
        found = Counter(pair[side] for pair in row.scores)
        for score, n in sorted(found.items()):
            if n > 1:
                last = max(score, last + _APART)
                _count(axes, n, (x + side, last), left=side == 0)


def _count(axes: Axes, n: int, at: tuple[float, float], *, left: bool) -> None:
    axes.annotate(
        f"{n}",
        at,
        (-6, 0) if left else (6, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="center",
        fontsize=8.5,
    )


def _legend(made: Drawing) -> None:
    handles = [
        Line2D([], [], color=colour, ls=dash, lw=1.3, marker="o", ms=2.6, label=label)
        for label, colour, dash in _WAYS.values()
    ]
    mean = Line2D(
        [], [], color=INK, lw=1.8, marker="D", mfc="white", ms=5, label="mean"
    )
    made.legend(handles=[*handles, mean], loc="outside lower center", ncols=4)


def _alt(pairs: Sequence[_Pairs]) -> str:
    said = "; ".join(
        f"{row.case}, {row.comparator} to {row.arm}: "
        + ", ".join(f"{n} {label}" for label, n in _ways(row).items() if n)
        for row in pairs
        if row.scores
    )
    return f"Lines from comparator to arm for every block, one panel per case; {said}."


def _ways(row: _Pairs) -> dict[str, int]:
    found = Counter((after > before) - (after < before) for before, after in row.scores)
    return {label: found[way] for way, (label, *_) in _WAYS.items()}


def _table(pairs: Sequence[_Pairs]) -> Table:
    rows: list[tuple[str, ...]] = []
    for row in pairs:
        before, after = row.means or (None, None)
        both = [f"{wording.score(a)} to {wording.score(b)}" for a, b in row.scores]
        means = f"{wording.score(before)} to {wording.score(after)}"
        counts = map(wording.count, _ways(row).values())
        arms = f"{row.comparator} to {row.arm}"
        rows.append((row.case, arms, means, *counts, ", ".join(both)))
    columns = (
        Column("Case"),
        Column("From, to"),
        Column("Means", number=True),
        *(Column(label.capitalize(), number=True) for label, *_ in _WAYS.values()),
        Column("Each block"),
    )
    return Table("Scores of each block", columns, tuple(rows))
