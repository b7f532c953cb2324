"""Case by case, check by check."""

from __future__ import annotations

from evalkit import wording
from evalkit.conclusions import Analysis, CaseArm, CheckRow
from evalkit.markup import Column, Fold, Page, Prose, Shown, Table


def cases(analysis: Analysis) -> Page:
    """The cases, and each case in each arm with the trials behind the mean."""
    against = analysis.design.against
    rows = [
        (
            row.case,
            row.arm,
            wording.score(row.score),
            *(_case_difference(analysis, row, name) for name in against),
            wording.k_of_n(row.passed),
            wording.scores([point.score for point in row.points]),
        )
        for row in analysis.case_arms
    ]
    listed = [
        (
            case.id,
            case.title,
            wording.k_of(case.n_complete, case.n_blocks),
        )
        for case in analysis.cases
    ]
    table = Table(
        "Each case in each arm",
        (
            Column("Case"),
            Column("Arm", whole=True),
            Column("Mean score", number=True),
            *(Column(f"against {name}", number=True) for name in against),
            Column("All checks passed", number=True),
            Column("Scores by repeat", number=True),
        ),
        tuple(rows),
    )
    heads = ("Case", "Title", "Whole blocks")
    columns = tuple(Column(head, number=head == "Whole blocks") for head in heads)
    return Page((Table("The cases", columns, tuple(listed)), table))


def trials(analysis: Analysis) -> Page:
    """Every analysed trial, and how to read what its agent did; no transcript is here."""
    rows = [
        (
            f"{row.case}.{row.arm}.r{point.repeat}",
            wording.score(point.score),
            point.outcome,
            wording.usd(point.usd),
            wording.seconds(point.wall_s),
        )
        for row in analysis.case_arms
        for point in row.points
    ]
    columns = (
        Column("Trial", whole=True),
        Column("Score", number=True),
        Column("Counts as"),
        Column("Dollars", number=True),
        Column("Time", number=True),
    )
    listed = Table(
        "Analysed trials", columns, tuple(rows), empty="none.", links=analysis.paged
    )
    return Page(
        (
            Prose(_where_transcripts_are(analysis, len(rows))),
            Fold("Every analysed trial by name", (listed,)),
        )
    )


def _where_transcripts_are(analysis: Analysis, n_trials: int) -> tuple[str, ...]:
    held = (
        "with the checks that failed, what was delivered and how it was routed; secrets "
        "are left out, unless `--no-redact` asked for them."
    )
    command = f"`evalkit show {analysis.run} TRIAL --html`"
    n = len(analysis.paged)
    apart = "Transcripts are not part of this page."
    if not n:
        return (
            f"{apart} {command} writes one as pages, {held} `evalkit report "
            f"{analysis.run} --transcripts` writes those of all trials, and links to "
            f"them here.",
        )
    rest = "" if n == n_trials else f" {command} writes those of another."
    return (
        f"{apart} The names of {wording.k_of(n, n_trials)} trials lead to pages, {held} "
        f"They lie in the folder `transcripts` of the run {analysis.run}, beside this "
        f"page; a copy of this page alone leads nowhere.{rest}",
    )


def complaints(analysis: Analysis) -> Table:
    """Checks by what a failed one says about a delivery: passed of all, by arm."""
    found = {(row.complaint, row.arm): (row.k, row.n) for row in analysis.complaints}
    names = dict.fromkeys(row.complaint for row in analysis.complaints)
    rows = [
        (name.value, *(_cell(found.get((name, arm))) for arm in analysis.design.arms))
        for name in names
    ]
    return Table(
        "Checks passed, by what a failed one says",
        (Column("A failed check says"), *_arm_columns(analysis)),
        tuple(rows),
    )


def checks(analysis: Analysis) -> Fold:
    """Every check of every case: passed of all, by arm."""
    parts: list[Shown] = []
    for case in analysis.cases:
        mine = [row for row in analysis.checks if row.case == case.id]
        found = {(row.step, row.check, row.arm): row for row in mine}
        names = dict.fromkeys((row.step, row.check) for row in mine)
        rows = [
            (
                check,
                step,
                *_about(next(r for r in mine if (r.step, r.check) == (step, check))),
                *(
                    _check_cell(found.get((step, check, a)))
                    for a in analysis.design.arms
                ),
            )
            for step, check in names
        ]
        columns = (
            *map(Column, ("Check", "Step", "A failure says")),
            Column("Weight", number=True),
            *_arm_columns(analysis),
        )
        parts.append(Table(case.id, columns, tuple(rows)))
    note = Prose(("Trials that passed a check, of all analysed trials of its case.",))
    return Fold("Every check, by case and arm", (note, *parts))


def _case_difference(analysis: Analysis, row: CaseArm, comparator: str) -> str:
    for found in analysis.case_contrasts:
        if (found.case, found.arm, found.comparator) == (row.case, row.arm, comparator):
            return wording.signed(found.difference)
    return wording.NOT_APPLICABLE


def _arm_columns(analysis: Analysis) -> tuple[Column, ...]:
    return tuple(Column(arm, number=True) for arm in analysis.design.arms)


def _cell(found: tuple[int, int] | None) -> str:
    return wording.NOT_APPLICABLE if found is None else wording.k_of(*found)


def _about(row: CheckRow) -> tuple[str, str]:
    complaint = row.complaint.value if row.complaint else "not said"
    return complaint, wording.count(row.weight)


def _check_cell(row: CheckRow | None) -> str:
    if row is None:
        return wording.NOT_APPLICABLE
    flags = [
        f"{n} {said}"
        for n, said in (
            (row.n_not_reached, "not reached"),
            (row.n_grader_died, "grader died"),
        )
        if n
    ]
    counts = wording.k_of(row.k, row.n)
    return f"{counts} ({', '.join(flags)})" if flags else counts
