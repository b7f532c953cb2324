"""Bodies of requests."""

import json
from typing import Any


class MalformedBody(Exception):
    """A body is not what it should be; the text goes to the client."""


def parse_body(raw: bytes, *, texts: tuple[str, ...]) -> dict[str, Any]:
    """The fields named by `texts`, and `amount_cents`.

    Raises:
        MalformedBody: The body is no JSON object in UTF-8, or one of its fields
            is missing or wrong.
    """
    try:
        body = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise MalformedBody("the body is not JSON in UTF-8") from None
    if not isinstance(body, dict):
        raise MalformedBody("the body is not an object")
    for name in (*texts, "amount_cents"):
        if not body.get(name):
            raise MalformedBody(f"{name} is missing")
    return {name: body[name] for name in (*texts, "amount_cents")}
