"""What goes wrong beneath the services."""

from waybill.repository import RepositoryError


class ServiceUnavailableError(RepositoryError):
    """The service cannot do its work now; a later try may."""

    status = 503
    code = "unavailable"
