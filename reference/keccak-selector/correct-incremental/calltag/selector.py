"""The selector of a function signature."""

from functools import lru_cache

from .hashing import Keccak256

LENGTH = 4


def selector(signature: str) -> str:
    """Return the selector of a signature, as in the README."""
    if isinstance(signature, str):
        return _prefixed(signature)
    raise TypeError("signature must be str")


@lru_cache(maxsize=4096)
def _prefixed(signature: str) -> str:
    raw = Keccak256(signature.encode()).digest()
    return f"0x{int.from_bytes(raw[:LENGTH], 'big'):08x}"
