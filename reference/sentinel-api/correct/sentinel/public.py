"""Public files: only what is found in the folder exists."""

import mimetypes
import stat
from pathlib import Path

from sentinel.config import PUBLIC_FOLDER


def find_file(path: str) -> Path | None:
    """The public file of a decoded path, None where there is none."""
    files = {
        file.relative_to(PUBLIC_FOLDER).as_posix(): file
        for file in PUBLIC_FOLDER.rglob("*")
        if stat.S_ISREG(file.lstat().st_mode)
    }
    return files.get(path)


def content_type(file: Path) -> str:
    """Content type by the file's name."""
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
