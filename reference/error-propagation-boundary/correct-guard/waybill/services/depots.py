"""Depots."""

from waybill import repository
from waybill.failures import translated


def find(database, code):
    """A depot, or None."""
    with translated():
        return repository.depot(database, code.upper())
