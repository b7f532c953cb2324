"""What an answer may hold at most, and the text and refusals all parts share."""

from __future__ import annotations

import os

# A driver starts anew for every grading: it does without typing, pathlib, shutil and
# tempfile, whose imports would take a fifth of that start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    Json = dict[str, Any]
else:
    Any, Json, NoReturn = object, dict, None

MAX_TEXT = 1_000_000
"""Bytes of a body, a file or a returned value that an answer may carry."""
MAX_OUTPUT = 256_000
"""Bytes kept of each output stream of a child: the first ones."""
MAX_LINES = 8_000_000
"""Bytes of a whole answer, and of what a child writes to its answer pipe."""
MAX_FILES = 5_000
"""Entries of a list in an answer."""
MAX_WAIT_S = 600.0
"""Whatever a question asks, no wait is longer."""


class RefusedError(Exception):
    """The question cannot be carried out; its text is the answer."""


def text_of(data: bytes) -> str:
    """Bytes as text that any JSON reader takes: what is no UTF-8 is U+FFFD."""
    return data.decode("utf-8", "replace")


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def shortened(text: str) -> str:
    """Text of an answer that has no field to say that it was cut."""
    if len(text) <= MAX_OUTPUT:
        return text
    return text[:MAX_OUTPUT] + "\n[truncated]"


def refuse_constant(name: str) -> NoReturn:
    """For `json.loads`: NaN and infinities are no JSON."""
    raise ValueError(f"{name} is not JSON")
