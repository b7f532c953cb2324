"""Takes the credential out of what is kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from multidict import CIMultiDict

PLACEHOLDER = "[withheld]"


class Secret:
    """A credential, as the provider may say it again."""

    def __init__(self, credential: str) -> None:
        self._text = credential.strip()
        self._bytes = self._text.encode()

    def out_of(self, text: str) -> str:
        """A text without it."""
        return text.replace(self._text, PLACEHOLDER)

    def out_of_bytes(self, data: bytes) -> bytes:
        """Bytes without it."""
        return data.replace(self._bytes, PLACEHOLDER.encode())

    def out_of_headers(self, headers: Mapping[str, str]) -> CIMultiDict[str]:
        """Headers without it; one whose name holds it is left out."""
        return CIMultiDict(
            (name, self.out_of(value))
            for name, value in headers.items()
            # Names come in any case, and a placeholder is no name.
            if self._text.lower() not in name.lower()
        )

    def begun_in(self, data: bytes) -> int:
        """How many bytes at the end may be its beginning."""
        longest = min(len(self._bytes) - 1, len(data))
        fits = (n for n in range(longest, 0, -1) if data.endswith(self._bytes[:n]))
        return next(fits, 0)


class Stream:
    """Bytes that come in pieces, without a secret that may be cut across them."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._held = b""

    def take(self, chunk: bytes) -> bytes:
        """What of the bytes so far is sure to hold nothing of it."""
        data = self._secret.out_of_bytes(self._held + chunk)
        n_sure = len(data) - self._secret.begun_in(data)
        self._held = data[n_sure:]
        return data[:n_sure]

    def end(self) -> bytes:
        """What was held back."""
        held, self._held = self._held, b""
        return held
