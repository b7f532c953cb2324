"""When a parcel arrives."""

from datetime import UTC, datetime
from typing import Any, NamedTuple


class Arrival(NamedTuple):
    """The moments that a parcel tells, each by the name of its field."""

    eta_from: str | None = None
    eta_to: str | None = None
    eta: str | None = None


def arrival(record: dict[str, Any]) -> Arrival:
    if record["window"] is None:
        return Arrival()
    start, end = (
        datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
        for seconds in record["window"]
    )
    return Arrival(start, end, end)
