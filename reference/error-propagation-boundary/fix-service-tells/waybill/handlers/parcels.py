"""GET /parcels/<number>"""

from waybill.replies import HttpError
from waybill.services import parcels


def show(database, number):
    parcel = parcels.track(database, number)
    if parcel is parcels.OUTAGE:
        raise HttpError(503, "unavailable", {"Retry-After": "2"})
    if parcel is None:
        raise HttpError(404, "unknown_parcel")
    return parcel
