"""What a replay is sealed on: a recorded run, every recording of it read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from evalkit import tapes
from evalkit.errors import InputError
from evalkit.evidence import Evidence
from evalkit.gateway import recording
from evalkit.inputs import Inputs
from evalkit.journal import read_journal
from evalkit.records import Access, Registration, ReplaySeal, TrialResult
from evalkit.registration import seal
from evalkit.standing import JOURNAL, results_of

RETRY_WAIT_MS = 1
RECORD = "plan a run with --record, and carry it out"


def seal_of(
    run: Path, root: Path, recorded: Registration, trials: Sequence[str]
) -> ReplaySeal:
    """What is to be registered of a recorded run.

    Args:
        run: Its folder.
        root: Root whose `runs/` holds it.
        recorded: Its registration.
        trials: Those to play; none is all that ended.

    Raises:
        InputError: Nothing was recorded, or what was is not whole; names the place.
    """
    name = run.resolve().name
    _expect_recorded(run, root, recorded)
    journal = read_journal(run / JOURNAL)
    ended = results_of(journal.events)
    found: dict[str, list[int]] = {}
    for result in ended:
        if not trials or str(result.key) in trials:
            found.setdefault(str(result.key), []).append(result.attempt)
            _check(run, result)
    unknown = [trial for trial in trials if trial not in found]
    if unknown or not found:
        known = dict.fromkeys(str(result.key) for result in ended)
        raise InputError(
            f"run {name}",
            expected=f"trials that ended: {', '.join(known) or 'there is none'}",
            found=", ".join(unknown) or "no trial that ended",
            cure="name some of these" if known else "carry the run out first",
        )
    return ReplaySeal(
        run=name,
        registration=recorded.digest,
        journal_head=journal.head,
        simulated=recorded.agent.simulated,
        varies_digest=tapes.varies_digest(),
        attempts={key: tuple(numbers) for key, numbers in found.items()},
    )


def draft(
    recorded: Registration, sealed: ReplaySeal, root: Path, *, now: Callable[[], str]
) -> Registration:
    """The registration of a replay: the recorded plan, on what is here now.

    Raises:
        EvalkitError: Something that the plan names cannot be opened here.
    """
    limits = msgspec.structs.replace(recorded.plan.limits, retry_wait_ms=RETRY_WAIT_MS)
    plan = msgspec.structs.replace(
        recorded.plan, replay_run=sealed.run, record=False, limits=limits
    )
    inputs = Inputs(plan, root, rank=lambda *_: recorded.candidates)
    played = [key for key in recorded.schedule if str(key) in sealed.attempts]
    n_calls = sum(inputs.n_calls_of(key.case, key.arm) for key in played)
    return seal(
        msgspec.structs.replace(
            inputs.describe(now()),
            schedule=recorded.schedule,
            imbalance=recorded.imbalance,
            n_planned_calls=n_calls,
            gate=recorded.gate,
            replay=sealed,
        )
    )


def _expect_recorded(run: Path, root: Path, recorded: Registration) -> None:
    """Refuse a run that keeps no recording, or lies where a replay finds it not."""
    plan = recorded.plan
    what, cure = None, RECORD
    if recorded.replay is not None:
        what, cure = f"a replay of {recorded.replay.run}", "replay that run"
    elif recorded.agent.provider is None:
        what, cure = "an agent that calls no model", "carry it out again: it is free"
    elif plan.access is not Access.GATEWAY or not plan.record:
        what = f"nothing recorded: access {plan.access}, --record {'on' if plan.record else 'off'}"
    elif (root / "runs" / run.resolve().name).resolve() != run.resolve():
        what, cure = "a run elsewhere", f"copy it into {root / 'runs'}"
    if what is not None:
        raise InputError(
            f"run {run.resolve().name}",
            expected="a run of this root whose gateway kept requests and answers",
            found=what,
            cure=cure,
        )


def _check(run: Path, result: TrialResult) -> None:
    """Read an attempt's evidence and recordings, and hold each against its seal."""
    evidence = Evidence(run, result.key, result.attempt)
    evidence.load_seal()
    if evidence.digest() != result.evidence_digest:
        raise InputError(
            evidence.folder,
            expected=f"evidence sealed as {result.evidence_digest[:12]}, as journaled",
            found=f"another, sealed as {evidence.digest()[:12]}",
            cure="restore the folder from a copy",
        )
    for call in tapes.recorded_calls(run, evidence):
        recording.check(call)
