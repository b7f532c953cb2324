"""Who is told of what."""

from functools import partial
from typing import Any

from crates import packed
from crates.bus import Bus
from crates.points import PointsHandler


def build(mailer: Any, billing: Any, points: Any) -> Bus:
    """A bus with all handlers."""
    bus = Bus()
    bus.subscribe("crate.packed", partial(packed.charge, billing))
    bus.subscribe("crate.packed", packed.announcer(mailer))
    bus.subscribe("crate.returned", PointsHandler(points))
    return bus
