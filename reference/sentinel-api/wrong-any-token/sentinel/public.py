"""Public files."""

import mimetypes
from pathlib import Path

from sentinel.config import PUBLIC_FOLDER


def find_file(path: str) -> Path | None:
    """The public file of a decoded path, None where there is none."""
    folder = PUBLIC_FOLDER.resolve()
    try:
        file = (folder / path).resolve()
    except (OSError, ValueError):
        return None
    return file if file.is_relative_to(folder) and file.is_file() else None


def content_type(file: Path) -> str:
    """Content type by the file's name."""
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
