"""How far the main differences can be believed, and what would move them."""

from __future__ import annotations

from evalkit import wording
from evalkit.conclusions import (
    ONE_ARM,
    Analysis,
    BeyondRow,
    DetectableRow,
    EquivalenceRow,
    SensitivityRow,
)
from evalkit.markup import Column, Fold, Page, Prose, Shown, Table

NO_PAIR = "no arm was compared with another."
_INTERVAL = ("Difference", "Interval", "p")


def hypotheses(analysis: Analysis) -> Table:
    """What was expected of each case before the run, beside what came out."""
    return Table(
        "What was expected, and the differences in score that came out",
        (
            Column("Case", whole=True),
            Column("Expected, as sealed before the run"),
            Column("What came out"),
        ),
        tuple(
            (case.id, case.hypothesis, _came_out(analysis, case.id))
            for case in analysis.cases
        ),
        note="No program judges whether an expectation was met: read both.",
    )


def _came_out(analysis: Analysis, name: str) -> str:
    """Differences, comparator by comparator."""
    found = [
        f"against {comparator}: "
        + ", ".join(
            f"{case.arm} {wording.signed(case.difference)}"
            for case in analysis.case_contrasts
            if (case.case, case.comparator) == (name, comparator)
        )
        for comparator in dict.fromkeys(
            case.comparator for case in analysis.case_contrasts if case.case == name
        )
    ]
    if found:
        return "; ".join(found)
    return ONE_ARM if len(analysis.design.arms) == 1 else "no block of it is whole"


def detectable(analysis: Analysis) -> Shown:
    """The least difference that this design could have found."""
    if len(analysis.design.arms) == 1:
        return Prose((ONE_ARM,))
    if not analysis.detectable:
        return Prose(
            (
                "With a single trial of a case in an arm nothing tells how much trials "
                "vary, so it cannot be said what this design could have found.",
            )
        )
    seen = [_detectable(row) for row in analysis.detectable if row.seen]
    assumed = dict.fromkeys(
        ("any of them", *_detectable(row)[1:])
        for row in analysis.detectable
        if not row.seen
    )
    rows = [*seen, *assumed]
    return Table(
        "What this design can find",
        (
            Column("Arms", whole=True),
            Column("If trials of a case in an arm spread by", number=True),
            Column("it finds, in 4 of 5 runs, a difference of", number=True),
        ),
        tuple(rows),
        note=f"Of {wording.n_of(analysis.design.n_cases, 'case')}; the margin within "
        f"which a difference was declared to be of no importance is "
        f"{wording.score(analysis.design.margin)}. A smaller difference can be there "
        f"and remain unseen.",
    )


def robustness(analysis: Analysis) -> Page:
    """The main differences by other methods, and what else could be claimed."""
    pairs = _pairs(analysis)
    tables = [_sensitivity(analysis, *pair, alone=len(pairs) == 1) for pair in pairs]
    shown: list[Shown] = [*tables[:1]]
    if tables[1:]:
        shown.append(Fold("The same for the other comparisons", tables[1:]))
    return Page((*shown, _missing(analysis), _equivalence(analysis), _beyond(analysis)))


def _pairs(analysis: Analysis) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row.arm, row.comparator) for row in analysis.missing))


def _detectable(row: DetectableRow) -> tuple[str, str, str]:
    return (
        f"{row.arm} against {row.comparator}",
        f"{wording.score(row.sd)}{' (as seen)' if row.seen else ' (assumed)'}",
        wording.score(row.difference),
    )


def _sensitivity(
    analysis: Analysis, arm: str, comparator: str, *, alone: bool
) -> Table:
    rows = [
        _method(row)
        for row in analysis.sensitivity
        if (row.arm, row.comparator) == (arm, comparator)
    ]
    of = "" if alone else f": {arm} against {comparator}"
    return Table(
        f"The main difference by other methods{of}",
        (
            Column("Method", whole=True),
            *(Column(head, number=True) for head in _INTERVAL),
            Column("Right if"),
            Column("What cannot be said"),
        ),
        tuple(rows),
        note="Only the first was registered. The others show how much hangs on it; the "
        "most pleasing of them is not a finding.",
        empty=NO_PAIR,
    ).without_empty()


def _method(row: SensitivityRow) -> tuple[str, ...]:
    return (
        row.method,
        _or_dash(row.estimate, wording.signed(row.estimate)),
        _or_dash(row.low, wording.span(row.low, row.high)),
        _or_dash(row.p, wording.p_value(row.p)),
        row.assumes,
        row.refusal or "",
    )


def _or_dash(value: float | None, shown: str) -> str:
    return wording.NOT_APPLICABLE if value is None else shown


def _missing(analysis: Analysis) -> Shown:
    if all(row.n_complete == row.n_planned for row in analysis.missing):
        said = (
            "No planned pair lacks a result, so nothing is missing that could matter."
        )
        return Prose((said if analysis.missing else "",))
    rows = [
        (
            f"{row.arm} against {row.comparator}",
            wording.k_of(row.n_complete, row.n_planned),
            wording.signed(row.complete_case),
            wording.span(row.low, row.high),
            wording.signed(row.all_zero),
            row.sentence,
        )
        for row in analysis.missing
    ]
    heads = (
        "Whole pairs",
        "Difference over these",
        "If the rest were worst to best",
        "If the rest were 0",
    )
    return Table(
        "What missing results could change",
        (
            Column("Arms", whole=True),
            *(Column(head, number=True) for head in heads),
            Column("That is"),
        ),
        tuple(rows),
        note="Over all pairs that were planned, each with the same weight.",
    )


def _equivalence(analysis: Analysis) -> Table:
    return Table(
        "Is a difference shown to be of no importance?",
        (
            Column("Arms", whole=True),
            Column("90% interval", number=True),
            Column("p of both tests", number=True),
            Column("Finding"),
        ),
        tuple(_equivalent(row) for row in analysis.equivalences),
        note=f"Two one-sided tests against the registered margin of "
        f"{wording.score(analysis.design.margin)}. That no difference is seen does not "
        f"show that there is none; this is the test that could.",
        empty=NO_PAIR,
    )


def _equivalent(row: EquivalenceRow) -> tuple[str, ...]:
    margin = wording.score(row.margin)
    said = (
        f"the difference is shown to be smaller than {margin}"
        if row.shown
        else f"not shown to be smaller than {margin}"
    )
    return (
        f"{row.arm} against {row.comparator}",
        _or_dash(row.low, wording.span(row.low, row.high)),
        _or_dash(row.p, wording.p_value(row.p)),
        row.refusal or said,
    )


def _beyond(analysis: Analysis) -> Shown:
    """Tasks like these; one sentence where no contrast allows it."""
    refusals = {row.refusal for row in analysis.beyond if row.low is None}
    if len(refusals) == 1 and all(row.low is None for row in analysis.beyond):
        return Prose((f"Of tasks like these nothing is claimed: {refusals.pop()}.",))
    return Table(
        "Asked of tasks like these: the case is the unit",
        (
            Column("Arms", whole=True),
            Column("Cases", number=True),
            *(Column(head, number=True) for head in _INTERVAL),
            Column("What cannot be said"),
        ),
        tuple(_of_cases(row) for row in analysis.beyond),
        note="Right only if these cases can stand for those that are asked about: they "
        "were written, not drawn.",
        empty=NO_PAIR,
    ).without_empty()


def _of_cases(row: BeyondRow) -> tuple[str, ...]:
    return (
        f"{row.arm} against {row.comparator}",
        wording.count(row.n_cases),
        _or_dash(row.estimate, wording.signed(row.estimate)),
        _or_dash(row.low, wording.span(row.low, row.high)),
        _or_dash(row.p, wording.p_value(row.p)),
        row.refusal or "",
    )
