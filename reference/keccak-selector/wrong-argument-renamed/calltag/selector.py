"""The selector of a function signature."""

from calltag.keccak import keccak_256


def selector(text: str) -> str:
    """Return the selector of a signature, as in the README."""
    if not isinstance(text, str):
        raise TypeError(f"a signature is a str, not {type(text).__name__}")
    return "0x" + keccak_256(text.encode("utf-8"))[:4].hex()
