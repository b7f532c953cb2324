"""The selector of a function signature."""

import re

from calltag.keccak import keccak_256


def selector(signature: str) -> str:
    """Return the selector of a signature, as in the README."""
    if not isinstance(signature, str):
        raise TypeError(f"a signature is a str, not {type(signature).__name__}")
    signature = re.sub(r"\s+", "", signature)
    signature = re.sub(r"\b(u?int)\b", r"\g<1>256", signature)
    return "0x" + keccak_256(signature.encode("utf-8"))[:4].hex()
