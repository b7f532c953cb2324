"""What reached the agent: what an arm gave, what requests showed, what was used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from evalkit.conclusions import UNKNOWN_LISTS, Stray, TreatmentRow
from evalkit.facts import Trial, steps_of
from evalkit.records import Registration, Treatment, Wording


def treatment_rows(
    registration: Registration, trials: Sequence[Trial]
) -> tuple[TreatmentRow, ...]:
    """Which skills reached the agent, arm by arm, over the analysed trials."""
    return tuple(
        _treatment_row(
            seal.arm.name,
            [
                given
                for trial in trials
                if trial.analysed and trial.key.arm == seal.arm.name
                for _, given in given_to(registration, trial)
            ],
        )
        for seal in registration.arms
    )


def strays(registration: Registration, trials: Sequence[Trial]) -> tuple[Stray, ...]:
    """Every step whose requests show another treatment than its arm delivered."""
    found = (
        Stray(
            str(trial.key),
            slug,
            _missing(given.offered, given.listed),
            _missing(given.injected, given.carried),
            _missing(given.listed or (), given.offered),
        )
        for trial in trials
        if trial.analysed
        for slug, given in given_to(registration, trial)
    )
    return tuple(s for s in found if s.not_listed or s.not_carried or s.not_offered)


def given_to(
    registration: Registration, trial: Trial
) -> Iterator[tuple[str, Treatment]]:
    """Slug and treatment of each step, as far as it can be held against the arm's."""
    arm = next(s.arm for s in registration.arms if s.arm.name == trial.key.arm)
    for step in steps_of(trial.result):
        given = step.treatment
        if given is None:
            continue
        if arm.prompt is Wording.INJECTION:
            injected = (*given.injected, Wording.INJECTION.value)
            given = msgspec.structs.replace(given, injected=injected)
        if registration.agent.name == UNKNOWN_LISTS and not given.listed:
            given = msgspec.structs.replace(given, listed=None)
        yield step.slug, given


def _missing(wanted: Sequence[str], seen: Sequence[str] | None) -> tuple[str, ...]:
    """Those that were not seen; none where nobody looked."""
    return () if seen is None else tuple(n for n in wanted if n not in seen)


def _treatment_row(arm: str, given: Sequence[Treatment]) -> TreatmentRow:
    offered = [t for t in given if t.offered]
    injected = [t for t in given if t.injected]
    n_looked = sum(t.listed is not None for t in given)
    return TreatmentRow(
        arm=arm,
        n_steps=len(given),
        n_looked=n_looked,
        n_offered=len(offered),
        n_listed=sum(_all(t.offered, t.listed) for t in offered) if n_looked else None,
        n_injected=len(injected),
        n_carried=sum(_all(t.injected, t.carried) for t in injected)
        if any(t.carried is not None for t in given)
        else None,
        n_invoked=sum(bool(t.invoked) for t in given),
        n_read=sum(bool(t.read) for t in given),
        skills_invoked=dict(
            sorted(Counter(s for t in given for s in t.invoked).items())
        ),
    )


def _all(wanted: Sequence[str], seen: Sequence[str] | None) -> bool:
    return seen is not None and set(wanted) <= set(seen)
