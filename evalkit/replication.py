"""Two runs of the same corpus side by side: each with its own numbers.

They are never compared. Trials are paired inside a run, by block; nothing pairs those
of two runs, which differ in day, machine, provider and whatever else has moved. So
there is no difference between runs here, and no p.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pandas as pd

from evalkit import wording
from evalkit.errors import InputError
from evalkit.frames import of_records
from evalkit.loading import Run, load
from evalkit.records import Record

REFUSAL = (
    "Cross-run comparisons are invalid by design: nothing pairs the trials of two "
    "runs. Each line is about its own run alone."
)
_CONTRAST = ["arm", "comparator", "measure"]


class ReplicationRow(Record, frozen=True):
    """One contrast as one run has it; `status` and `simulated` are of that run."""

    arm: str
    comparator: str
    measure: str
    run: str
    estimate: float | None
    low: float | None
    high: float | None
    n_blocks: int
    n_cases: int
    refusal: str | None
    agent: str
    model: str
    status: str
    simulated: bool


def side_by_side(run_a: str | Path, run_b: str | Path) -> pd.DataFrame:
    """The contrasts of two runs of one corpus, a column of each number for each run.

    Args:
        run_a: A run, as `load` takes it.
        run_b: Another.

    Returns:
        A row for each contrast (arm, comparator, measure); columns by field, then run.

    Raises:
        InputError: It is one run twice, or the corpora have different digests.
    """
    rows = replication_rows(run_a, run_b)
    if not rows:
        return pd.DataFrame(columns=list(ReplicationRow.__struct_fields__))
    listed = of_records(rows).set_index([*_CONTRAST, "run"])
    return listed.unstack("run", sort=False)  # pyright: ignore[reportReturnType]


def replication_rows(
    run_a: str | Path, run_b: str | Path
) -> tuple[ReplicationRow, ...]:
    """The same as records: the runs' lines of each contrast, one below the other.

    Raises:
        InputError: It is one run twice, or the corpora have different digests.
    """
    runs = load(run_a), load(run_b)
    _refuse(*runs)
    rows = [row for run in runs for row in _rows(run)]
    order = list(dict.fromkeys((row.arm, row.comparator, row.measure) for row in rows))
    return tuple(
        sorted(
            rows, key=lambda row: order.index((row.arm, row.comparator, row.measure))
        )
    )


def compare(run_a: str | Path, run_b: str | Path) -> NoReturn:
    """Refuse to test one run against another.

    Raises:
        InputError: Always; says what there is instead.
    """
    raise InputError(
        f"runs {run_a} and {run_b}",
        expected="arms of one run, whose trials are paired",
        found="two runs: cross-run comparisons are invalid by design",
        cure="plan both conditions as arms of one run, or see the two side by side, "
        "untested: evalkit replicate RUN RUN",
    )


def _refuse(one: Run, other: Run) -> None:
    digests = [run.registration.corpus_digest for run in (one, other)]
    if one.registration.digest == other.registration.digest:
        raise InputError(
            "runs side by side",
            expected="two runs",
            found=f"{one.registration.run_id} twice",
            cure="name another",
        )
    if digests[0] != digests[1]:
        names = [run.registration.run_id for run in (one, other)]
        raise InputError(
            "runs side by side",
            expected="runs of one corpus, with one digest",
            found=f"{names[0]} on {digests[0]} and {names[1]} on {digests[1]}",
            cure="name runs of the same corpus",
        )


def _rows(run: Run) -> Sequence[ReplicationRow]:
    analysis = run.analysis
    return [
        ReplicationRow(
            arm=contrast.arm,
            comparator=contrast.comparator,
            measure=contrast.measure,
            run=analysis.run,
            estimate=contrast.estimate,
            low=contrast.low,
            high=contrast.high,
            n_blocks=contrast.n_blocks,
            n_cases=contrast.n_cases,
            refusal=contrast.refusal,
            agent=wording.agent(analysis.seals.agent, analysis.seals.agent_version),
            model=analysis.seals.model,
            status=analysis.status,
            simulated=analysis.simulated,
        )
        for contrast in analysis.contrasts
    ]
