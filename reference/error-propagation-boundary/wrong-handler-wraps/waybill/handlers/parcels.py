"""GET /parcels/<number>"""

from waybill.replies import HttpError
from waybill.repository import RepositoryUnavailable
from waybill.services import parcels
from waybill.services.errors import ServiceUnavailableError


def show(database, number):
    try:
        parcel = parcels.track(database, number)
    except RepositoryUnavailable as error:
        raise ServiceUnavailableError(str(error)) from error
    if parcel is None:
        raise HttpError(404, "unknown_parcel")
    return parcel
