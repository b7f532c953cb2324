"""Does a gate run show that its cases can tell injected knowledge apart?

A gate run is two or three trials of each case without and with its knowledge, made
before many are paid for. Its trials were selected on, so they never enter another
run's analysis; a main run only names the gate run it rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalkit import arms, facts, stats
from evalkit.conclusions import (
    READY,
    REDESIGN,
    UNDECIDED,
    Chance,
    GateVerdict,
    Proportion,
    Signal,
)
from evalkit.errors import EvalkitError, InputError
from evalkit.facts import Trial
from evalkit.journal import Journal, read_journal
from evalkit.records import (
    Corpus,
    GateSeal,
    Layout,
    Registration,
    RunStarted,
    stamp_of,
)
from evalkit.registration import FILE, load_registration
from evalkit.standing import JOURNAL

TRUE_RATES = ((0.2, 0.9), (0.1, 0.8), (0.5, 0.9), (0.5, 0.5))
"""Rates of passing without and with the knowledge that a rule is tried on."""
CONFIDENCE = 0.95
MAX_ID = 100
"""Characters of a name that is none, as an error shows it."""


def judge(registration: Registration, journal: Journal) -> GateVerdict:
    """The verdict of a gate run.

    A trial counts as the analysis counts it: of whole blocks, by its first verdict.

    Args:
        registration: Of the gate run.
        journal: Its record.

    Raises:
        InputError: The run was not planned as a gate run, or the journal is of another.
    """
    _check_own(registration, journal)
    plan = registration.plan
    if plan.design is not Layout.GATE or plan.gate_rule is None:
        raise InputError(
            f"run {registration.run_id}",
            expected="a run planned with --design gate, whose rule was sealed",
            found=f"a run of the design {plan.design}",
            cure="plan one: `evalkit plan --design gate --corpus ... --seal`",
        )
    named = [seal.arm for seal in registration.arms]
    baseline, injected = arms.gate_roles(named, plan.comparators)
    n_runs = max(key.repeat for key in registration.schedule)
    rule = stats.GateRule(
        n_runs, plan.gate_rule.most_baseline, plan.gate_rule.least_injected
    )
    found = facts.gather(registration, journal.events)
    cases = tuple(
        _signal(
            case.id,
            _passes(found.trials, case.id, baseline),
            _passes(found.trials, case.id, injected),
            rule,
        )
        for case in registration.cases
    )
    simulated = registration.agent.simulated or any(
        attempt.result.simulated for attempt in found.attempts if attempt.result
    )
    worst = stats.worst_false_pass(rule)
    verdict = _overall([case.verdict for case in cases])
    return GateVerdict(
        run=registration.run_id,
        registration=registration.digest,
        journal_head=journal.head,
        corpus=plan.corpus,
        corpus_digest=registration.corpus_digest,
        agent=f"{registration.agent.name} {registration.agent.version}",
        model=plan.model,
        simulated=simulated,
        baseline=baseline,
        injected=injected,
        n_runs=n_runs,
        rule=plan.gate_rule,
        cases=cases,
        worst=Chance(worst.at, worst.at, worst.probability),
        chances=tuple(
            Chance(low, high, stats.passing_probability(rule, low, high))
            for low, high in TRUE_RATES
        ),
        verdict=verdict,
        sentence=_sentence(
            verdict, cases, stamp_of(registration.replay, simulated=simulated)
        ),
    )


def judge_run(run: Path) -> GateVerdict:
    """The verdict of the gate run in a folder.

    Raises:
        InputError: It cannot be read, or is no gate run.
        DriftError: Its registration was edited.
    """
    return judge(load_registration(run), read_journal(run / JOURNAL))


def seal_of(root: Path, run: str, main: Registration) -> GateSeal:
    """What is registered of the gate run that a main run rests on.

    Args:
        root: Root with runs.
        run: Id of the gate run.
        main: The main run, as it will be registered.

    Raises:
        InputError: There is no such gate run, or it was about other cases, another
            agent or another model.
    """
    known = {path.parent.name for path in (root / "runs").glob(f"*/{FILE}")}
    if run not in known:
        raise InputError(
            "plan gate_run",
            expected="the id of a gate run in runs/",
            found=repr(run[:MAX_ID]),
            cure="plan one with --design gate, or leave --gate-run away",
        )
    found = judge_run(root / "runs" / run)
    wanted = {
        "corpus": main.corpus_digest,
        "agent": f"{main.agent.name} {main.agent.version}",
        "model": main.plan.model,
    }
    given = {
        "corpus": found.corpus_digest,
        "agent": found.agent,
        "model": found.model,
    }
    for what, value in wanted.items():
        if given[what] != value:
            raise InputError(
                "plan gate_run",
                expected=f"a gate run with the {what} of this plan, {value}",
                found=f"{run} with {given[what]}",
                cure="run the gate again as the main run is planned",
            )
    return GateSeal(
        run=found.run,
        registration=found.registration,
        journal_head=found.journal_head,
        agent=found.agent,
        model=found.model,
        simulated=found.simulated,
        baseline=found.baseline,
        injected=found.injected,
        verdict=found.verdict,
    )


def gate_runs(
    root: Path, corpus: Corpus
) -> tuple[tuple[GateVerdict, ...], tuple[str, ...]]:
    """Verdicts of all gate runs on a corpus as it is, and why others gave none.

    They come in the order in which they were sealed.
    """
    found: list[tuple[str, GateVerdict]] = []
    unread: list[str] = []
    for path in sorted((root / "runs").glob(f"*/{FILE}")):
        try:
            registration = load_registration(path.parent)
            if (
                registration.plan.design is Layout.GATE
                and registration.corpus_digest == corpus.digest
            ):
                verdict = judge(registration, read_journal(path.parent / JOURNAL))
                found.append((registration.created_at, verdict))
        except (EvalkitError, OSError) as error:
            unread.append(f"{path.parent.name}: {error}")
    ordered = sorted(found, key=lambda pair: pair[0])
    return tuple(verdict for _, verdict in ordered), tuple(unread)


def _check_own(registration: Registration, journal: Journal) -> None:
    bodies = [event.body for event in journal.events]
    named = {body.registration for body in bodies if isinstance(body, RunStarted)}
    if bodies and named != {registration.digest}:
        raise InputError(
            f"run {registration.run_id}",
            expected=f"a journal that names registration {registration.digest[:12]}",
            found=", ".join(sorted(digest[:12] for digest in named)) or "none named",
            cure="restore the journal that belongs to this run",
        )


def _passes(trials: Sequence[Trial], case: str, arm: str) -> Proportion:
    own = [t for t in trials if (t.key.case, t.key.arm) == (case, arm) and t.analysed]
    k = sum(trial.passed is True for trial in own)
    low, high = stats.clopper_pearson(k, len(own), confidence=CONFIDENCE) or (None,) * 2
    return Proportion(k, len(own), low, high)


def _signal(
    case: str, baseline: Proportion, injected: Proportion, rule: stats.GateRule
) -> Signal:
    if min(baseline.n, injected.n) < rule.n:
        verdict = UNDECIDED
        said = (
            f"{min(baseline.n, injected.n)} of {rule.n} blocks are whole: carry out "
            f"the rest"
        )
    elif baseline.k == baseline.n:
        verdict = REDESIGN
        said = "it is solved without the knowledge every time, so it measures nothing"
    elif baseline.k <= rule.most_baseline and injected.k >= rule.least_injected:
        verdict, said = READY, "the declared rule is met"
    else:
        verdict, said = UNDECIDED, "the declared rule is not met"
    return Signal(case, baseline, injected, verdict, said)


def _overall(verdicts: Sequence[str]) -> str:
    if REDESIGN in verdicts:
        return REDESIGN
    return READY if set(verdicts) == {READY} else UNDECIDED


def _sentence(verdict: str, cases: Sequence[Signal], stamp: str | None) -> str:
    n_ready = sum(case.verdict == READY for case in cases)
    said = f"{n_ready} of {len(cases)} cases meet the declared rule."
    if verdict == REDESIGN:
        said += " A case that is solved without the knowledge must be redesigned."
    if stamp:
        said = (
            f"{stamp}, so it shows nothing of any model and satisfies nothing. {said}"
        )
    return said
