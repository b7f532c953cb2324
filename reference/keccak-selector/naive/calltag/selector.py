"""The selector of a function signature."""

import hashlib


def selector(signature: str) -> str:
    """Return the selector of a signature, as in the README."""
    if not isinstance(signature, str):
        raise TypeError(f"signature must be a str, not {type(signature).__name__}")
    digest = hashlib.sha3_256(signature.encode("utf-8")).digest()
    return "0x" + digest[:4].hex()
