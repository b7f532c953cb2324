"""Carry out a sealed registration; again is to go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from evalkit import grading
from evalkit.crew import Hire, here
from evalkit.errors import InputError, StoppedEarlyError
from evalkit.files import disk
from evalkit.inflight import InFlight
from evalkit.inputs import open_registered
from evalkit.journal import Writer
from evalkit.registration import check_drift, load_registration
from evalkit.run.walk import Walk
from evalkit.standing import JOURNAL, Status

__all__ = ["open_journal", "run_plan", "utc_now"]


def utc_now() -> str:
    """The time as ISO text, in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def run_plan(
    folder: Path,
    root: Path,
    *,
    n_workers: int = 1,
    hire: Hire = here,
    progress: Callable[[Status], None] | None = None,
    now: Callable[[], str] = utc_now,
    monotonic: Callable[[], float] = time.monotonic,
) -> Status:
    """Carry out a sealed plan, or what is left of it.

    Args:
        folder: The run's folder, with its registration.
        root: Root with cases, graders and reference.
        n_workers: Trials at once; several blocks are then under way.
        hire: Opens who carries them out.
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
        if hire is here:
            grading.warm_up()
        inputs = open_registered(registration, root)
        present = inputs.describe(registration.created_at)
        check_drift(registration, present)
        with (
            open_journal(folder, now) as journal,
            InFlight(n_workers) as in_flight,
            hire(folder, registration, inputs, n_workers) as crew,
        ):
            walk = Walk(
                folder,
                registration,
                present.analysis_source,
                inputs,
                journal,
                in_flight,
                crew,
                progress=progress,
            )
            reason = walk.to_its_end(monotonic)
            found = walk.status()
    if reason not in {"complete", "nothing to do"}:
        sealed = registration.replay
        again = f"replay {sealed.run}" if sealed else f"run {folder.name}"
        raise StoppedEarlyError(
            f"{folder.name}: stopped by {reason} after {found.n_done} of "
            f"{found.n_planned} trials; `evalkit {again}` goes on from here"
        )
    return found


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
