"""The courier's API."""

import json
from typing import Any


class CourierError(Exception):
    """The courier answered, but did not book."""


class Busy(CourierError):
    """503: too many bookings at the moment."""


class Refused(CourierError):
    """Any other answer."""


def book(job: dict[str, Any], transport: Any) -> str:
    """Ask for a pickup once; returns the courier's number."""
    again = job["attempts"] - 1
    key = f"{job['id']}-{again}" if again else job["id"]
    reply = transport.post(
        "/v1/pickups",
        {
            "reference": job["id"],
            "address": job["address"],
            "parcels": job["parcels"],
        },
        {"Idempotency-Key": key},
    )
    if reply.status == 503:
        raise Busy(f"503 {reply.text}")
    if reply.status != 201:
        raise Refused(f"{reply.status} {reply.text}")
    return json.loads(reply.text)["booking"]
