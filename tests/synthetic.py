"""Runs made by hand: real records and a real journal, no agent."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalkit import outcomes, reference, registration
from evalkit.arms import comparison, comparisons
from evalkit.journal import Journal, Writer, read_journal
from evalkit.records import (
    AgentSeal,
    Arm,
    ArmSeal,
    AttemptEnded,
    AttemptStarted,
    Call,
    Candidate,
    CaseSeal,
    CheckResult,
    Complaint,
    Digests,
    Ended,
    Grade,
    Home,
    Isolation,
    Kind,
    Outcome,
    Plan,
    Registration,
    Request,
    RunEnded,
    RunStarted,
    Selection,
    StepResult,
    Treatment,
    TrialKey,
    TrialResult,
    Wording,
)

WEIGHTS = {"core": 2, "edge": 1, "docs": 1}
COMPLAINTS = {
    "core": Complaint.CORE,
    "edge": Complaint.HAPPY_PATH_ONLY,
    "docs": Complaint.SKIPPED_IMPLIED_WORK,
}
ARMS = {
    "full": Arm("full", Home.ALL, Wording.CATALOGUE, "current"),
    "auto": Arm("auto", Home.LEAN, Wording.ROUTED, "current"),
    "baseline": Arm("baseline", Home.NONE, Wording.BARE),
    "injected": Arm("injected", Home.NONE, Wording.INJECTION),
    "placebo": Arm("placebo", Home.NONE, Wording.INJECTION, shadow="injected"),
}
MODEL = "claude-opus-5-5"
GRADER = "g" * 64


def register(
    *,
    cases=("alpha", "beta", "gamma"),
    arms=("full", "auto", "baseline"),
    repeats=4,
    steps=("task",),
    simulated=False,
    kind=Kind.FEATURE,
    gate=None,
    **plan,
) -> Registration:
    """A sealed registration; trials in plain order, block after block."""
    pairs = comparisons(arms, Plan("made@1").comparators)
    plan.setdefault(
        "confirmatory",
        tuple(comparison(*pair) for pair in pairs if pair[1] == pairs[0][1]),
    )
    order = tuple(
        TrialKey(case, arm, repeat)
        for case in cases
        for repeat in range(1, repeats + 1)
        for arm in arms
    )
    return registration.seal(
        Registration(
            created_at="2026-11-30T05:00:00.000+00:00",
            plan=Plan("made@1", arms=tuple(arms), repeats=repeats, model=MODEL, **plan),
            corpus_digest="c" * 64,
            cases=tuple(_case(case, steps, kind) for case in cases),
            arms=tuple(
                ArmSeal(ARMS[arm], None, None, ("skill-a", "skill-b"), {})
                for arm in arms
            ),
            agent=AgentSeal("made", "1.0", "e" * 64, "made", simulated),
            rates_digest="r" * 64,
            isolation=Isolation("bwrap", "probed"),
            outcomes=outcomes.registered_table(),
            candidates={},
            schedule=order,
            imbalance=0,
            n_planned_calls=len(order) * len(steps),
            run_source="1" * 64,
            analysis_source=registration.source_digests()[1],
            gate=gate,
        )
    )


def grade(*passing: str, died: str | None = None) -> Grade:
    """A verdict in which the named checks pass; void where the grader `died`."""
    checks = tuple(
        CheckResult(name, weight, name in passing, "" if name in passing else "no")
        for name, weight in WEIGHTS.items()
    )
    return Grade(checks, 1, GRADER, 0.1, died=died)


def step(
    *passing: str,
    slug="task",
    tokens=1000,
    wall_s=10.0,
    ended=Ended.FINISHED,
    picked=None,
    died=None,
) -> StepResult:
    """A step with one call and one request; `tokens` None reports no usage."""
    request = Request(0, MODEL, tokens or 0, 0, 0, 0, 0, "gateway")
    return StepResult(
        slug=slug,
        calls=(Call("task", ended, 0, wall_s),),
        requests=() if tokens is None else (request,),
        selection=Selection((Candidate("skill-a", 2.0),), picked, "direct"),
        treatment=Treatment((), (picked,) if picked else (), (), ()),
        grade=grade(*passing, died=died),
    )


def not_reached(slug: str) -> StepResult:
    """A step that its trial did not come to."""
    return StepResult(slug, not_reached=True)


def result(
    key: TrialKey,
    *steps: StepResult,
    attempt=1,
    isolation="bwrap",
    simulated=False,
) -> TrialResult:
    """What was concluded of an attempt, its outcome by the registered table."""
    outcome, reason = outcomes.outcome_of(steps, outcomes.registered_table())
    return TrialResult(
        key=key,
        attempt=attempt,
        outcome=outcome,
        reason=reason,
        steps=steps,
        isolation=isolation,
        simulated=simulated,
        evidence_digest="d" * 64,
    )


def attempts(*results: TrialResult):
    """Start and end of each attempt."""
    for found in results:
        yield AttemptStarted(found.key, found.attempt)
        yield AttemptEnded(found)


def record(path: Path, sealed: Registration, bodies, *, ended="complete") -> Journal:
    """Write bodies as a run's journal, and read it back."""
    with Writer(path / "journal.jsonl", now=lambda: "2026-11-30T06:00:00Z") as writer:
        writer.append(RunStarted(sealed.digest, sealed.isolation, 1))
        for body in bodies:
            writer.append(body)
        writer.append(RunEnded(ended))
    return read_journal(path / "journal.jsonl")


def run(path: Path, sealed: Registration, result_of) -> Journal:
    """A whole run; `result_of(key)` gives each trial's result, None for none."""
    found = [result_of(key) for key in sealed.schedule]
    return record(path, sealed, attempts(*(f for f in found if f is not None)))


def infrastructure(key: TrialKey, attempt=1) -> TrialResult:
    """An attempt that a fault of the provider ended."""
    fault = step(tokens=None, ended=Ended.PROVIDER_FAULT)
    made = result(key, fault, attempt=attempt)
    assert made.outcome is Outcome.INFRASTRUCTURE
    return made


def _case(name, steps, kind) -> CaseSeal:
    digests = Digests("a" * 64, "b" * 64, GRADER, "d" * 64)
    seal = CaseSeal(
        id=name,
        title=f"Case {name}",
        kind=kind,
        hypothesis="The skill shows what to do.",
        steps=tuple(steps),
        skills=dict.fromkeys(steps, ("skill-a",)),
        complaints=dict.fromkeys(steps, COMPLAINTS),
        digests=digests,
        proof="",
    )
    proof = reference.proof_path(Path(), seal).name
    return msgspec.structs.replace(seal, proof=proof)
