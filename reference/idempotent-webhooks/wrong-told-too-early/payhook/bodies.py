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
    for name in texts:
        if not isinstance(body.get(name), str) or not body[name]:
            raise MalformedBody(f"{name} is not a text of at least one character")
    amount_cents = body.get("amount_cents")
    if type(amount_cents) is not int or amount_cents < 1:
        raise MalformedBody("amount_cents is not an integer of at least 1")
    return {name: body[name] for name in (*texts, "amount_cents")}
