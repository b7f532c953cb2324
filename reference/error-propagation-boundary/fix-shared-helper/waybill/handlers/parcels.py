"""GET /parcels/<number>"""

from waybill.handlers.outage import answered
from waybill.replies import HttpError
from waybill.services import parcels


def show(database, number):
    with answered():
        parcel = parcels.track(database, number)
    if parcel is None:
        raise HttpError(404, "unknown_parcel")
    return parcel
