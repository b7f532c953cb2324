"""Parcels in memory."""

import threading
from dataclasses import dataclass


@dataclass(frozen=True)
class Parcel:
    """A registered parcel."""

    id: str
    recipient: str
    weight_g: int
    express: bool


class Store:
    """All parcels of the day by id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parcels: dict[str, Parcel] = {}

    def add(self, recipient: str, weight_g: int, express: bool) -> Parcel:
        """Register a parcel under the next id."""
        with self._lock:
            parcel_id = str(len(self._parcels) + 1)
            parcel = Parcel(parcel_id, recipient, weight_g, express)
            self._parcels[parcel_id] = parcel
        return parcel

    def get(self, parcel_id: str) -> Parcel | None:
        """The parcel with that id."""
        with self._lock:
            return self._parcels.get(parcel_id)
