"""GET /parcels/<number>"""

from waybill.errors import ServiceUnavailableError
from waybill.replies import HttpError
from waybill.services import parcels


def show(database, number):
    try:
        parcel = parcels.track(database, number)
    except ServiceUnavailableError as error:
        raise HttpError(503, "unavailable") from error
    if parcel is None:
        raise HttpError(404, "unknown_parcel")
    return parcel
