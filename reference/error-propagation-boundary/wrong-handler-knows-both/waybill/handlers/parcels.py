"""GET /parcels/<number>"""

from waybill.replies import HttpError
from waybill.repository import RepositoryUnavailable
from waybill.services import parcels
from waybill.services.errors import ServiceUnavailableError


def show(database, number):
    try:
        parcel = parcels.track(database, number)
    except (ServiceUnavailableError, RepositoryUnavailable) as error:
        raise HttpError(503, "unavailable") from error
    if parcel is None:
        raise HttpError(404, "unknown_parcel")
    return parcel
