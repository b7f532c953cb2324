"""GET /depots/<code>"""

from waybill.replies import HttpError
from waybill.services import ServiceUnavailableError, depots

RETRY_AFTER_S = 2


def show(database, code):
    try:
        depot = depots.find(database, code)
    except ServiceUnavailableError as error:
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        raise HttpError(503, "unavailable", headers) from error
    if depot is None:
        raise HttpError(404, "unknown_depot")
    return depot
