"""Settings."""

import os
from pathlib import Path

DEFAULT_PORT = 8086
PUBLIC_FOLDER = Path("files")
MAX_TITLE_CHARACTERS = 200
MAX_BODY_BYTES = 65_536


def port() -> int:
    """The port to listen on."""
    return int(os.environ.get("PORT", DEFAULT_PORT))


def admin_token() -> str | None:
    """The admin token, None where the operator has set none."""
    return os.environ.get("SENTINEL_ADMIN_TOKEN") or None
