"""Points for crates that come back."""

from typing import Any

from crates.repeats import first_time

POINTS = 20


class PointsHandler:
    def __init__(self, points: Any) -> None:
        self._points = points

    def __call__(self, event: dict[str, Any]) -> None:
        if first_time(event):
            self._points.add(event["customer"], POINTS)
