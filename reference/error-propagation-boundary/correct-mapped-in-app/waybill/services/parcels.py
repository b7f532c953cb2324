"""Parcels and their scans."""

from datetime import UTC, datetime

from waybill import repository
from waybill.services import ServiceUnavailableError


class Tracking:
    def __init__(self, database):
        self.database = database

    def fetched(self, rows, number):
        try:
            return rows(self.database, number)
        except repository.RepositoryUnavailable as error:
            raise ServiceUnavailableError from error

    def of(self, number):
        if found := self.fetched(repository.parcel, number):
            scans = self.fetched(repository.scans, number)
            times = sorted((scan["at"], scan["depot"]) for scan in scans)
            return {
                "number": found["number"],
                "weight_kg": found["weight_g"] / 1000,
                "scans": [{"depot": depot, "at": utc(at)} for at, depot in times],
            }
        return None


def track(database, number):
    """A parcel with its scans in order of time, or None."""
    return Tracking(database).of(number)


def utc(seconds):
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
