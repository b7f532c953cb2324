"""From a sealed registration and its journal to every reported number.

Tables, figures, gates and notebooks read the `Analysis` made here and compute
nothing of their own.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from evalkit import facts, prices, readiness, stats
from evalkit.analysis import (
    arrivals,
    attempts,
    beyond,
    chains,
    checked,
    contrasts,
    detection,
    equivalence,
    graders,
    limits,
    missing,
    passing,
    replication,
    routes,
    sensitivity,
    spending,
    tallies,
    times,
    treated,
)
from evalkit.conclusions import (
    Analysis,
    CaseSummary,
    Design,
    DeviationRow,
    Integrity,
    RegradeRow,
    Seals,
)
from evalkit.differences import differences
from evalkit.facts import Facts
from evalkit.journal import Journal
from evalkit.records import (
    AttemptEnded,
    Deviation,
    Event,
    Layout,
    Registration,
    Regraded,
    RunEnded,
    RunStarted,
    TrialResult,
)
from evalkit.registration import own_digest, source_digests
from evalkit.schedule import blocks_of
from evalkit.usage import Rates

PACKAGES = ("numpy", "scipy", "pandas", "msgspec")


def analyse(
    registration: Registration,
    journal: Journal,
    rates: Rates,
    *,
    rates_digest: str | None = None,
) -> Analysis:
    """Compute every reported number of a run, finished or not.

    Args:
        registration: What was planned.
        journal: What happened.
        rates: Prices of tokens.
        rates_digest: sha256 of the file they come from; that of the package's
            own price file where it is not given.

    Returns:
        The analysis, without verdicts: `gates.judge` adds them.

    Raises:
        InputError: The journal holds a trial that was not planned, or the
            registered accounting is unknown.
    """
    found = facts.gather(registration, journal.events)
    priced = tallies.price_trials(found, rates, registration.plan.accounting)
    checks = checked.check_rows(registration, found.trials)
    routing = routes.routings(registration, found.trials)
    timed = times.time_rows(registration, priced)
    seals = _seals(registration, journal, rates_digest, found)
    made = Analysis(
        run=registration.run_id,
        simulated=facts.is_simulated(registration, found),
        replay=registration.replay,
        question=contrasts.QUESTION,
        sentence=_sentence(registration),
        seals=seals,
        integrity=_integrity(registration, journal),
        graders=graders.grader_rows(registration, found.trials),
        design=_design(registration, found),
        cases=_cases(registration, found),
        flow=tallies.flow(registration, found),
        attempts=attempts.attempt_rows(registration, found),
        lost_blocks=attempts.lost_blocks(registration, found),
        arms=tallies.arm_summaries(registration, priced),
        contrasts=contrasts.contrasts(registration, priced),
        case_arms=tallies.case_arms(registration, priced),
        case_contrasts=contrasts.case_contrasts(registration, priced),
        steps=chains.step_rows(registration, priced, rates),
        checks=checks,
        complaints=checked.complaint_rows(checks),
        routing=routing,
        routing_refusal=routes.routing_refusal(registration, routing),
        treatments=arrivals.treatment_rows(registration, found.trials),
        strays=arrivals.strays(registration, found.trials),
        received=treated.received_rows(registration, priced),
        replications=replication.replication_rows(registration),
        times=timed,
        time_contrasts=times.time_contrasts(registration, timed),
        purposes=spending.purpose_rows(registration, priced, rates),
        usage=spending.usage_reports(registration, priced),
        disagreements=spending.disagreements(priced),
        cost=spending.cost(registration, found, rates),
        deviations=_deviations(registration, journal.events, seals),
        regrades=tuple(_regrades(registration, journal.events)),
        equivalences=equivalence.equivalences(registration, priced),
        beyond=beyond.beyond_rows(registration, priced),
        sensitivity=sensitivity.sensitivity_rows(registration, priced),
        missing=missing.missing_rows(registration, found.trials),
        detectable=detection.detectable_rows(registration, priced),
        passes=passing.pass_rows(registration, priced),
        paired_passes=passing.paired_passes(registration, priced),
        gate_verdict=readiness.judge(registration, journal)
        if registration.plan.design is Layout.GATE
        else None,
        gate_run=registration.gate,
        limits=(),
    )
    return limits.with_limits(made)


def _seals(
    registration: Registration,
    journal: Journal,
    rates_digest: str | None,
    found: Facts,
) -> Seals:
    plan, agent = registration.plan, registration.agent
    levels = {a.result.isolation for a in found.attempts if a.result}
    return Seals(
        registration=registration.digest,
        created_at=registration.created_at,
        corpus=plan.corpus,
        corpus_digest=registration.corpus_digest,
        run_source=registration.run_source,
        analysis_source=registration.analysis_source,
        analysis_source_found=source_digests()[1],
        rates=registration.rates_digest,
        rates_found=rates_digest or prices.digest(),
        journal_head=journal.head,
        n_events=len(journal.events),
        agent=agent.name,
        agent_version=agent.version,
        executable_sha256=agent.sha256,
        provider=agent.provider,
        access=agent.access if agent.provider else None,
        model=plan.model,
        accounting=plan.accounting,
        seed=plan.seed,
        isolation=registration.isolation.level,
        isolation_detail=registration.isolation.detail,
        isolation_found=tuple(sorted(levels)),
        grader_digests={case.id: case.digests.grader for case in registration.cases},
        environment={
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
    )


def _sentence(registration: Registration) -> str:
    n_cases = len(registration.cases)
    these = "this 1 task" if n_cases == 1 else f"these {n_cases} tasks"
    if len(registration.arms) == 1:
        return f"What did the one arm deliver on {these}?"
    return f"If {these} were run again, would the arms differ in the same way?"


def _integrity(registration: Registration, journal: Journal) -> Integrity:
    bodies = [event.body for event in journal.events]
    starts = [body.registration for body in bodies if isinstance(body, RunStarted)]
    turns = [body for body in bodies if isinstance(body, RunStarted | RunEnded)]
    last = turns[-1] if turns else None
    return Integrity(
        recomputes=own_digest(registration) == registration.digest,
        same_registration=all(named == registration.digest for named in starts),
        n_starts=len(starts),
        torn=journal.torn,
        ended=last.reason if isinstance(last, RunEnded) else None,
    )


def _design(registration: Registration, found: Facts) -> Design:
    plan = registration.plan
    blocks = blocks_of(registration.schedule)
    return Design(
        layout=plan.design,
        arms=tuple(seal.arm.name for seal in registration.arms),
        comparators=plan.comparators,
        repeats=max(key.repeat for key in registration.schedule),
        outcome=plan.outcome,
        margin=plan.margin,
        confidence=plan.confidence,
        imbalance=registration.imbalance,
        n_trials=len(registration.schedule),
        n_blocks=len(blocks),
        n_complete=len(_whole(found)),
        n_cases=len({case for case, _ in _whole(found)}),
        min_cases=stats.MIN_CASES,
    )


def _cases(registration: Registration, found: Facts) -> tuple[CaseSummary, ...]:
    planned = {(key.case, key.repeat) for key in registration.schedule}
    return tuple(
        CaseSummary(
            id=case.id,
            title=case.title,
            kind=case.kind,
            hypothesis=case.hypothesis,
            n_steps=len(case.steps),
            n_checks=sum(len(checks) for checks in case.complaints.values()),
            n_blocks=sum(name == case.id for name, _ in planned),
            n_complete=sum(name == case.id for name, _ in _whole(found)),
        )
        for case in registration.cases
    )


def _whole(found: Facts) -> set[tuple[str, int]]:
    """Case and repeat of the blocks that are whole."""
    return {(t.key.case, t.key.repeat) for t in found.trials if t.analysed}


def _deviations(
    registration: Registration, events: Sequence[Event], seals: Seals
) -> tuple[DeviationRow, ...]:
    noted = [
        DeviationRow(event.at, event.body.what, event.body.registered, event.body.found)
        for event in events
        if isinstance(event.body, Deviation)
    ]
    now = (
        DeviationRow(
            None, "analysis source", seals.analysis_source, seals.analysis_source_found
        ),
        DeviationRow(None, "rates", registration.rates_digest, seals.rates_found),
    )
    return (*noted, *(row for row in now if row.registered != row.found))


def _regrades(
    registration: Registration, events: Sequence[Event]
) -> Iterator[RegradeRow]:
    steps = {case.id: case.steps for case in registration.cases}
    firsts: dict[tuple[str, int], TrialResult] = {}
    for event in events:
        body = event.body
        if not isinstance(body, AttemptEnded | Regraded):
            continue
        result = body.result
        tried = (str(result.key), result.attempt)
        if isinstance(body, AttemptEnded):
            firsts[tried] = result
            continue
        slugs = steps[result.key.case]
        first = firsts.get(tried)
        yield RegradeRow(
            *tried,
            facts.score_of(first, slugs) if first else None,
            facts.score_of(result, slugs),
            body.how,
            differences(first, result) if first else (),
        )
