"""Who is told of what."""

from typing import Any

from crates.billing import BillingHandler
from crates.bus import Bus
from crates.mail import MailHandler
from crates.points import PointsHandler


def build(mailer: Any, billing: Any, points: Any) -> Bus:
    """A bus with all handlers."""
    bus = Bus()
    bus.subscribe("crate.packed", BillingHandler(billing))
    bus.subscribe("crate.packed", MailHandler(mailer))
    bus.subscribe("crate.returned", PointsHandler(points))
    return bus
