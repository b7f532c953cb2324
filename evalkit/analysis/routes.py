"""How routing chose, against what it could reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from evalkit.analysis.choices import Pick, choices, overlap, recalled, skill_rows
from evalkit.analysis.tallies import proportion
from evalkit.conclusions import (
    NONE,
    Accuracy,
    Proportion,
    RouteRow,
    Routing,
    RoutingCell,
)
from evalkit.facts import Trial, steps_of
from evalkit.outcomes import SELECT
from evalkit.records import (
    ArmSeal,
    Plan,
    Registration,
    Selection,
    StepResult,
    Wording,
)

QUERIES = "queries"
STEPS = "steps of trials"


class _Chosen(NamedTuple):
    query: tuple[str, str]
    step: StepResult
    selection: Selection


_Skills = Mapping[tuple[str, str], tuple[str, ...]]


def routings(
    registration: Registration, trials: Sequence[Trial]
) -> tuple[Routing, ...]:
    """How each routed arm chose, over its analysed trials."""
    skills = {
        (case.id, slug): names
        for case in registration.cases
        for slug, names in case.skills.items()
    }
    return tuple(
        _routing(registration, seal, chosen, skills)
        for seal in registration.arms
        if seal.arm.prompt is Wording.ROUTED
        and (chosen := _chosen(seal.arm.name, trials))
    )


def routing_refusal(registration: Registration, found: Sequence[Routing]) -> str | None:
    """Why there is nothing to say about routing; None where there is."""
    if found:
        return None
    if any(seal.arm.prompt is Wording.ROUTED for seal in registration.arms):
        return "No analysed trial of a routed arm says what was chosen."
    return "No arm of this run chooses skills by routing, so there is none to judge."


def _chosen(arm: str, trials: Sequence[Trial]) -> list[_Chosen]:
    return [
        _Chosen((trial.key.case, step.slug), step, step.selection)
        for trial in trials
        if trial.analysed and trial.key.arm == arm
        for step in steps_of(trial.result)
        if step.selection is not None
    ]


def _routing(
    registration: Registration,
    seal: ArmSeal,
    chosen: Sequence[_Chosen],
    skills: _Skills,
) -> Routing:
    picks = [_pick(one, skills.get(one.query, ())) for one in chosen]
    # Repeats of a query that all choose alike are one observation, not many.
    distinct = list(dict.fromkeys(picks))
    queries = list(dict.fromkeys(pick.query for pick in picks))
    alike = len(distinct) == len(queries)
    found = accuracy(
        distinct if alike else picks,
        every=picks,
        unit=QUERIES if alike else STEPS,
        library=seal.skills,
        plan=registration.plan,
    )
    return Routing(
        **msgspec.structs.asdict(found),
        arm=seal.arm.name,
        n_steps=len(picks),
        rows=tuple(
            _row([one for one in chosen if one.query == query], skills.get(query, ()))
            for query in queries
        ),
    )


def accuracy(
    picks: Sequence[Pick],
    *,
    every: Sequence[Pick],
    unit: str,
    library: Collection[str],
    plan: Plan,
) -> Accuracy:
    """How well choices came out.

    Args:
        picks: The choices that count as observations.
        every: All choices.
        unit: What an observation is.
        library: Names of the skills that there are.
        plan: Holds the length of the candidates' lists, and the confidence.
    """

    def share(hits: Iterable[bool]) -> Proportion:
        return proportion(hits, plan.confidence)

    needing = [pick for pick in picks if pick.canonical]
    cells = Counter((_label(pick.canonical), _label(pick.picked)) for pick in every)
    by_skill = skill_rows(picks)
    return Accuracy(
        unit=unit,
        n_queries=len({pick.query for pick in picks}),
        exact=share(pick.exact for pick in picks),
        exact_ceiling=share(pick.exact_possible for pick in picks),
        any_hit=share(pick.any_hit for pick in needing),
        any_hit_ceiling=share(pick.held for pick in needing),
        nothing_picked=share(not pick.picked for pick in picks),
        choices=choices(picks),
        recalled=recalled(every, library, n_candidates=plan.n_candidates),
        overlap=overlap(picks, by_skill),
        skills=by_skill,
        cells=tuple(RoutingCell(*pair, n) for pair, n in sorted(cells.items())),
    )


def _pick(found: _Chosen, canonical: Sequence[str]) -> Pick:
    picked = found.selection.picked
    return Pick(
        found.query,
        frozenset(canonical),
        frozenset({picked} if picked else ()),
        frozenset(candidate.skill for candidate in found.selection.candidates),
    )


def _row(found: Sequence[_Chosen], canonical: tuple[str, ...]) -> RouteRow:
    """A query's row; its steps were all ranked alike, since candidates are sealed."""
    given = [one.step.treatment for one in found if one.step.treatment is not None]
    seen = [one.listed for one in given if one.listed is not None]
    case, step = found[0].query
    return RouteRow(
        case=case,
        step=step,
        n_steps=len(found),
        canonical=canonical,
        candidates=found[0].selection.candidates,
        picked=_counts(one.selection.picked or NONE for one in found),
        how=_counts(one.selection.how for one in found),
        offered=tuple(sorted({name for one in given for name in one.offered})),
        invoked=_counts(name for one in given for name in set(one.invoked)),
        read=_counts(name for one in given for name in set(one.read)),
        n_asked=sum(any(c.purpose == SELECT for c in one.step.calls) for one in found),
        listed=tuple(sorted({name for names in seen for name in names}))
        if seen
        else None,
    )


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _label(skills: frozenset[str]) -> str:
    return " + ".join(sorted(skills)) or NONE
