"""GET /parcels/<number>"""

from pathlib import Path

from waybill.replies import HttpError
from waybill.services import parcels


def show(database, number):
    if not Path(database).exists():
        raise HttpError(503, "unavailable", {"Retry-After": "2"})
    parcel = parcels.track(database, number)
    if parcel is None:
        raise HttpError(404, "unknown_parcel")
    return parcel
