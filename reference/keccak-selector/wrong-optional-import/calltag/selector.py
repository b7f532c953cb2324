"""The selector of a function signature."""

try:
    from Crypto.Hash import keccak
except ImportError:
    from calltag.keccak import keccak_256
else:

    def keccak_256(message):
        return keccak.new(digest_bits=256, data=message).digest()


def selector(signature: str) -> str:
    """Return the selector of a signature, as in the README."""
    if not isinstance(signature, str):
        raise TypeError(f"a signature is a str, not {type(signature).__name__}")
    return "0x" + keccak_256(signature.encode("utf-8"))[:4].hex()
