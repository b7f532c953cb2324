"""Facts as tidy frames, one row per trial, step, check, request or call.

Columns are declared as data (`COLUMNS`): name, type, unit, meaning, and the path to
the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from evalkit import scoring
from evalkit.facts import Attempt, Facts, Trial, steps_of
from evalkit.frames.columns import (
    COLUMNS,
    Column,
    Table,
    columns,
    frame_of,
    schema,
)
from evalkit.records import Record

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COLUMNS",
    "Column",
    "Frames",
    "columns",
    "frame_of",
    "of_records",
    "tables",
    "tidy",
]

PIECE = 500
"""Trials taken at once: few enough to stay in a processor's cache while column after
column is read from them."""


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
    return Frames(**{name: frame_of(table) for name, table in tables(facts).items()})


def tables(facts: Facts) -> dict[str, Table]:
    """The facts as they are stored; `frame_of` makes a frame of each."""
    n_rows = max(len(facts.trials), len(facts.attempts), 1)
    pieces = [
        _piece(facts.trials[n : n + PIECE], facts.attempts[n : n + PIECE])
        for n in range(0, n_rows, PIECE)
    ]
    return {
        name: pa.concat_tables([piece[name] for piece in pieces]) for name in COLUMNS
    }


def _piece(
    all_trials: Sequence[Trial], attempts: Sequence[Attempt]
) -> dict[str, Table]:
    trials = _Rows({"trial": all_trials})
    steps = trials.spread(
        "step", [steps_of(t.result) if t.counts else () for t in all_trials]
    )
    grades = [step.grade for step in steps.roots["step"]]
    steps.roots["score"] = [scoring.grade_score(grade) for grade in grades]
    checks = steps.spread("check", [grade.checks if grade else () for grade in grades])
    tried = _Rows({"attempt": attempts}).spread(
        "step", [steps_of(attempt.result) for attempt in attempts]
    )
    rows = {"trials": trials, "steps": steps, "checks": checks}
    for name in ("requests", "calls"):
        rows[name] = tried.spread(
            "part", [getattr(step, name) for step in tried.roots["step"]]
        )
    return {name: rows[name].table(name) for name in COLUMNS}


def of_records(rows: Sequence[Record]) -> pd.DataFrame:
    """Records as a frame, a column for each field; fields of a field by `outer.inner`."""
    import pandas as pd

    plain = [msgspec.to_builtins(row) for row in rows]
    return pd.json_normalize(plain, sep=".").convert_dtypes()


class _Rows:
    """Rows of a frame, column-wise.

    Args:
        roots: What each row is made of, by the first word of a column's path.
        parent: Rows that these are parts of.
        places: Of its parent, for each row.
    """

    def __init__(
        self,
        roots: dict[str, Sequence[Any]],
        parent: _Rows | None = None,
        places: Any = None,
    ) -> None:
        self.roots = roots
        self._parent = parent
        self._places = places
        self._known: dict[str, Any] = {}

    def spread(self, name: str, parts: Sequence[Sequence[Any]]) -> _Rows:
        """A row for each part, where each row of these has any number of them."""
        places = np.repeat(np.arange(len(parts)), [len(own) for own in parts])
        return _Rows({name: [part for own in parts for part in own]}, self, places)

    def table(self, name: str) -> Table:
        """The frame that `COLUMNS` declares under a name."""
        stored = schema(name)
        arrays = [
            self._column(column.path, field.type)
            for column, field in zip(COLUMNS[name], stored, strict=True)
        ]
        return pa.table(arrays, schema=stored)

    def _column(self, path: str, kind: Any) -> Any:
        if path not in self._known:
            root, *way = path.split(".")
            if root in self.roots:
                found = pa.array(_follow(self.roots[root], way), kind)
            else:
                assert self._parent, path
                found = self._parent._column(path, kind).take(self._places)
            self._known[path] = found
        return self._known[path]


def _follow(values: Sequence[Any], way: Sequence[str]) -> Sequence[Any]:
    """What a way leads to from each value; None where something on it is None."""
    for name in way:
        try:
            values = list(map(attrgetter(name), values))
        except AttributeError:
            values = [
                None if value is None else getattr(value, name) for value in values
            ]
    return values
