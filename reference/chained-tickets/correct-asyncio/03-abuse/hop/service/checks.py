"""What a client may ask for."""

from typing import Any
from urllib.parse import urlparse

from ..errors import Invalid

LONGEST = 30 * 86400
MAX_LENGTH = 2048


def checked_url(value: Any) -> str:
    """The URL, if it is one."""
    if not isinstance(value, str) or not value:
        raise Invalid("url is missing")
    if len(value) > MAX_LENGTH:
        raise Invalid("url is too long")
    if any(not 33 <= ord(character) <= 126 for character in value):
        raise Invalid("url has characters that need encoding")
    try:
        parsed = urlparse(value)
        complete = parsed.scheme in {"http", "https"} and bool(parsed.hostname)
    except ValueError:
        complete = False
    if not complete:
        raise Invalid("url is no absolute http or https URL")
    return value


def checked_ttl(value: Any) -> int | None:
    """Seconds to live, None for ever."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LONGEST:
        raise Invalid(f"ttl_seconds is no whole number from 1 to {LONGEST}")
    return value
