"""Public files: only what a walk through the folder comes across exists."""

import mimetypes
import os
from pathlib import Path


def lookup(folder: Path, name: str) -> tuple[bytes, str] | None:
    """Content and content type of the file of exactly this name below `folder`."""
    for parent, _, files in os.walk(folder):
        for file in files:
            path = Path(parent, file)
            if path.relative_to(folder).as_posix() == name and not path.is_symlink():
                return path.read_bytes(), kind(file)
    return None


def kind(file: str) -> str:
    """Content type by name."""
    guessed, _ = mimetypes.guess_type(file)
    if guessed and guessed.startswith("text/"):
        return f"{guessed}; charset=utf-8"
    return guessed or "application/octet-stream"
