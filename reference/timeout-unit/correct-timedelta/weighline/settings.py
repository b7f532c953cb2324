"""The file of a line."""

import tomllib
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple


class Scale(NamedTuple):
    name: str
    address: str
    timeout: timedelta


class Settings(NamedTuple):
    scales: tuple[Scale, ...]
    attempts: int
    pause: timedelta


def load(path: str | Path) -> Settings:
    """Read the file of a line."""
    found = tomllib.loads(Path(path).read_text("utf-8"))
    return Settings(
        scales=tuple(
            Scale(
                each["name"],
                each["address"],
                millis({**found, **each}, "timeout_ms", 1500),
            )
            for each in found["scale"]
        ),
        attempts=found.get("attempts", 2),
        pause=millis(found, "pause_ms", 250),
    )


def millis(table: dict[str, object], key: str, default: int) -> timedelta:
    """A duration of a table."""
    return timedelta(milliseconds=table.get(key, default))
