"""The file of a line."""

import tomllib
from pathlib import Path
from typing import NamedTuple


class Scale(NamedTuple):
    name: str
    address: str
    timeout_s: float


class Settings(NamedTuple):
    scales: tuple[Scale, ...]
    attempts: int
    pause_s: float


def load(path: str | Path) -> Settings:
    """Read the file of a line."""
    found = tomllib.loads(Path(path).read_text("utf-8"))
    timeout_ms = found.get("timeout_ms", 1500)
    pause_ms = found.get("pause_ms", 250)
    return Settings(
        scales=tuple(
            Scale(
                each["name"],
                each["address"],
                each.get("timeout_ms", timeout_ms) / 1000,
            )
            for each in found["scale"]
        ),
        attempts=found.get("attempts", 2),
        pause_s=pause_ms / 1000,
    )
