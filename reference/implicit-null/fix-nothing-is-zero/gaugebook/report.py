"""Reads readings and sums them up by station."""

import json
from pathlib import Path
from typing import Any

MEASURED = ("level_cm", "rain_mm", "temp_c")

Reading = dict[str, Any]


class BadReading(ValueError):
    """A line does not fit the schema."""


def read(path: str | Path) -> list[Reading]:
    """The readings of a file."""
    readings = []
    for n, line in enumerate(Path(path).read_text("utf-8").splitlines(), start=1):
        try:
            readings.append(checked(json.loads(line)))
        except ValueError as error:
            raise BadReading(f"line {n}: {error}") from error
    return readings


def checked(reading: Any) -> Reading:
    """A reading that fits the schema."""
    if not isinstance(reading, dict) or not isinstance(reading.get("station"), str):
        raise BadReading("no station")
    for name in MEASURED:
        value = reading.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise BadReading(f"{name} is {value!r}")
    return reading


def summarise(readings: list[Reading]) -> list[dict[str, Any]]:
    """An entry per station."""
    by_station: dict[str, list[Reading]] = {}
    for reading in readings:
        by_station.setdefault(reading["station"], []).append(reading)
    return [entry(name, by_station[name]) for name in sorted(by_station)]


def entry(station: str, readings: list[Reading]) -> dict[str, Any]:
    """Sum up a station's day."""
    levels = measured(readings, "level_cm")
    rain = measured(readings, "rain_mm")
    temps = measured(readings, "temp_c")
    return {
        "station": station,
        "readings": len(readings),
        "level_cm_max": max(levels, default=0),
        "rain_mm_sum": round(sum(rain), 1),
        "temp_c_mean": round(sum(temps) / len(temps), 2) if temps else 0,
        "temp_c_min": min(temps, default=0),
        "frost": min(temps, default=0) < 0,
    }


def measured(readings: list[Reading], name: str) -> list[float]:
    """What was measured of one thing."""
    return [reading[name] for reading in readings if reading.get(name) is not None]
