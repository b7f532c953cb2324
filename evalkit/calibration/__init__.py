"""Planted effects through the same schedule, records and contrasts as real runs.

Do the report's intervals hold the truth as often as they say, and its p values cry
wolf no more often? Many runs are simulated at the level of trials, with effects that
are known exactly, and every claim about them is counted. What is drawn is the score of
each trial; what is real is the order of trials, their records (checks make the score),
the facts, the priced trials, and the code of the contrasts. Left out, since no
difference of scores depends on them: agents, the gateway with its tokens, evidence, the
file of the journal with its chain, the seal, and the tables of the analysis that are
not differences (a simulated run would take ten times as long; that `analyse` makes
the same contrasts is tested).

    scenarios   what is planted, as data
    planting    one simulated run, and what is true of it
    judging     what is claimed of it
    counting    claims of many runs, counted
    telling     the counts as lines
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import NamedTuple

from evalkit.calibration.counting import Calibration, Row, row
from evalkit.calibration.judging import Judge, Outcome, as_reported, outcomes_of
from evalkit.calibration.planting import PLAN, arm_of, plant
from evalkit.calibration.scenarios import Scenario, choose
from evalkit.errors import InfrastructureError

N_AT_ONCE = 50
"""Runs that a worker simulates before it gives them back."""

__all__ = ["Calibration", "calibrate", "choose"]


class _Job(NamedTuple):
    """Some runs of a scenario with the same effects."""

    scenario: Scenario
    effects: tuple[float, ...]
    numbers: range
    seed: int
    judge: Judge


def calibrate(
    scenarios: Sequence[Scenario],
    *,
    n_runs: int,
    seed: int,
    n_workers: int = 1,
    judge: Judge = as_reported,
    done: Callable[[int, int], None] = lambda _done, _total: None,
) -> Calibration:
    """Simulate runs and count what is claimed of them.

    The same for any number of workers: each run is seeded by its own name.

    Args:
        scenarios: From `choose`.
        n_runs: Runs of each scenario and planted effect.
        seed: Of everything drawn.
        n_workers: Processes.
        judge: Makes the claims of a run.
        done: Told (runs done, of how many).

    Raises:
        InfrastructureError: A process was killed.
    """
    total = n_runs * sum(len(tuple(scenario.batches())) for scenario in scenarios)
    n_done = 0
    rows: list[Row] = []
    with _mapper(n_workers) as mapped:
        for scenario in scenarios:
            jobs = [
                _Job(scenario, batch, range(n, min(n + N_AT_ONCE, n_runs)), seed, judge)
                for batch in scenario.batches()
                for n in range(0, n_runs, N_AT_ONCE)
            ]
            outcomes: dict[tuple[str, str, str], list[Outcome]] = {}
            for job, found in zip(jobs, mapped(_carry_out, jobs), strict=True):
                for outcome in found:
                    outcomes.setdefault(outcome.claim[:3], []).append(outcome)
                n_done += len(job.numbers)
                done(n_done, total)
            effects = {arm_of(effect): effect for effect in scenario.effects}
            rows += [
                row(scenario.name, effects[arm], own, PLAN.confidence)
                for (arm, *_), own in outcomes.items()
            ]
    return Calibration(n_runs, seed, PLAN.confidence, tuple(rows))


def _carry_out(job: _Job) -> list[Outcome]:
    name = f"{job.seed}:{job.scenario.name}:{job.effects}"
    return [
        outcome
        for n in job.numbers
        for planted in (plant(job.scenario, job.effects, random.Random(f"{name}:{n}")),)
        for outcome in outcomes_of(planted, job.judge)
    ]


@contextmanager
def _mapper(n_workers: int) -> Generator[Callable[..., Iterator[list[Outcome]]]]:
    """`map` over so many processes; in this one where that is one.

    Threads would take turns: nearly all of the work is Python's own. Processes start
    anew instead of as copies, since a bar on the terminal has a thread.
    """
    if n_workers == 1:
        yield map
        return
    anew = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_workers, anew, _end_with_parent)
    try:
        yield pool.map
    except BrokenProcessPool as error:
        raise InfrastructureError(
            "calibrate: a process that simulates runs was killed; see whether memory "
            "ran out, then begin again, with fewer --workers"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Leave Ctrl-C to the process that waits, and end where that one is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
