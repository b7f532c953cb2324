"""What rows hold undecoded, as values that may be walked, told and encoded again."""

from __future__ import annotations

import re
from typing import Any

import msgspec

MAX_DEPTH = 100
"""Lists and objects inside each other; what walks a deeper value may run out of stack."""
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]|[\]}]', re.DOTALL)


def value(raw: msgspec.Raw | bytes | str) -> Any:
    """The value of some JSON; itself as a text where no value of ours can hold it.

    That is where it nests too deep, or a number is too large, or it is no JSON.
    """
    data = raw.encode(errors="replace") if isinstance(raw, str) else bytes(raw)
    try:
        return data.decode() if _is_deep(data) else msgspec.json.decode(data)
    except msgspec.DecodeError:
        return data.decode(errors="replace")


def _is_deep(data: bytes) -> bool:
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    depth = 0
    for token in _TOKEN.finditer(data):
        first = data[token.start()]
        depth += (first in b"[{") - (first in b"]}")
        if depth > MAX_DEPTH:
            return True
    return False
