"""How long until the work was done, where some of it was cut off."""

from __future__ import annotations

from evalkit import wording
from evalkit.conclusions import Analysis, TimeContrast, TimeRow
from evalkit.markup import Column, Page, Prose, Table

NOT_HALF = "not by the limit"
WHY = (
    "A trial that was still at work when its time was up was cut off, and nobody knows "
    "how long it would have taken. To leave it out would reward an arm for being cut "
    "off, so it counts as at work until the limit."
)


def times(analysis: Analysis) -> Page:
    """Restricted means and medians of each arm, and differences between arms."""
    heads = ("Trials", "Cut off", "Failed, left out", "Mean to the limit", "Median")
    arms = Table(
        "Time until the work was done",
        (
            Column("Arm", whole=True),
            Column("Limit", number=True),
            *(Column(head, number=True) for head in heads),
            Column("What cannot be said"),
        ),
        tuple(_row(row) for row in analysis.times),
        note="Mean to the limit: of each trial the time it took, or the limit if that is "
        "less (restricted mean). Median after Kaplan and Meier. A trial that crashed, "
        "refused or met another limit did not finish, and no time is claimed of it.",
    ).without_empty()
    return Page((Prose((_said(analysis),)), arms, _contrasts(analysis)))


def _said(analysis: Analysis) -> str:
    n_cut = sum(row.n_cut for row in analysis.times)
    n = sum(row.n for row in analysis.times)
    if not n:
        return "No trial finished or was cut off, so nothing is known of times."
    if not n_cut:
        return (
            f"{wording.n_of(n, 'trial')} finished, and the clock cut off none: the means "
            f"are those of the times themselves."
        )
    return f"The clock cut off {wording.k_of(n_cut, n)} trials. {WHY}"


def _row(row: TimeRow) -> tuple[str, ...]:
    known = row.restricted_mean_s is not None
    return (
        row.arm,
        wording.seconds(row.limit_s),
        *map(wording.count, (row.n, row.n_cut, row.n_failed)),
        wording.seconds(row.restricted_mean_s) if known else wording.NOT_APPLICABLE,
        _median(row) if known else wording.NOT_APPLICABLE,
        row.refusal or "",
    )


def _median(row: TimeRow) -> str:
    return NOT_HALF if row.median_s is None else wording.seconds(row.median_s)


def _contrasts(analysis: Analysis) -> Table:
    return Table(
        "Differences of means to the limit",
        (
            Column("Arms", whole=True),
            Column("Limit", number=True),
            Column("Difference", number=True),
            Column("p (log-rank)", number=True),
            Column("What cannot be said"),
        ),
        tuple(_contrast(row) for row in analysis.time_contrasts),
        note="p takes trials as independent and all cases as one group, and is rough "
        "where trials are few. It is not corrected for the number of comparisons: "
        "exploratory.",
        empty="no arm was compared with another.",
    ).without_empty()


def _contrast(row: TimeContrast) -> tuple[str, ...]:
    return (
        f"{row.arm} against {row.comparator}",
        wording.seconds(row.limit_s),
        _signed(row.difference_s),
        wording.NOT_APPLICABLE if row.p is None else wording.p_value(row.p),
        row.refusal or "",
    )


def _signed(seconds: float | None) -> str:
    if seconds is None:
        return wording.NOT_APPLICABLE
    rounded = round(seconds, 2)
    sign = "+" if rounded > 0 else wording.MINUS if rounded < 0 else ""
    return f"{sign}{wording.seconds(abs(seconds))}"
