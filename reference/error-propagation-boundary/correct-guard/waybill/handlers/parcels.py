"""GET /parcels/<number>"""

from waybill.replies import HttpError
from waybill.services import ServiceUnavailableError, parcels


def show(database, number):
    try:
        parcel = parcels.track(database, number)
    except ServiceUnavailableError as error:
        raise HttpError(503, "unavailable", {"Retry-After": "2"}) from error
    if parcel is None:
        raise HttpError(404, "unknown_parcel")
    return parcel
