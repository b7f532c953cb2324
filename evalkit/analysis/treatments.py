"""What reached the agent: how routing chose, and which skills were used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from evalkit.analysis.tallies import proportion
from evalkit.conclusions import NONE, Routing, RoutingCell, TreatmentRow
from evalkit.facts import Trial, steps_of
from evalkit.records import Registration, Wording

QUERIES = "queries"
STEPS = "steps of trials"


class _Pick(NamedTuple):
    query: tuple[str, str]
    canonical: frozenset[str]
    picked: frozenset[str]

    @property
    def exact(self) -> bool:
        return self.picked == self.canonical

    @property
    def any_hit(self) -> bool:
        return bool(self.picked & self.canonical)


def routings(
    registration: Registration, trials: Sequence[Trial]
) -> tuple[Routing, ...]:
    """How each routed arm chose, over its analysed trials."""
    routed = [
        seal.arm.name for seal in registration.arms if seal.arm.prompt is Wording.ROUTED
    ]
    found = {arm: _picks(registration, arm, trials) for arm in routed}
    return tuple(
        _routing(arm, picks, registration.plan.confidence)
        for arm, picks in found.items()
        if picks
    )


def routing_refusal(registration: Registration, found: Sequence[Routing]) -> str | None:
    """Why there is nothing to say about routing; None where there is."""
    if found:
        return None
    if any(seal.arm.prompt is Wording.ROUTED for seal in registration.arms):
        return "No analysed trial of a routed arm says what was chosen."
    return "No arm of this run chooses skills by routing, so there is none to judge."


def treatment_rows(
    registration: Registration, trials: Sequence[Trial]
) -> tuple[TreatmentRow, ...]:
    """Which skills reached the agent, arm by arm, over the analysed trials."""
    return tuple(_treatment_row(seal.arm.name, trials) for seal in registration.arms)


def _picks(
    registration: Registration, arm: str, trials: Sequence[Trial]
) -> list[_Pick]:
    skills = {
        (case.id, slug): frozenset(names)
        for case in registration.cases
        for slug, names in case.skills.items()
    }
    return [
        _Pick(
            query,
            skills.get(query, frozenset()),
            frozenset({step.selection.picked} if step.selection.picked else ()),
        )
        for trial in trials
        if trial.analysed and trial.key.arm == arm
        for step in steps_of(trial.result)
        if step.selection is not None
        for query in ((trial.key.case, step.slug),)
    ]


def _routing(arm: str, picks: Sequence[_Pick], confidence: float) -> Routing:
    # Repeats of a query that all choose alike are one observation, not many.
    distinct = list(dict.fromkeys(picks))
    queries = {pick.query for pick in picks}
    alike = len(distinct) == len(queries)
    seen = distinct if alike else picks
    cells = Counter((_label(pick.canonical), _label(pick.picked)) for pick in picks)
    return Routing(
        arm=arm,
        unit=QUERIES if alike else STEPS,
        n_queries=len(queries),
        n_steps=len(picks),
        exact=proportion((pick.exact for pick in seen), confidence),
        any_hit=proportion((pick.any_hit for pick in seen), confidence),
        nothing_picked=proportion((not pick.picked for pick in seen), confidence),
        cells=tuple(RoutingCell(*pair, n) for pair, n in sorted(cells.items())),
    )


def _label(skills: frozenset[str]) -> str:
    return " + ".join(sorted(skills)) or NONE


def _treatment_row(arm: str, trials: Sequence[Trial]) -> TreatmentRow:
    given = [
        step.treatment
        for trial in trials
        if trial.analysed and trial.key.arm == arm
        for step in steps_of(trial.result)
        if step.treatment is not None
    ]
    return TreatmentRow(
        arm=arm,
        n_steps=len(given),
        n_injected=sum(bool(treatment.injected) for treatment in given),
        n_invoked=sum(bool(treatment.invoked) for treatment in given),
        n_read=sum(bool(treatment.read) for treatment in given),
        skills_invoked=dict(
            sorted(Counter(s for t in given for s in t.invoked).items())
        ),
    )
