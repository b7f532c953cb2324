"""The walk over the schedule: journal, resume, stop at blocks."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from evalkit import schedule
from evalkit.crew import Crew
from evalkit.errors import (
    AttemptLostError,
    DriftError,
    EvalkitError,
    InfrastructureError,
    InputError,
)
from evalkit.evidence import Evidence, attempts_kept
from evalkit.files import disk
from evalkit.inflight import Hold, InFlight
from evalkit.inputs import Inputs, open_registered
from evalkit.journal import Writer
from evalkit.outcomes import MAX_ATTEMPTS, RETRY_GROWTH, STOPS_RUN
from evalkit.records import (
    AttemptEnded,
    AttemptStarted,
    Bodies,
    Deviation,
    Ended,
    Registration,
    RunEnded,
    RunStarted,
    TrialKey,
    TrialResult,
    TrialSpec,
)
from evalkit.registration import check_drift
from evalkit.standing import (
    Standing,
    Status,
    attempts_of,
    last_turn,
    met_provider_fault,
    results_of,
)
from evalkit.trial import conclude
from evalkit.turns import Turns


class Walk:
    """One walk over the schedule by one process.

    Args:
        folder: The run's.
        registration: What it carries out.
        analysis_source: Digest of what reads runs, as it is here.
        inputs: All that it names, opened.
        journal: Told of everything.
        in_flight: Where attempts are waited for.
        crew: Who carries them out.
        progress: Told where the run stands after each of them.
    """

    def __init__(
        self,
        folder: Path,
        registration: Registration,
        analysis_source: str,
        inputs: Inputs,
        journal: Writer,
        in_flight: InFlight,
        crew: Crew,
        *,
        progress: Callable[[Status], None] | None,
    ) -> None:
        self._folder = folder
        self._registration = registration
        self._analysis_source = analysis_source
        self._inputs = inputs
        self._journal = journal
        self._in_flight = in_flight
        self._crew = crew
        self._progress = progress
        self._standing = Standing(folder, registration)
        for event in journal.stood:
            self._standing.take(event)
        self._turns = Turns(
            schedule.blocks_of(registration.schedule), self._standing.left
        )
        self._lock = threading.Lock()
        """Held to read or change how far the walk is; workers change it too."""
        self._held_until_s = 0.0
        self._n_lost: Counter[TrialKey] = Counter()
        self._stopped_by: str | EvalkitError | None = None

    def to_its_end(self, monotonic: Callable[[], float]) -> str:
        """Walk all blocks and journal why that ended, which is returned or raised."""
        try:
            with disk.faults_named(self._folder):
                try:
                    reason, detail = self._carry_out(monotonic), ""
                except KeyboardInterrupt:
                    reason, detail = "interrupted", "Ctrl-C"
                if reason != "nothing to do":
                    self._append(RunEnded(reason, detail))
                return reason
        except Exception as error:
            with suppress(OSError):  # what ended the run is the error to tell
                self._append(RunEnded(_reason_of(error), str(error)))
            raise

    def status(self) -> Status:
        """Where the run stands."""
        return self._standing.status()

    def _carry_out(self, monotonic: Callable[[], float]) -> str:
        if not self._turns.ahead():
            last = last_turn(self._journal.stood)
            said = isinstance(last, RunEnded) and last.reason == "complete"
            return "nothing to do" if said else "complete"
        self._append(
            RunStarted(
                self._registration.digest,
                self._inputs.box.isolation,
                self._crew.n_workers,
            )
        )
        self._note_deviations()
        self._conclude_whole()
        deadline_ms = self._registration.plan.budget.deadline_ms
        deadline = monotonic() + deadline_ms / 1000
        self._in_flight.feed(
            lambda: self._next(lambda: monotonic() > deadline),
            n_workers=self._crew.n_workers,
            room=self._crew.room,
            end=self._crew.end_all,
        )
        if isinstance(self._stopped_by, EvalkitError):
            raise self._stopped_by
        return self._stopped_by or "complete"

    def _next(self, is_late: Callable[[], bool]) -> Callable[[], None] | Hold | None:
        """The next attempt to carry out, if one can begin."""
        with self._lock:
            is_begun = self._turns.is_ready()
            if not is_begun and not self._may_begin_block(is_late):
                return None
            held_s = self._held_until_s - time.monotonic()
            if held_s > 0:
                return Hold(held_s)
            if not is_begun and not self._begin_block():
                return None
            key = self._turns.begin_trial()
            kept = attempts_kept(self._folder, key)
            attempt = max([self._standing.last_attempt[key], *kept]) + 1
            self._append(AttemptStarted(key, attempt))
        return partial(self._attempt, key, attempt)

    def _may_begin_block(self, is_late: Callable[[], bool]) -> bool:
        """False where none is left, or the run stops once those begun are done."""
        if self._stopped_by or not (todo := self._turns.ahead()):
            return False
        if self._is_spent(todo):
            self._stopped_by = "budget"
        elif is_late():
            self._stopped_by = "deadline"
        return not self._stopped_by

    def _begin_block(self) -> bool:
        """Begin a block; False where what is here is no more what was registered."""
        try:
            self._check_drift()
        except EvalkitError as error:
            self._stopped_by = error
            return False
        self._turns.begin_block()
        return self._turns.is_ready()

    def _attempt(self, key: TrialKey, attempt: int) -> None:
        spec = TrialSpec(
            key=key,
            attempt=attempt,
            root=str(self._inputs.root),
            run=str(self._folder),
            seed=self._registration.plan.seed,
        )
        try:
            result = self._crew.carry(spec, self._inputs)
        except AttemptLostError as error:
            self._lose(key, attempt, error)
            return
        with self._lock:
            self._turns.end_trial(key)
            self._end(result)

    def _lose(self, key: TrialKey, attempt: int, error: AttemptLostError) -> None:
        """Have a trial tried again whose attempt left nothing, some times."""
        with self._lock:
            self._turns.end_trial(key)
            told = f"{key}, attempt {attempt}: {error}"
            self._note(Deviation("attempt", "carried out to its end", told))
            self._n_lost[key] += 1
            if self._n_lost[key] >= MAX_ATTEMPTS:
                raise InfrastructureError(
                    f"{told}; {MAX_ATTEMPTS} attempts at this trial were lost: see what "
                    f"ends them, then run again to go on"
                )

    def _end(self, result: TrialResult) -> None:
        self._append(AttemptEnded(result))
        if met_provider_fault(result):
            self._hold_off(result.key)
        if self._progress:
            self._progress(self._standing.status())
        # What was recorded of one trial repeats for no other.
        stops = frozenset[Ended]() if self._registration.replay else STOPS_RUN
        for step in result.steps:
            for call in step.calls:
                if call.ended in stops:
                    raise InfrastructureError(
                        f"{result.key}: {call.ended.value}: {call.detail}; nothing "
                        f"was scored: mend it, then run again to go on"
                    )

    def _hold_off(self, key: TrialKey) -> None:
        """Let no trial begin for a while: others would meet the same provider."""
        n_before = min(self._standing.n_provider_faults[key], MAX_ATTEMPTS - 1) - 1
        wait_s = self._registration.plan.limits.retry_wait_ms / 1000
        until_s = time.monotonic() + wait_s * RETRY_GROWTH**n_before
        self._held_until_s = max(self._held_until_s, until_s)

    def _conclude_whole(self) -> None:
        """Conclude attempts whose evidence is whole but whose line is missing."""
        ended = {(str(r.key), r.attempt) for r in results_of(self._journal.stood)}
        begun = {(str(s.key), s.attempt) for s in attempts_of(self._journal.stood)}
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
        registered = self._registration.analysis_source
        now = self._analysis_source
        if registered != now:
            self._note(Deviation("analysis source", registered, now))

    def _note(self, deviation: Deviation) -> None:
        """Journal a deviation, unless an earlier start of this run did."""
        if event := self._journal.note(deviation):
            self._standing.take(event)

    def _append(self, body: Bodies) -> None:
        self._standing.take(self._journal.append(body))

    def _check_drift(self) -> None:
        """Hold everything against the registration where a file was touched."""
        if not self._inputs.touched():
            return
        fresh = open_registered(self._registration, self._inputs.root)
        check_drift(self._registration, fresh.describe(self._registration.created_at))
        self._inputs = fresh

    def _is_spent(self, todo: list[TrialKey]) -> bool:
        """True where the budget does not allow for these trials, or is used up."""
        if self._registration.replay:
            return False  # it spends nothing
        budget = self._registration.plan.budget
        n_tokens, dollars = self._standing.spent()
        n_calls = self._standing.n_calls + self._n_calls_ahead()
        planned = sum(self._inputs.n_calls_of(key.case, key.arm) for key in todo)
        caps = [(n_tokens, budget.max_tokens), (dollars, budget.max_usd)]
        return n_calls + planned > budget.max_calls or any(
            cap is not None and spent is not None and spent >= cap
            for spent, cap in caps
        )

    def _n_calls_ahead(self) -> int:
        """Calls that begun blocks may make yet, beside those that count already."""
        n_calls = 0
        for key, is_under_way in self._turns.left():
            n_calls += self._inputs.n_calls_of(key.case, key.arm)
            # Each of its steps counts since it began.
            n_calls -= len(self._inputs.cases[key.case].steps) if is_under_way else 0
        return n_calls


def _reason_of(error: Exception) -> str:
    reasons = {DriftError: "drift", InfrastructureError: "infrastructure"}
    return next((r for kind, r in reasons.items() if isinstance(error, kind)), "fault")
