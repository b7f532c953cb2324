"""Values of the subject as plain JSON, by exact type: nothing of it is called."""

from __future__ import annotations

import base64
import json
import math

from evalkit.inside.subject.bounds import MAX_LINES, MAX_TEXT, Any, Json, text_of

MAX_DEPTH = 50


class NotPlainError(Exception):
    """A value is not made of plain JSON values and bytes."""


def plain(value: Any, depth: int = 0, room: list[int] | None = None) -> Any:
    """`value` as plain JSON values, by exact type; bytes as `{"$bytes": base64}`.

    Raises:
        NotPlainError: Something in it is of another type, not finite, a text that
            is no Unicode, or it is too deep or too large.
    """
    room = room or [MAX_TEXT]
    room[0] -= 1 + (len(value) if type(value) in (str, bytes) else 0)
    if depth > MAX_DEPTH or room[0] < 0:
        raise NotPlainError("too deep" if depth > MAX_DEPTH else "too large")
    kind = type(value)
    if value is None or kind in (bool, int):
        return value
    if kind is float and math.isfinite(value):
        return value
    if kind is str and not any(
        "\ud800" <= character <= "\udfff" for character in value
    ):
        return value
    if kind is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    if kind in (list, tuple):
        return [plain(item, depth + 1, room) for item in value]
    if kind is dict and all(type(key) is str for key in value):
        return {
            plain(key, depth, room): plain(item, depth + 1, room)
            for key, item in value.items()
        }
    shown = repr(value) if kind in (float, str) else ""
    raise NotPlainError(f"{kind.__module__}.{kind.__qualname__} {shown}".strip())


def mro_of(error: BaseException) -> list[str]:
    """Class names of an exception, most derived first."""
    return [kind.__name__ for kind in type(error).__mro__ if kind is not object]


def message_of(error: BaseException) -> str:
    """Text of an exception, shortened; it may not have one."""
    try:
        return text_of(str(error).encode("utf-8", "replace"))[:2_000]
    except BaseException as fault:  # noqa: BLE001 - its own __str__ may raise anything
        return f"(no text: {type(fault).__name__})"


def json_line(value: Json, room: int = MAX_LINES) -> bytes:
    """One line of strict JSON.

    Raises:
        NotPlainError: It is no JSON, or over `room` bytes.
    """
    try:
        line = json.dumps(value, allow_nan=False).encode() + b"\n"
    except ValueError as error:  # an integer too long for text
        raise NotPlainError(str(error)) from error
    if len(line) > room:
        raise NotPlainError(f"too large, over {room} bytes")
    return line
