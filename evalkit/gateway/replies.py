"""What the gateway itself answers, in the shape of the provider's errors. Pure."""

from __future__ import annotations

import msgspec

from evalkit.records import Dialect, Record

COUNTS = "/v1/messages/count_tokens"
"""No provider charges for the counting of tokens."""
PATHS = {
    Dialect.ANTHROPIC: ("/v1/messages", COUNTS),
    Dialect.OPENAI: ("/v1/responses",),
}
"""What may be asked; nothing else leaves this machine."""
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    502: "api_error",
}
NEVER_S = 86_400
"""Told as `retry-after` where no further request is answered: clients end at once."""


class Refusal(Record, frozen=True):
    """An answer of the gateway's own."""

    status: int
    message: str

    @property
    def headers(self) -> dict[str, str]:
        """Beside the usual ones."""
        return {"retry-after": str(NEVER_S)} if self.status == 429 else {}

    def body(self, dialect: Dialect) -> bytes:
        """The error, as a client of this provider reads it."""
        error = {"type": KINDS[self.status], "message": f"evalkit: {self.message}"}
        if dialect is Dialect.ANTHROPIC:
            return msgspec.json.encode({"type": "error", "error": error})
        return msgspec.json.encode({"error": error | {"code": None, "param": None}})


UNKNOWN_TOKEN = Refusal(401, "this token belongs to no call that is under way")
WITHHELD = "the provider refused the credential that the gateway holds"
"""In place of a provider's own words, which may hold a part of the credential."""


def not_offered(method: str, path: str, dialect: Dialect) -> Refusal:
    """For a path that is not passed on."""
    return Refusal(
        404,
        f"{method[:20]} {path[:100]} is not passed on, only POST to "
        f"{' and '.join(PATHS[dialect])}",
    )


def not_registered(model: str, models: tuple[str, ...]) -> Refusal:
    """For a model that is not part of the experiment."""
    return Refusal(
        400, f"model {model[:100]} is not registered, only {', '.join(models)}"
    )


def departed(how: str) -> Refusal:
    """For a request, in a replay, that is none of those recorded."""
    return Refusal(429, f"the replay departed from its recording: {how}")


def over_cap(name: str, allows: str) -> Refusal:
    """For a request after a cap was reached."""
    return Refusal(
        429,
        f"this trial reached its registered cap, {name} = {allows}; no further model "
        "request is answered",
    )
