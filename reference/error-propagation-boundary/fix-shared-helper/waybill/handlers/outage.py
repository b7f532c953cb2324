"""How handlers answer while the database is away."""

from contextlib import contextmanager

from waybill.replies import HttpError
from waybill.repository import RepositoryUnavailable

RETRY_AFTER_S = 2


@contextmanager
def answered():
    try:
        yield
    except RepositoryUnavailable as error:
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        raise HttpError(503, "unavailable", headers) from error
