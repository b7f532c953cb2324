"""The data dictionary: every column of every frame, with type, unit and meaning."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd


class Column(NamedTuple):
    """One column: `path` leads to its value from what the row is made of.

    `dtype` is that of pandas; all of them know NA, which stands for unknown.
    """

    name: str
    dtype: str
    unit: str
    doc: str
    path: str


Table = Any
"""A `pyarrow.Table`, of which pyarrow declares no types."""
_STORED = {
    "string": pa.string(),
    "Int64": pa.int64(),
    "Float64": pa.float64(),
    "boolean": pa.bool_(),
}


def _key(path: str) -> tuple[Column, ...]:
    return (
        Column("case", "string", "", "Case of the trial", f"{path}.case"),
        Column("arm", "string", "", "Arm of the trial", f"{path}.arm"),
        Column("repeat", "Int64", "", "Repeat of the trial, from 1", f"{path}.repeat"),
    )


_CLASSES = tuple(
    Column(name, "Int64", "tokens", doc, f"part.{name}")
    for name, doc in (
        ("input", "Input that no cache served or kept"),
        ("write_5m", "Input written to the cache for 5 minutes"),
        ("write_1h", "Input written to the cache for 1 hour"),
        ("read", "Input read from the cache"),
        ("output", "Output"),
    )
)
_STEP = Column("step", "string", "", "Slug of the step", "step.slug")
_PART = (
    *_key("attempt.key"),
    Column("attempt", "Int64", "", "Attempt at the trial, from 1", "attempt.attempt"),
    Column(
        "counts",
        "boolean",
        "",
        "This attempt enters the trial's result",
        "attempt.counts",
    ),
    _STEP,
)
COLUMNS: dict[str, tuple[Column, ...]] = {
    "trials": (
        *_key("trial.key"),
        Column(
            "place", "Int64", "", "Place in the registered order, from 0", "trial.place"
        ),
        Column(
            "status", "string", "", "Its outcome, or why it has none", "trial.status"
        ),
        Column("counts", "boolean", "", "It has a result", "trial.counts"),
        Column(
            "analysed",
            "boolean",
            "",
            "All trials of its block have a result",
            "trial.analysed",
        ),
        Column("n_started", "Int64", "", "Attempts begun", "trial.n_started"),
        Column(
            "score",
            "Float64",
            "0..1",
            "Mean over the steps of its case; NA where it does not count",
            "trial.score",
        ),
        Column(
            "passed",
            "boolean",
            "",
            "Every check of every step passed; NA where it does not count",
            "trial.passed",
        ),
        Column(
            "tokens",
            "Int64",
            "tokens",
            "All five classes together; NA where a call reports none",
            "trial.tokens",
        ),
        Column(
            "wall_s",
            "Float64",
            "s",
            "Wall time of its calls; NA where there was none",
            "trial.wall_s",
        ),
        Column(
            "regraded",
            "string",
            "",
            "How it was graded again; NA where it was not",
            "trial.regraded",
        ),
    ),
    "steps": (
        *_key("trial.key"),
        _STEP,
        Column(
            "not_reached",
            "boolean",
            "",
            "The chain ended before it",
            "step.not_reached",
        ),
        Column(
            "score",
            "Float64",
            "0..1",
            "Weights won over all; 0 where its grader died or it was not reached",
            "score",
        ),
        Column(
            "died",
            "string",
            "",
            "Why its grader died; NA where it did not",
            "step.grade.died",
        ),
        Column(
            "picked",
            "string",
            "",
            "Skill routed to; NA where none was",
            "step.selection.picked",
        ),
        Column(
            "how",
            "string",
            "",
            "How that was chosen; NA in an arm that does not route",
            "step.selection.how",
        ),
        Column(
            "disagreement",
            "string",
            "",
            "Where accounts of its usage differ, how; NA where not",
            "step.disagreement",
        ),
    ),
    "checks": (
        *_key("trial.key"),
        _STEP,
        Column("check", "string", "", "Name of the check", "check.id"),
        Column("weight", "Int64", "", "Weight in its step", "check.weight"),
        Column("passed", "boolean", "", "It passed", "check.passed"),
        Column("reason", "string", "", "Why it failed; empty if not", "check.reason"),
    ),
    "requests": (
        *_PART,
        Column("model", "string", "", "Model that was asked", "part.model"),
        *_CLASSES,
        Column(
            "n_requests",
            "Int64",
            "",
            "Requests in this row; NA for totals of a call",
            "part.n_requests",
        ),
        Column("source", "string", "", "Who reported it", "part.source"),
        Column(
            "status",
            "string",
            "",
            "How it passed: complete, truncated, ...",
            "part.status",
        ),
    ),
    "calls": (
        *_PART,
        Column("purpose", "string", "", "task, or select", "part.purpose"),
        Column("ended", "string", "", "How it ended", "part.ended"),
        Column("wall_s", "Float64", "s", "Wall time", "part.wall_s"),
        Column("cpu_s", "Float64", "s", "Processor time; NA if unknown", "part.cpu_s"),
        Column(
            "agent_reported_usd",
            "Float64",
            "usd",
            "As told by the agent; NA where it told none",
            "part.agent_reported_usd",
        ),
    ),
}


def columns() -> pd.DataFrame:
    """The data dictionary as a frame: frame, column, dtype, unit, meaning."""
    import pandas as pd

    rows = [(name, *column[:4]) for name in COLUMNS for column in COLUMNS[name]]
    return pd.DataFrame(rows, columns=["frame", "column", "dtype", "unit", "meaning"])


@cache
def schema(name: str) -> Any:
    """The `pyarrow.Schema` of a frame; pandas finds the declared types in it."""
    noted = _noted()
    of_type = {column["name"]: column for column in noted["columns"]}
    told = [
        {**of_type[column.dtype], "name": column.name, "field_name": column.name}
        for column in COLUMNS[name]
    ]
    fields = [(column.name, _STORED[column.dtype]) for column in COLUMNS[name]]
    metadata = {"pandas": msgspec.json.encode({**noted, "columns": told})}
    return pa.schema(fields, metadata=metadata)


@cache
def _noted() -> dict[str, Any]:
    """What pandas notes of a frame that has one column of each type, named by it."""
    import pandas as pd

    declared = {dtype: pd.Series(dtype=dtype) for dtype in _STORED}  # pyright: ignore[reportArgumentType, reportCallIssue]
    return pa.Schema.from_pandas(
        pd.DataFrame(declared), preserve_index=False
    ).pandas_metadata


def frame_of(table: Table) -> pd.DataFrame:
    """A stored frame in the declared types."""
    import pandas as pd

    shown: dict[Any, Any] = {
        _STORED["string"]: pd.StringDtype(),
        _STORED["Int64"]: pd.Int64Dtype(),
        _STORED["Float64"]: pd.Float64Dtype(),
        _STORED["boolean"]: pd.BooleanDtype(),
    }
    return table.to_pandas(types_mapper=shown.get, use_threads=False)
