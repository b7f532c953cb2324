"""What the environment says."""

import os


def port() -> int:
    """The port to listen on."""
    return int(os.getenv("PORT") or 8087)
