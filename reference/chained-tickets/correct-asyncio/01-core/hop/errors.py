"""What can be wrong with a request."""


class HopError(Exception):
    """Base of all errors that a client is told."""


class Invalid(HopError):
    """The request is not as documented."""


class Unknown(HopError):
    """There is no such thing."""


class Expired(HopError):
    """There was such a thing."""
