"""What the environment says."""

import os


def port() -> int:
    """The port to listen on."""
    return int(os.getenv("PORT") or 8087)


def data_file() -> str:
    """Where the links are."""
    return os.getenv("DATA_FILE") or "links.data"
