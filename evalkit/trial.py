"""One trial: carry it out into evidence, and conclude from evidence alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from evalkit import files, grading, outcomes, process, scoring
from evalkit.agents import Reader, Task
from evalkit.evidence import Evidence, StepEvidence
from evalkit.inputs import Inputs
from evalkit.records import (
    Case,
    Step,
    StepResult,
    Treatment,
    TrialKey,
    TrialResult,
    TrialSpec,
)
from evalkit.sandbox import Place

GRACE_S = 5.0
MAX_OUTPUT_BYTES = 64 * 1024 * 1024


class Opened(Protocol):
    """What it takes to conclude from evidence: `Inputs`, or less than all of it."""

    @property
    def cases(self) -> Mapping[str, Case]:
        """The cases, by id."""
        ...

    @property
    def agent(self) -> Reader:
        """What reads the agent's evidence."""
        ...


def run_trial(spec: TrialSpec, inputs: Inputs) -> TrialResult:
    """Carry out one attempt at a trial; all that is seen becomes evidence first.

    Args:
        spec: Which trial, and where its run is.
        inputs: The opened inputs of the run's registration.

    Returns:
        What `conclude` makes of the evidence.
    """
    case = inputs.cases[spec.key.case]
    evidence = Evidence(Path(spec.run), spec.key, spec.attempt)
    with files.private_folder() as private:
        workspace = private / "workspace"
        files.write_entries(
            files.read_tree(inputs.root / "cases" / case.id / "fixture"), workspace
        )
        place = inputs.box.place(workspace, private / "home", private / "staging")
        for step in case.steps:
            _carry_out(spec, step, inputs, evidence.start(step), place)
            result = conclude_step(evidence.step(step), step, inputs)
            score = scoring.grade_score(result.grade)
            if not outcomes.goes_on(result, step, score, outcomes.registered_table()):
                break
    evidence.seal(
        isolation=inputs.box.isolation.level, simulated=inputs.agent.simulated
    )
    return conclude(evidence, inputs)


def conclude(evidence: Evidence, inputs: Opened) -> TrialResult:
    """The result of an attempt, from its evidence alone.

    Raises:
        InputError: The evidence is missing, damaged, or differs from its seal.
    """
    sealed = evidence.load_seal()
    case = inputs.cases[sealed.key.case]
    steps = tuple(
        conclude_step(evidence.step(step), step, inputs) for step in case.steps
    )
    outcome, reason = outcomes.outcome_of(steps, outcomes.registered_table())
    return TrialResult(
        key=sealed.key,
        attempt=sealed.attempt,
        outcome=outcome,
        reason=reason,
        steps=steps,
        isolation=sealed.isolation,
        simulated=sealed.simulated,
        evidence_digest=evidence.digest(),
    )


def conclude_step(found: StepEvidence, step: Step, inputs: Opened) -> StepResult:
    """The result of one step, from its evidence alone."""
    if not found.folder.is_dir():
        return StepResult(step.slug, not_reached=True)
    delivered = found.delivery()
    session = found.session if found.session.is_dir() else None
    reading = inputs.agent.read(found.stdout, session, found.call(process.Finished))
    return StepResult(
        slug=step.slug,
        calls=(reading.call,),
        requests=reading.requests,
        disagreement=reading.disagreement,
        selection=delivered.selection,
        treatment=Treatment(
            offered=delivered.offered,
            injected=delivered.injected,
            invoked=reading.invoked,
            read=reading.read,
        ),
        grade=grading.read_verdict(found.answers),
    )


def seed_of(seed: int, key: TrialKey, step: Step) -> int:
    """Seed of a grading's random inputs, drawn from the registered seed."""
    drawn = files.sha256(f"{seed}:{key}:{step.slug}".encode())
    return int(drawn[:12], 16)


def _carry_out(
    spec: TrialSpec, step: Step, inputs: Inputs, evidence: StepEvidence, place: Place
) -> None:
    """Deliver the arm, run the agent, save the workspace, question it."""
    case = inputs.cases[spec.key.case]
    _run_agent(spec, step, inputs, evidence, place)
    workspace = place.workspace.host
    copy = workspace.with_name(f"graded-{step.folder}")
    evidence.add_workspace(workspace, copy)
    grading.grade(
        case,
        step,
        copy,
        root=inputs.root,
        box=inputs.box,
        seed=seed_of(spec.seed, spec.key, step),
        answers=evidence.answers,
    )


def _run_agent(
    spec: TrialSpec, step: Step, inputs: Inputs, evidence: StepEvidence, place: Place
) -> None:
    arm, case = inputs.arms[spec.key.arm], inputs.cases[spec.key.case]
    selection = inputs.selection(arm, case, step)
    picked = selection.picked if selection else None
    delivery = inputs.delivery(arm, case, step, picked)
    evidence.add_delivery(delivery, selection)
    home = _fresh(place.home.host)
    _fresh(place.staging.host)
    config = home / inputs.agent.config_home
    config.mkdir()
    delivered = tuple(files.Entry(*item) for item in delivery.files.items())
    files.write_entries(delivered, config)
    task = Task(spec.key, step, delivery.prompt, inputs.plan.model, place, spec.seed)
    command = inputs.agent.command(task)
    launch = inputs.box.agent_argv(
        command.argv, command.env, place, command.binds, command.network
    )
    finished = process.run(
        launch.argv,
        env=launch.env,
        cwd=launch.cwd,
        stdout=evidence.stdout,
        stderr=evidence.stderr,
        timeout_s=inputs.plan.limits.call_timeout_ms / 1000,
        grace_s=GRACE_S,
        max_output_bytes=MAX_OUTPUT_BYTES,
        given=launch.given,
        caps=launch.caps,
    )
    if launch.contained:  # the sandbox gives no account of what ran in it
        finished = msgspec.structs.replace(finished, cpu_s=None)
    evidence.add_call(finished)
    evidence.add_session(home, f"{inputs.agent.config_home}/projects")


def _fresh(folder: Path) -> Path:
    files.remove_tree(folder)
    folder.mkdir()
    return folder
