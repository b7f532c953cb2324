"""What the service does, apart from HTTP."""

import json
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from parcels.store import Store

CODES = {400: "invalid_request", 413: "body_too_large", 500: "internal_error"}


class Refusal(Exception):
    """Why there is no answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = HTTPStatus(status)


def refusal_body(refusal: Refusal) -> dict[str, Any]:
    """A refusal as the body of a reply."""
    code = CODES.get(refusal.status, refusal.status.name.lower())
    return {"error": {"code": code, "message": str(refusal), "docs": "/docs"}}


class Api:
    """The resources."""

    def __init__(self) -> None:
        self._store = Store()

    def answer(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        """The answer to a request."""
        match method, path.split("/")[1:]:
            case "POST", ["parcels"]:
                return asdict(self._store.add(*validated(body)))
            case "GET", ["parcels", parcel_id]:
                parcel = self._store.get(parcel_id)
                if parcel is None:
                    raise Refusal(404, "no such parcel")
                return asdict(parcel)
            case "GET", ["health"]:
                return {"status": "ok", "version": "0.4.0"}
            case ("GET" | "POST"), _:
                raise Refusal(404, "no such route")
        raise Refusal(405, "only GET and POST are served")


def validated(body: bytes) -> tuple[str, int, bool]:
    """Recipient, weight in grams and express of a parcel as sent."""
    try:
        sent = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"not JSON: {error}") from error
    match sent:
        case {"recipient": str(recipient), "weight_g": weight_g, "express": bool(express)}:
            if isinstance(weight_g, int) and not isinstance(weight_g, bool):
                return recipient, weight_g, express
    raise Refusal(400, "recipient: text, weight_g: whole number, express: true or false")
