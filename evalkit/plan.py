"""Plans: from a few choices to a sealed registration, and what it will do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from evalkit import files, ranking, readiness, reference, routing, wording
from evalkit.errors import InputError
from evalkit.estimate import Estimate, estimate
from evalkit.foresight import Foresight, foresee
from evalkit.inputs import Inputs
from evalkit.recall import Recall, label, recall
from evalkit.records import (
    Candidate,
    GateRule,
    GateSeal,
    Plan,
    Record,
    Registration,
    Selection,
    Step,
    Wording,
)
from evalkit.registration import seal, write_registration


class ArmOutline(Record, frozen=True):
    """What an arm gives: skills in the home, and bytes put into prompts."""

    arm: str
    n_skills: int
    n_catalogue: int
    n_injected_bytes_least: int
    n_injected_bytes_most: int
    library: str | None


class RouteOutline(Record, frozen=True):
    """What routing would pick for a step, before any model was asked.

    `asks` says that a model will choose one of the candidates, or none.
    """

    case: str
    step: str
    canonical: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    picked: str | None
    how: str
    asks: bool

    @property
    def held(self) -> bool:
        """True where a canonical skill is among the candidates."""
        return any(candidate.skill in self.canonical for candidate in self.candidates)


class Outline(Record, frozen=True):
    """What a plan will do, as `plan` prints it before anything is sealed."""

    run_id: str
    corpus: str
    cases: tuple[str, ...]
    arms: tuple[ArmOutline, ...]
    routes: tuple[RouteOutline, ...]
    recall: Recall | None
    repeats: int
    n_trials: int
    n_planned_calls: int
    max_calls: int
    deadline_ms: int
    agent: str
    model: str
    simulated: bool
    isolation: str
    imbalance: int
    first_blocks: tuple[str, ...]
    provider: str | None
    access: str | None
    estimate: Estimate | None
    gate_rule: GateRule | None
    gate: GateSeal | None
    outcome: str
    margin: float
    confirmatory: tuple[str, ...]
    foresight: Foresight


class Draft(Record, frozen=True):
    """A registration that is not yet written, and what it will do."""

    registration: Registration
    outline: Outline


def open_plan(plan: Plan, root: Path) -> Inputs:
    """Open what a plan names, and rank the candidates of its routed arm.

    Raises:
        EvalkitError: As `Inputs` does.
    """
    return Inputs(plan, root, rank=ranking.rank_cases)


def draft(plan: Plan, root: Path, *, now: Callable[[], str]) -> Draft:
    """Open what a plan names and say what would run; nothing is written.

    Args:
        plan: The choices.
        root: Root with cases, graders, reference and runs.
        now: Gives the time as ISO text.

    Raises:
        InputError: Something named is wrong, the plan passes its own budget, or the
            gate run that it names is none.
        ProofError: A case's grader has no proof at its present digests.
        SandboxUnavailableError: The sandbox cannot run here.
    """
    inputs = open_plan(plan, root)
    for case in inputs.corpus.cases:
        reference.load_proof(root, case)
    budget, n_calls = inputs.plan.budget.max_calls, inputs.n_planned_calls
    if n_calls > budget:
        raise InputError(
            "plan",
            expected=f"at most {budget} calls (--max-calls)",
            found=f"{n_calls} planned calls",
            cure="plan fewer cases, arms or repeats, or raise --max-calls",
        )
    registration = inputs.describe(now())
    if plan.record and registration.agent.provider is None:
        raise InputError(
            "plan record",
            expected="an agent that calls a model, whose answers can be recorded",
            found=f"the agent {registration.agent.name}, which calls none",
            cure="leave --record away, or plan another --agent",
        )
    if plan.gate_run:
        gate = readiness.seal_of(root, plan.gate_run, registration)
        registration = seal(msgspec.structs.replace(registration, gate=gate))
    return Draft(registration, _outline(inputs, registration))


def seal_plan(plan: Plan, root: Path, *, now: Callable[[], str]) -> Path:
    """Draft a plan and write its registration.

    Returns:
        The run's folder.
    """
    return write_registration(root, draft(plan, root, now=now).registration)


def load_plan(path: Path) -> Plan:
    """Read a plan from TOML with the fields of `Plan`.

    Raises:
        InputError: A key is unknown or a value of a wrong type, or it is of a replay.
    """
    found = files.convert(files.read_toml(path), Plan, path)
    if found.replay_run is not None:
        raise InputError(
            f"{path} replay_run",
            expected="a plan whose model is to be asked",
            found=f"one that replays {found.replay_run}",
            cure=f"leave it out; `evalkit replay {found.replay_run}` plans a replay",
        )
    return found


def _outline(inputs: Inputs, registration: Registration) -> Outline:
    plan = registration.plan
    blocks = dict.fromkeys(f"{key.case} r{key.repeat}" for key in registration.schedule)
    return Outline(
        run_id=registration.run_id,
        corpus=plan.corpus,
        cases=tuple(inputs.cases),
        arms=tuple(_arm_outline(inputs, name) for name in inputs.arms),
        routes=_routes(inputs),
        recall=_recall(inputs),
        repeats=plan.repeats or 0,
        n_trials=len(registration.schedule),
        n_planned_calls=registration.n_planned_calls,
        max_calls=plan.budget.max_calls,
        deadline_ms=plan.budget.deadline_ms,
        agent=wording.agent(registration.agent.name, registration.agent.version),
        model=plan.model,
        simulated=registration.agent.simulated,
        isolation=registration.isolation.level,
        imbalance=registration.imbalance,
        first_blocks=tuple(blocks)[:3],
        provider=registration.agent.provider,
        access=registration.agent.access,
        estimate=estimate(registration, inputs.root),
        gate_rule=plan.gate_rule,
        gate=registration.gate,
        outcome=plan.outcome,
        margin=plan.margin,
        confirmatory=plan.confirmatory or (),
        foresight=foresee(
            len(inputs.cases), plan.repeats or 0, confidence=plan.confidence
        ),
    )


def _arm_outline(inputs: Inputs, name: str) -> ArmOutline:
    arm = inputs.arms[name]
    library = inputs.libraries[name]
    deliveries = [
        inputs.delivery(arm, case, step, picked)
        for case in inputs.corpus.cases
        for step in case.steps
        for picked in inputs.possible_picks(arm, case, step)
    ]
    n_bytes = [delivery.n_injected_bytes for delivery in deliveries]
    catalogue = arm.prompt is Wording.CATALOGUE
    return ArmOutline(
        arm=name,
        n_skills=len(deliveries[0].offered),
        n_catalogue=len(deliveries[0].offered) if catalogue else 0,
        n_injected_bytes_least=min(n_bytes),
        n_injected_bytes_most=max(n_bytes),
        library=library.source if library else None,
    )


def _routes(inputs: Inputs) -> tuple[RouteOutline, ...]:
    return tuple(
        RouteOutline(
            case,
            step.slug,
            step.skills,
            chosen.candidates,
            chosen.picked,
            chosen.how,
            asks=inputs.asks(chosen),
        )
        for case, step, chosen in _chosen(inputs)
    )


def _recall(inputs: Inputs) -> Recall | None:
    labelled = [
        label(step.skills, chosen, inputs.plan) for _, step, chosen in _chosen(inputs)
    ]
    return recall(labelled) if labelled else None


def _chosen(inputs: Inputs) -> list[tuple[str, Step, Selection]]:
    """What routing chooses for each step, where an arm is routed."""
    return [
        (case.id, step, routing.choose(inputs.candidates[case.id][step.slug]))
        for case in inputs.corpus.cases
        if case.id in inputs.candidates
        for step in case.steps
    ]
