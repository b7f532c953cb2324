"""Carry out a sealed registration: walk the schedule, journal, resume."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from evalkit import sandbox, schedule
from evalkit.errors import (
    DriftError,
    InfrastructureError,
    InputError,
    StoppedEarlyError,
)
from evalkit.evidence import Evidence, attempts_kept
from evalkit.files import disk
from evalkit.inflight import InFlight
from evalkit.inputs import Inputs, open_registered
from evalkit.journal import Writer
from evalkit.ledger import Ledger, open_ledger
from evalkit.outcomes import MAX_ATTEMPTS, RETRY_GROWTH, STOPS_RUN
from evalkit.records import (
    AttemptEnded,
    AttemptStarted,
    Deviation,
    Registration,
    RunEnded,
    RunStarted,
    TrialKey,
    TrialResult,
    TrialSpec,
)
from evalkit.registration import check_drift, load_registration
from evalkit.standing import (
    JOURNAL,
    Status,
    attempts_of,
    counts,
    last_turn,
    met_provider_fault,
    results_of,
    standing_of,
)
from evalkit.trial import conclude, run_trial

Block = tuple[TrialKey, ...]


def utc_now() -> str:
    """The time as ISO text, in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def run_plan(
    folder: Path,
    root: Path,
    *,
    n_workers: int = 1,
    progress: Callable[[Status], None] | None = None,
    now: Callable[[], str] = utc_now,
    monotonic: Callable[[], float] = time.monotonic,
) -> Status:
    """Carry out a sealed plan, or what is left of it.

    Args:
        folder: The run's folder, with its registration.
        root: Root with cases, graders and reference.
        n_workers: Trials at once, within a block.
        progress: Told where the run stands after each trial.
        now: Gives the time of an event as ISO text.
        monotonic: Seconds, for the deadline.

    Returns:
        Where the run stands at its end.

    Raises:
        DriftError: What is here differs from what was registered.
        RunLockedError: Another process works on this run.
        StoppedEarlyError: Budget, deadline or Ctrl-C; run again to go on.
        InfrastructureError: Login, sandbox or disk failed; run again once mended.
    """
    with disk.faults_named(folder):
        registration = load_registration(folder)
        inputs = open_registered(registration, root)
        check_drift(registration, inputs.describe(registration.created_at))
        level = inputs.box.isolation.level
        with (
            open_journal(folder, now) as journal,
            InFlight(n_workers) as in_flight,
            open_ledger(
                inputs.plan, inputs.agent, folder, sandboxed=level != sandbox.NONE
            ) as ledger,
        ):
            walk = _Walk(
                folder,
                registration,
                inputs,
                journal,
                in_flight,
                ledger,
                progress=progress,
            )
            reason = walk.to_its_end(monotonic)
            found = standing_of(folder, registration, journal.events)
    if reason not in {"complete", "nothing to do"}:
        raise StoppedEarlyError(
            f"{folder.name}: stopped by {reason} after {found.n_done} of "
            f"{found.n_planned} trials; `evalkit run {folder.name}` goes on from here"
        )
    return found


class _Walk:
    """One walk over the schedule by one process."""

    def __init__(
        self,
        folder: Path,
        registration: Registration,
        inputs: Inputs,
        journal: Writer,
        in_flight: InFlight,
        ledger: Ledger,
        *,
        progress: Callable[[Status], None] | None,
    ) -> None:
        self._folder = folder
        self._registration = registration
        self._inputs = inputs
        self._journal = journal
        self._in_flight = in_flight
        self._ledger = ledger
        self._progress = progress

    def to_its_end(self, monotonic: Callable[[], float]) -> str:
        """Walk all blocks and journal why that ended, which is returned or raised."""
        try:
            with disk.faults_named(self._folder):
                try:
                    reason, detail = self._carry_out(monotonic), ""
                except KeyboardInterrupt:
                    reason, detail = "interrupted", "Ctrl-C"
                if reason != "nothing to do":
                    self._journal.append(RunEnded(reason, detail))
                return reason
        except Exception as error:
            with suppress(OSError):  # what ended the run is the error to tell
                self._journal.append(RunEnded(_reason_of(error), str(error)))
            raise

    def _carry_out(self, monotonic: Callable[[], float]) -> str:
        blocks = schedule.blocks_of(self._registration.schedule)
        if not any(self._todo(block) for block in blocks):
            last = last_turn(self._journal.events)
            said = isinstance(last, RunEnded) and last.reason == "complete"
            return "nothing to do" if said else "complete"
        self._journal.append(
            RunStarted(
                self._registration.digest,
                self._inputs.box.isolation,
                self._in_flight.n_workers,
            )
        )
        self._note_deviations()
        self._conclude_whole()
        deadline_ms = self._registration.plan.budget.deadline_ms
        deadline = monotonic() + deadline_ms / 1000
        for block in blocks:
            todo = self._todo(block)
            if not todo:
                continue
            if self._is_spent(todo):
                return "budget"
            if monotonic() > deadline:
                return "deadline"
            self._check_drift()
            self._run_block(block)
        return "complete"

    def _run_block(self, block: Block) -> None:
        """Run a block until each trial has a result that counts, or no try left."""
        while todo := self._todo(block):
            self._wait_for_provider(todo)
            self._in_flight.carry_out([partial(self._attempt, key) for key in todo])

    def _wait_for_provider(self, todo: list[TrialKey]) -> None:
        """Pause before a trial that met a fault of the provider's is tried again."""
        faults = Counter(
            result.key
            for result in results_of(self._journal.events)
            if result.key in todo and met_provider_fault(result)
        )
        if faults:
            n_times = max(faults.values())
            wait_ms = self._registration.plan.limits.retry_wait_ms
            self._in_flight.pause(wait_ms * RETRY_GROWTH ** (n_times - 1) / 1000)

    def _attempt(self, key: TrialKey) -> None:
        earlier = [s.attempt for s in attempts_of(self._journal.events) if s.key == key]
        attempt = max([*earlier, *attempts_kept(self._folder, key)], default=0) + 1
        self._journal.append(AttemptStarted(key, attempt))
        spec = TrialSpec(
            key=key,
            attempt=attempt,
            root=str(self._inputs.root),
            run=str(self._folder),
            seed=self._registration.plan.seed,
        )
        self._end(run_trial(spec, self._inputs, self._ledger))

    def _end(self, result: TrialResult) -> None:
        self._journal.append(AttemptEnded(result))
        if self._progress:
            self._progress(
                standing_of(self._folder, self._registration, self._journal.events)
            )
        for step in result.steps:
            for call in step.calls:
                if call.ended in STOPS_RUN:
                    raise InfrastructureError(
                        f"{result.key}: {call.ended.value}: {call.detail}; nothing "
                        f"was scored: mend it, then run again to go on"
                    )

    def _conclude_whole(self) -> None:
        """Conclude attempts whose evidence is whole but whose line is missing."""
        ended = {(str(r.key), r.attempt) for r in results_of(self._journal.events)}
        begun = {(str(s.key), s.attempt) for s in attempts_of(self._journal.events)}
        kept = [
            Evidence(self._folder, key, attempt)
            for key in self._registration.schedule
            for attempt in attempts_kept(self._folder, key)
        ]
        for evidence in kept:
            evidence.clear_unwritten()
            name = (str(evidence.key), evidence.attempt)
            if name in ended or not evidence.is_whole:
                continue
            if name not in begun:
                told = f"whole evidence of {evidence.key}, attempt {evidence.attempt}"
                self._note(Deviation("journal", "a line for every attempt", told))
            try:
                self._end(conclude(evidence, self._inputs))
            except InputError as error:
                self._note(Deviation("evidence", "whole", str(error)))

    def _note_deviations(self) -> None:
        found = self._inputs.describe(self._registration.created_at)
        registered, now = self._registration.analysis_source, found.analysis_source
        if registered != now:
            self._note(Deviation("analysis source", registered, now))

    def _note(self, deviation: Deviation) -> None:
        """Journal a deviation, unless an earlier start of this run did."""
        if all(event.body != deviation for event in self._journal.events):
            self._journal.append(deviation)

    def _check_drift(self) -> None:
        """Hold everything against the registration where a file was touched."""
        if not self._inputs.touched():
            return
        fresh = open_registered(self._registration, self._inputs.root)
        check_drift(self._registration, fresh.describe(self._registration.created_at))
        self._inputs = fresh

    def _is_spent(self, todo: list[TrialKey]) -> bool:
        """True where the budget does not allow for these trials, or is used up."""
        budget = self._registration.plan.budget
        found = standing_of(self._folder, self._registration, self._journal.events)
        planned = sum(self._inputs.n_calls_of(key.case, key.arm) for key in todo)
        caps = [(found.n_tokens, budget.max_tokens), (found.usd, budget.max_usd)]
        return found.n_calls + planned > budget.max_calls or any(
            cap is not None and spent is not None and spent >= cap
            for spent, cap in caps
        )

    def _todo(self, block: Block) -> list[TrialKey]:
        """Trials of a block to run now; none where the block is excluded."""
        results = results_of(self._journal.events)
        settled = {str(r.key) for r in results if counts(r)}
        tries = Counter(str(result.key) for result in results)
        left = [key for key in block if str(key) not in settled]
        excluded = any(tries[str(key)] >= MAX_ATTEMPTS for key in left)
        return [] if excluded else left


def open_journal(folder: Path, now: Callable[[], str]) -> Writer:
    """The one writer of a run's journal.

    Raises:
        InputError: The folder cannot be written.
        RunLockedError: Another process works on this run.
    """
    try:
        return Writer(folder / JOURNAL, now=now)
    except OSError as error:
        if error.errno in disk.FAULTS:
            raise
        raise InputError(
            folder,
            expected="a run folder that can be written",
            found=error.strerror or str(error),
            cure="give write permission, or copy the run to a place that has it",
        ) from error


def _reason_of(error: Exception) -> str:
    reasons = {DriftError: "drift", InfrastructureError: "infrastructure"}
    return next((r for kind, r in reasons.items() if isinstance(error, kind)), "fault")
