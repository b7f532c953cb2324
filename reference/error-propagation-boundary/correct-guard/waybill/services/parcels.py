"""Parcels and their scans."""

from datetime import UTC, datetime

from waybill import repository
from waybill.failures import translated


@translated()
def track(database, number):
    """A parcel with its scans in order of time, or None."""
    parcel = repository.parcel(database, number)
    if parcel is None:
        return None
    scans = sorted(repository.scans(database, number), key=lambda scan: scan["at"])
    return {
        "number": parcel["number"],
        "weight_kg": parcel["weight_g"] / 1000,
        "scans": [{"depot": s["depot"], "at": utc(s["at"])} for s in scans],
    }


def utc(seconds):
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
