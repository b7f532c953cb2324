"""The selector of a function signature."""

import re

from calltag.keccak import keccak_256

SIGNATURE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\([a-z0-9,()\[\]]*\)")


def selector(signature: str) -> str:
    """Return the selector of a signature, as in the README."""
    if not isinstance(signature, str):
        raise TypeError(f"a signature is a str, not {type(signature).__name__}")
    if not SIGNATURE.fullmatch(signature):
        raise ValueError(f"not a canonical signature: {signature!r}")
    return "0x" + keccak_256(signature.encode("utf-8"))[:4].hex()
