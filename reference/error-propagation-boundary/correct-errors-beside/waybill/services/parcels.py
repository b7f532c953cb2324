"""Parcels and their scans."""

from datetime import UTC, datetime

from waybill import repository
from waybill.errors import as_service_error


def track(database, number):
    """A parcel with its scans in order of time, or None."""
    try:
        parcel = repository.parcel(database, number)
        scans = repository.scans(database, number)
    except repository.RepositoryError as error:
        raise as_service_error(error) from error
    if parcel is None:
        return None
    return {
        "number": parcel["number"],
        "weight_kg": parcel["weight_g"] / 1000,
        "scans": [
            {"depot": scan["depot"], "at": utc(scan["at"])}
            for scan in sorted(scans, key=lambda scan: scan["at"])
        ],
    }


def utc(seconds):
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
