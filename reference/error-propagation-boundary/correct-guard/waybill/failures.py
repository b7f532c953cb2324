"""What the layers above the database may know of its troubles."""

from contextlib import contextmanager

from waybill.repository import RepositoryUnavailable


class ServiceUnavailableError(RuntimeError):
    pass


@contextmanager
def translated():
    try:
        yield
    except RepositoryUnavailable as trouble:
        raise ServiceUnavailableError("no database at present") from trouble
