"""The figures of an entry, each made of one column of readings."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    name: str
    column: str
    make: Callable[[list[float]], float | bool]

    def of(self, readings: list[dict[str, Any]]) -> float | bool | None:
        """None if the column is empty."""
        column = [reading.get(self.column) for reading in readings]
        values = [value for value in column if value is not None]
        return self.make(values) if values else None


FIGURES = (
    Figure("level_cm_max", "level_cm", max),
    Figure("rain_mm_sum", "rain_mm", lambda rain: round(sum(rain), 1)),
    Figure("temp_c_mean", "temp_c", lambda temps: round(statistics.fmean(temps), 2)),
    Figure("temp_c_min", "temp_c", min),
    Figure("frost", "temp_c", lambda temps: min(temps) < 0),
)
