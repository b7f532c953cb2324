"""Responses, made of what the plan holds."""

from datetime import datetime
from typing import Any

from parcelboard.windows import arrival

Record = dict[str, Any]


def parcel(record: Record) -> dict[str, Any]:
    """A parcel on its own."""
    return {**parcel_in_list(record), "depot": record["depot"]}


def parcel_in_list(record: Record) -> dict[str, Any]:
    """A parcel among others."""
    told = {field: record[field] for field in ("number", "state")}
    return told | arrival(record)._asdict()


def parcels(records: list[Record], before: datetime | None = None) -> dict[str, Any]:
    """All parcels, or those that arrive before a moment."""
    if before is not None:
        records = [record for record in records if arrives_before(record, before)]
    return {"parcels": [parcel_in_list(record) for record in records]}


def arrives_before(record: Record, moment: datetime) -> bool:
    window = record["window"]
    return window is not None and window[1] < moment.timestamp()
