"""One attempt to bring a payload to a receiver."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

PATIENCE_S = 2.0


class LostParcel(Exception):
    """The attempt failed; the text says why."""


def carry(url: str, payload: Any) -> None:
    """Post the payload as JSON.

    Raises:
        LostParcel: The receiver gave no 2xx reply in time.
    """
    parts = urlsplit(url)
    kind = (
        http.client.HTTPSConnection
        if parts.scheme == "https"
        else http.client.HTTPConnection
    )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        road = kind(parts.hostname or "", parts.port, timeout=PATIENCE_S)
        try:
            road.request(
                "POST",
                target,
                json.dumps(payload),
                {"Content-Type": "application/json"},
            )
            status = road.getresponse().status
        finally:
            road.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise LostParcel(f"{type(error).__name__}: {error}") from error
    if status // 100 != 2:
        raise LostParcel(f"HTTP {status}")
