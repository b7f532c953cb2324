"""Responses, made of what the plan holds."""

from datetime import UTC, datetime
from typing import Any

Record = dict[str, Any]


def parcel(record: Record) -> dict[str, Any]:
    """A parcel on its own."""
    return {
        "number": record["number"],
        "state": record["state"],
        "depot": record["depot"],
        "eta": eta(record),
        **window(record),
    }


def parcel_in_list(record: Record) -> dict[str, Any]:
    """A parcel among others."""
    return {
        "number": record["number"],
        "state": record["state"],
        "eta": eta(record),
        **window(record),
    }


def parcels(records: list[Record], before: datetime | None = None) -> dict[str, Any]:
    """All parcels, or those that arrive before a moment."""
    if before is not None:
        records = [record for record in records if arrives_before(record, before)]
    return {"parcels": [parcel_in_list(record) for record in records]}


def arrives_before(record: Record, moment: datetime) -> bool:
    window = record["window"]
    return window is not None and window[1] < moment.timestamp()


def eta(record: Record) -> str | None:
    """The end of the window."""
    window = record["window"]
    return None if window is None else written(window[1])


def window(record: Record) -> dict[str, str | None]:
    """Both ends of it."""
    start, end = record["window"] or (None, None)
    return {"eta_from": written(start), "eta_to": written(end)}


def written(seconds: int | None) -> str | None:
    """A moment as responses have it."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
