"""The selector of a function signature."""

from calltag.keccak import keccak_256

MAX_LENGTH = 256


def selector(signature: str) -> str:
    """Return the selector of a signature, as in the README."""
    if not isinstance(signature, str):
        raise TypeError(f"a signature is a str, not {type(signature).__name__}")
    if len(signature) > MAX_LENGTH:
        raise ValueError(f"a signature has at most {MAX_LENGTH} characters")
    return "0x" + keccak_256(signature.encode("utf-8"))[:4].hex()
