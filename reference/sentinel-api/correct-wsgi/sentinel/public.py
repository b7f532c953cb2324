"""Public files: wherever a name leads, it has to lead into the folder."""

import mimetypes
from pathlib import Path


def lookup(folder: Path, name: str) -> tuple[bytes, str] | None:
    """Content and content type of the file of this name below `folder`."""
    root = folder.resolve()
    try:
        path = (root / name).resolve()
        if path.is_relative_to(root) and path.is_file():
            return path.read_bytes(), kind(path.name)
    except (OSError, ValueError):  # a name that no file can have
        pass
    return None


def kind(file: str) -> str:
    """Content type by name."""
    guessed, _ = mimetypes.guess_type(file)
    if guessed and guessed.startswith("text/"):
        return f"{guessed}; charset=utf-8"
    return guessed or "application/octet-stream"
