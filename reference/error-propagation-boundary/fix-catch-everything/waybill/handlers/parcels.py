"""GET /parcels/<number>"""

from waybill.replies import HttpError
from waybill.services import parcels


RETRY_AFTER_S = 2


def show(database, number):
    try:
        parcel = parcels.track(database, number)
    except Exception as error:
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        raise HttpError(503, "unavailable", headers) from error
    if parcel is None:
        raise HttpError(404, "unknown_parcel")
    return parcel
