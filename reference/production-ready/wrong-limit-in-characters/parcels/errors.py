"""Errors that a client gets to see."""

CODES = {
    400: "invalid_request",
    404: "not_found",
    413: "body_too_large",
    500: "internal_error",
}


class RequestError(Exception):
    """The request cannot be served; `status` and text go to the client."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        self.text = text


def envelope(status: int, text: str) -> dict[str, dict[str, str]]:
    """The body of an error reply."""
    code = CODES.get(status, "request_failed")
    return {"error": {"code": code, "message": text}}
