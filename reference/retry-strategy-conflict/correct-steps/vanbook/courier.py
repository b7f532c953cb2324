"""The courier's API."""

import json
from typing import Any

from vanbook.transport import ConnectionFailed, ConnectTimeout


class CourierError(Exception):
    """The courier answered, but did not book."""


class Busy(CourierError):
    """503: too many bookings at the moment."""


class Unreached(CourierError):
    """No connection, for another reason than time."""


class Refused(CourierError):
    """Any other answer."""


def book(job: dict[str, Any], transport: Any) -> str:
    """Ask for a pickup once; returns the courier's number."""
    body = {key: job[key] for key in ("address", "parcels")}
    try:
        reply = transport.post(
            "/v1/pickups",
            {"reference": job["id"], **body},
            {"Idempotency-Key": job["id"]},
        )
    except ConnectTimeout:
        raise
    except ConnectionFailed as error:
        raise Unreached from error
    if reply.status == 503:
        raise Busy(f"503 {reply.text}")
    if reply.status != 201:
        raise Refused(f"{reply.status} {reply.text}")
    return json.loads(reply.text)["booking"]
