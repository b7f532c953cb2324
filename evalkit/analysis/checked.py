"""Which checks passed how often, and what that says about a delivery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalkit.conclusions import CheckRow, ComplaintRow
from evalkit.facts import Trial, step_of
from evalkit.records import CaseSeal, Complaint, Grade, Registration


def check_rows(
    registration: Registration, trials: Sequence[Trial]
) -> tuple[CheckRow, ...]:
    """Every registered check in every arm, over the analysed trials.

    A check that was not reached, or whose grader died, did not pass.
    """
    return tuple(
        row
        for case in registration.cases
        for step in case.steps
        for row in _step_rows(registration, case, step, trials)
    )


def complaint_rows(rows: Sequence[CheckRow]) -> tuple[ComplaintRow, ...]:
    """Checks summed by what their failing says, in every arm."""
    arms = dict.fromkeys(row.arm for row in rows)
    return tuple(
        ComplaintRow(complaint, arm, sum(r.k for r in own), sum(r.n for r in own))
        for complaint in Complaint
        for arm in arms
        if (own := [r for r in rows if (r.complaint, r.arm) == (complaint, arm)])
    )


def _step_rows(
    registration: Registration, case: CaseSeal, step: str, trials: Sequence[Trial]
) -> Iterator[CheckRow]:
    mine = [t for t in trials if t.analysed and t.key.case == case.id]
    graded = [(t, step_of(t.result, step).grade) for t in mine]
    complaints = case.complaints.get(step, {})
    weights = {c.id: c.weight for _, g in graded if g for c in g.checks}
    for check in dict.fromkeys([*complaints, *weights]):
        for seal in registration.arms:
            own = [(t, g) for t, g in graded if t.key.arm == seal.arm.name]
            yield CheckRow(
                case=case.id,
                step=step,
                check=check,
                complaint=complaints.get(check),
                weight=weights.get(check),
                arm=seal.arm.name,
                k=sum(_passes(g, check) for _, g in own),
                n=len(own),
                n_not_reached=sum(g is None for _, g in own),
                n_grader_died=sum(g is not None and g.died is not None for _, g in own),
            )


def _passes(grade: Grade | None, check: str) -> bool:
    return (
        grade is not None
        and grade.died is None
        and any(c.id == check and c.passed for c in grade.checks)
    )
