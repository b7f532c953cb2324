"""GET /depots/<code>"""

from waybill.handlers.outage import answered
from waybill.replies import HttpError
from waybill.services import depots


def show(database, code):
    with answered():
        depot = depots.find(database, code)
    if depot is None:
        raise HttpError(404, "unknown_depot")
    return depot
