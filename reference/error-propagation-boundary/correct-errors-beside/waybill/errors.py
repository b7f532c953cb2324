"""Errors above the database."""

from waybill.repository import RepositoryError, RepositoryUnavailable


class ServiceError(Exception):
    """A service could not do its work."""


class ServiceUnavailableError(ServiceError):
    """It will be able to, later."""


def as_service_error(error: RepositoryError) -> ServiceError:
    if isinstance(error, RepositoryUnavailable):
        return ServiceUnavailableError(str(error))
    return ServiceError(str(error))
