"""Facts as tidy frames, one row per trial, step, check, request or call.

Columns are declared as data: name, type, unit, meaning, and the path to the
value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from evalkit import scoring
from evalkit.facts import Facts, steps_of
from evalkit.records import Grade


class Column(NamedTuple):
    """One column: `path` leads to its value from what the row is made of."""

    name: str
    dtype: str
    unit: str
    doc: str
    path: str


class Frames(NamedTuple):
    """Tidy frames, one row per what their name says; unknown is NA."""

    trials: pd.DataFrame
    steps: pd.DataFrame
    checks: pd.DataFrame
    requests: pd.DataFrame
    calls: pd.DataFrame


def tidy(facts: Facts) -> Frames:
    """The facts as frames, by the declared `COLUMNS`.

    `steps` and `checks` hold trials that count; `requests` and `calls` every
    attempt, with a column that says which count.
    """
    return Frames(
        trials=_frame("trials", ({"trial": trial} for trial in facts.trials)),
        steps=_frame("steps", _step_rows(facts)),
        checks=_frame("checks", _check_rows(facts)),
        requests=_frame("requests", _part_rows(facts, "requests")),
        calls=_frame("calls", _part_rows(facts, "calls")),
    )


_KEY = (
    ("case", "string", "", "Case"),
    ("arm", "string", "", "Arm"),
    ("repeat", "Int64", "", "Repeat, from 1"),
)


def _key(path: str) -> tuple[Column, ...]:
    return tuple(Column(*column, f"{path}.{column[0]}") for column in _KEY)


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
_PART = (
    *_key("attempt.key"),
    Column("attempt", "Int64", "", "Attempt at the trial", "attempt.attempt"),
    Column("counts", "boolean", "", "The attempt that counts", "attempt.counts"),
    Column("step", "string", "", "Slug of the step", "step.slug"),
)
COLUMNS: dict[str, tuple[Column, ...]] = {
    "trials": (
        *_key("trial.key"),
        Column("place", "Int64", "", "Place in the registered order", "trial.place"),
        Column("status", "string", "", "Outcome, or why none", "trial.status"),
        Column("counts", "boolean", "", "Has a result", "trial.counts"),
        Column("analysed", "boolean", "", "Its block is whole", "trial.analysed"),
        Column("n_started", "Int64", "", "Attempts begun", "trial.n_started"),
        Column("score", "Float64", "0..1", "Mean over its steps", "trial.score"),
        Column("passed", "boolean", "", "Every check passed", "trial.passed"),
        Column("tokens", "Int64", "tokens", "All five classes", "trial.tokens"),
        Column("wall_s", "Float64", "s", "Its calls' wall time", "trial.wall_s"),
        Column("regraded", "string", "", "How, if regraded", "trial.regraded"),
    ),
    "steps": (
        *_key("trial.key"),
        Column("step", "string", "", "Slug of the step", "step.slug"),
        Column("not_reached", "boolean", "", "The chain ended", "step.not_reached"),
        Column("score", "Float64", "0..1", "Weights won over all", "score"),
        Column("died", "string", "", "Why the grader died", "step.grade.died"),
        Column("picked", "string", "", "Skill routed to", "step.selection.picked"),
        Column("how", "string", "", "How it was chosen", "step.selection.how"),
        Column("disagreement", "string", "", "On usage", "step.disagreement"),
    ),
    "checks": (
        *_key("trial.key"),
        Column("step", "string", "", "Slug of the step", "step.slug"),
        Column("check", "string", "", "Check", "check.id"),
        Column("weight", "Int64", "", "Weight in its step", "check.weight"),
        Column("passed", "boolean", "", "It passed", "check.passed"),
        Column("reason", "string", "", "Why it failed", "check.reason"),
    ),
    "requests": (
        *_PART,
        Column("model", "string", "", "Model", "part.model"),
        *_CLASSES,
        Column("n_requests", "Int64", "", "NA for totals", "part.n_requests"),
        Column("source", "string", "", "Who reported it", "part.source"),
        Column("status", "string", "", "complete, or not", "part.status"),
    ),
    "calls": (
        *_PART,
        Column("purpose", "string", "", "What it was for", "part.purpose"),
        Column("ended", "string", "", "How it ended", "part.ended"),
        Column("wall_s", "Float64", "s", "Wall time", "part.wall_s"),
        Column("cpu_s", "Float64", "s", "Processor time", "part.cpu_s"),
        Column(
            "agent_reported_usd",
            "Float64",
            "usd",
            "As told by the agent",
            "part.agent_reported_usd",
        ),
    ),
}


def _frame(name: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    listed = list(rows)
    data: dict[str, pd.Series[Any]] = {}
    for column in COLUMNS[name]:
        dtype: Any = column.dtype
        values = [_follow(row, column.path) for row in listed]
        data[column.name] = pd.Series(values, dtype=dtype)
    return pd.DataFrame(data)


def _follow(row: Mapping[str, Any], path: str) -> Any:
    first, *rest = path.split(".")
    value: Any = row[first]
    for name in rest:
        value = None if value is None else getattr(value, name)
    return value


def _step_rows(facts: Facts) -> Iterator[dict[str, Any]]:
    for trial in facts.trials:
        for step in steps_of(trial.result) if trial.counts else ():
            score = scoring.grade_score(step.grade)
            yield {"trial": trial, "step": step, "score": score}


def _check_rows(facts: Facts) -> Iterator[dict[str, Any]]:
    for row in _step_rows(facts):
        grade: Grade | None = row["step"].grade
        for check in grade.checks if grade else ():
            yield {**row, "check": check}


def _part_rows(facts: Facts, name: str) -> Iterator[dict[str, Any]]:
    for attempt in facts.attempts:
        for step in steps_of(attempt.result):
            for part in getattr(step, name):
                yield {"attempt": attempt, "step": step, "part": part}
