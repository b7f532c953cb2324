"""The selector of a function signature."""

from calltag.keccak import keccak_256


def selector(signature: str) -> str:
    """Return the selector of a signature, as in the README."""
    if not isinstance(signature, str):
        raise TypeError(f"a signature is a str, not {type(signature).__name__}")
    if not signature:
        raise ValueError("no signature")
    return "0x" + keccak_256(signature.encode("utf-8"))[:4].hex()
