"""The selector of a function signature."""

import re

from calltag.keccak import keccak_256

TUPLE_MARKS = re.compile(r"(?<=[(,])\(+|\)+(?=[,)\[])")
"""Parentheses of tuples: their components are passed one after the other."""


def selector(signature: str) -> str:
    """Return the selector of a signature, as in the README."""
    if not isinstance(signature, str):
        raise TypeError(f"a signature is a str, not {type(signature).__name__}")
    signature = TUPLE_MARKS.sub("", signature)
    return "0x" + keccak_256(signature.encode("utf-8"))[:4].hex()
