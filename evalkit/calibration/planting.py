"""One simulated run: a real schedule and real records, with effects that are known.

A trial's quality is the latent level of its case and arm plus normal noise; what is
delivered is that, cut to 0..1 and rounded to the grid of the case's checks. Levels are
chosen so that the *mean of what is delivered* is what was declared: an effect is
planted on the scale that is reported, ceiling and rounding included, and what an
interval should hold is known exactly.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import msgspec
from scipy.optimize import root_scalar
from scipy.special import ndtr

from evalkit import outcomes, schedule
from evalkit.calibration.scenarios import Scenario
from evalkit.records import (
    AgentSeal,
    Arm,
    ArmSeal,
    AttemptEnded,
    AttemptStarted,
    CaseSeal,
    CheckResult,
    Complaint,
    Digests,
    Event,
    Grade,
    Home,
    Isolation,
    Kind,
    Plan,
    Registration,
    StepResult,
    TrialKey,
    TrialResult,
    Wording,
)

BASELINE, STEP = "baseline", "task"
THESE, LIKE_THESE = "these tasks", "tasks like these"
ALIKE = "score alike"
"""Measure of the claim that scores differ by less than the margin."""
FAR = 100.0
"""A latent level beyond which every trial delivers the same."""
PLANTED = "planted"
"""Stands where a real run has a digest, a version or a moment."""
PLAN = Plan(PLANTED)
"""What a plan says where nothing is asked for: comparators, outcome, confidence."""


class Law(NamedTuple):
    """The law of a score: the chance that at least 1, 2, .. of its checks pass."""

    at_least: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean score."""
        return sum(self.at_least) / len(self.at_least)

    @property
    def passing(self) -> float:
        """Chance that every check passes."""
        return self.at_least[-1]

    def draw(self, rng: random.Random) -> int:
        """How many checks pass in one trial."""
        u = rng.uniform(0, 1)
        return sum(u < chance for chance in self.at_least)


class Planted(NamedTuple):
    """A simulated run, and what is true of it.

    `truths` holds, by arm, question and measure, the true difference from the
    baseline: the mean over the drawn cases for these tasks, that over the population
    they were drawn from for tasks like these.
    """

    registration: Registration
    events: tuple[Event, ...]
    truths: dict[tuple[str, str, str], float]


@cache
def score_law(mean: float, noise: float, n_checks: int) -> Law:
    """The law whose mean score is `mean`.

    Raises:
        ValueError: No law has this mean: it is not inside 0..1.
    """

    def law(level: float) -> Law:
        steps = [(k - 0.5) / n_checks for k in range(1, n_checks + 1)]
        return Law(tuple(float(ndtr((level - step) / noise)) for step in steps))

    found = root_scalar(
        lambda x: law(x).mean - mean, bracket=(-FAR * noise, FAR * noise), xtol=1e-13
    )
    return law(found.root)


def arm_of(effect: float) -> str:
    """Name of the arm that has an effect."""
    return f"effect{effect:+g}"


def plant(
    scenario: Scenario, effects: tuple[float, ...], rng: random.Random
) -> Planted:
    """Simulate one run.

    Args:
        scenario: Its design and spread.
        effects: One for each arm beside the baseline.
        rng: Draws cases, schedule and trials.
    """
    spread = scenario.spread
    blank = _blank_registration(scenario, effects)
    laws: dict[tuple[str, str], Law] = {}
    for case in blank.cases:
        level, n_checks = rng.choice(spread.levels), len(case.complaints[STEP])
        laws[case.id, BASELINE] = score_law(level, spread.noise, n_checks)
        for effect in effects:
            mean = round(level + effect + rng.choice(spread.deviations), 9)
            laws[case.id, arm_of(effect)] = score_law(mean, spread.noise, n_checks)
    cases = [case.id for case in blank.cases]
    arms = [seal.arm.name for seal in blank.arms]
    order = schedule.make_schedule(cases, arms, scenario.n_repeats, rng=rng)
    registration = msgspec.structs.replace(
        blank,
        schedule=order,
        imbalance=schedule.imbalance(order),
        plan=msgspec.structs.replace(blank.plan, seed=rng.randrange(2**31)),
    )
    bodies = (
        body
        for key in order
        for law in (laws[key.case, key.arm],)
        for body in (
            AttemptStarted(key, 1),
            AttemptEnded(_result(key, len(law.at_least), law.draw(rng))),
        )
    )
    events = tuple(Event(n, PLANTED, "", body) for n, body in enumerate(bodies))
    return Planted(registration, events, _truths(cases, effects, laws))


@cache
def _blank_registration(scenario: Scenario, effects: tuple[float, ...]) -> Registration:
    """What all runs of a scenario have in common; without a schedule, not sealed."""
    arms = (BASELINE, *map(arm_of, effects))
    grids = scenario.spread.n_checks
    return Registration(
        created_at=PLANTED,
        plan=msgspec.structs.replace(PLAN, arms=arms, repeats=scenario.n_repeats),
        corpus_digest=PLANTED,
        cases=tuple(
            _case(f"case-{n + 1}", grids[n % len(grids)])
            for n in range(scenario.n_cases)
        ),
        arms=tuple(
            ArmSeal(Arm(name, Home.NONE, Wording.BARE), None, None, (), {})
            for name in arms
        ),
        agent=AgentSeal(PLANTED, PLANTED, PLANTED, PLANTED, simulated=True),
        rates_digest=PLANTED,
        isolation=Isolation("none", PLANTED),
        outcomes=outcomes.registered_table(),
        candidates={},
        schedule=(),
        imbalance=0,
        n_planned_calls=0,
        run_source=PLANTED,
        analysis_source=PLANTED,
    )


def _case(name: str, n_checks: int) -> CaseSeal:
    return CaseSeal(
        id=name,
        title=name,
        kind=Kind.FEATURE,
        hypothesis=PLANTED,
        steps=(STEP,),
        skills={STEP: ()},
        complaints={STEP: dict.fromkeys(_checks(n_checks), Complaint.CORE)},
        digests=Digests(PLANTED, PLANTED, PLANTED, PLANTED),
        proof=PLANTED,
    )


def _checks(n: int) -> list[str]:
    return [f"check-{k}" for k in range(1, n + 1)]


def _result(key: TrialKey, n_checks: int, n_passed: int) -> TrialResult:
    steps = _steps(n_checks, n_passed)
    outcome, reason = outcomes.outcome_of(steps, outcomes.registered_table())
    return TrialResult(key, 1, outcome, reason, steps, "none", True, PLANTED)  # noqa: FBT003


@cache
def _steps(n_checks: int, n_passed: int) -> tuple[StepResult, ...]:
    checks = tuple(
        CheckResult(name, 1, n < n_passed) for n, name in enumerate(_checks(n_checks))
    )
    return (StepResult(STEP, grade=Grade(checks, 1, PLANTED, 0.0)),)


def _truths(
    cases: Sequence[str],
    effects: Sequence[float],
    laws: dict[tuple[str, str], Law],
) -> dict[tuple[str, str, str], float]:
    truths: dict[tuple[str, str, str], float] = {}
    for effect in effects:
        arm = arm_of(effect)
        pairs = [(laws[case, arm], laws[case, BASELINE]) for case in cases]
        scores = [mine.mean - other.mean for mine, other in pairs]
        passes = [mine.passing - other.passing for mine, other in pairs]
        truths[arm, THESE, "score"] = sum(scores) / len(cases)
        truths[arm, THESE, ALIKE] = truths[arm, THESE, "score"]
        truths[arm, THESE, "passed"] = sum(passes) / len(cases)
        truths[arm, LIKE_THESE, "score"] = effect
    return truths
