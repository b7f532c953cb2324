"""One trial: carry it out into evidence, and conclude from evidence alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from evalkit import files, grading, outcomes, process, scoring
from evalkit.agents import Reader, Reading, faults
from evalkit.calls import Caller
from evalkit.evidence import CallEvidence, Evidence, StepEvidence
from evalkit.inputs import Inputs
from evalkit.ledger import Ledger
from evalkit.outcomes import SELECT
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


def run_trial(spec: TrialSpec, inputs: Inputs, ledger: Ledger) -> TrialResult:
    """Carry out one attempt at a trial; all that is seen becomes evidence first.

    Args:
        spec: Which trial, and where its run is.
        inputs: The opened inputs of the run's registration.
        ledger: The way of its calls to their model.

    Returns:
        What `conclude` makes of the evidence.
    """
    case = inputs.cases[spec.key.case]
    evidence = Evidence(Path(spec.run), spec.key, spec.attempt)
    with files.private_folder() as private:
        workspace = private / "workspace"
        files.write_entries(inputs.fixture(case), workspace)
        place = inputs.box.place(workspace, private / "home", private / "staging")
        for step in case.steps:
            kept = evidence.start(step)
            if Caller(spec, step, inputs, ledger, kept, place).carry_out():
                _grade(spec, step, inputs, kept, place)
            if step is case.steps[-1]:  # `conclude` reads the evidence of all
                break
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
    readings: list[Reading] = []
    if found.choice.was_made:
        chosen = _reading(found.choice, inputs, None, 0)
        call = msgspec.structs.replace(chosen.call, purpose=SELECT)
        readings.append(msgspec.structs.replace(chosen, call=call))
    if not found.task.was_made:
        return _step_result(step, readings)
    session = found.session if found.session.is_dir() else None
    reading = _reading(found.task, inputs, session, len(readings))
    return msgspec.structs.replace(
        _step_result(step, [*readings, reading]),
        selection=found.delivery().selection,
        treatment=_treatment(found, reading),
        grade=grading.read_verdict(found.answers),
    )


def _step_result(step: Step, readings: Sequence[Reading]) -> StepResult:
    notes = [one.disagreement for one in readings if one.disagreement]
    counted = [one.n_unknown_requests for one in readings]
    unknown = [n for n in counted if n is not None]
    return StepResult(
        slug=step.slug,
        calls=tuple(one.call for one in readings),
        requests=tuple(request for one in readings for request in one.requests),
        disagreement="; ".join(notes) or None,
        n_unknown_requests=sum(unknown) if unknown else None,
    )


def seed_of(seed: int, key: TrialKey, step: Step) -> int:
    """Seed of a grading's random inputs, drawn from the registered seed."""
    drawn = files.sha256(f"{seed}:{key}:{step.slug}".encode())
    return int(drawn[:12], 16)


def _grade(
    spec: TrialSpec, step: Step, inputs: Inputs, evidence: StepEvidence, place: Place
) -> None:
    """Save the workspace, and question a copy of it."""
    workspace = place.workspace.host
    copy = workspace.with_name(f"graded-{step.folder}")
    evidence.add_workspace(workspace, copy)
    grading.grade(
        inputs.cases[spec.key.case],
        step,
        copy,
        root=inputs.root,
        box=inputs.box,
        seed=seed_of(spec.seed, spec.key, step),
        answers=evidence.answers,
    )


def _reading(
    call: CallEvidence, inputs: Opened, session: Path | None, n: int
) -> Reading:
    """What a call's evidence says; `n` is its number in its step, from 0."""
    finished = call.ended(process.Finished)
    exchanges = call.exchanges()
    found = inputs.agent.read(call.stdout, session, finished, exchanges)
    return msgspec.structs.replace(
        found,
        requests=tuple(msgspec.structs.replace(r, call=n) for r in found.requests),
        n_unknown_requests=faults.count_unknown(exchanges) if exchanges else None,
    )


def _treatment(found: StepEvidence, reading: Reading) -> Treatment:
    delivered, exchanges = found.delivery(), found.task.exchanges()
    return Treatment(
        offered=delivered.offered,
        injected=delivered.injected,
        invoked=reading.invoked,
        read=reading.read,
        listed=_names(one.listed for one in exchanges) if exchanges else None,
        carried=_names(one.carried for one in exchanges) if exchanges else None,
    )


def _names(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({name for group in groups for name in group}))
