"""What goes wrong beneath the services."""


class ServiceUnavailableError(Exception):
    """The service cannot do its work now; a later try may."""

    status = 503
    code = "unavailable"
