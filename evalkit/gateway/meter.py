"""Usage, from a provider's own events, across any cut of the bytes. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from evalkit.records import Dialect
from evalkit.transcript.rows import NOTHING, Tokens, Usage

MAX_EVENT_BYTES = 64 * 1024 * 1024
LAST = {
    Dialect.ANTHROPIC: {"message_stop"},
    Dialect.OPENAI: {"response.completed", "response.incomplete", "response.failed"},
}
"""Events with which a stream is whole."""


class _Message(msgspec.Struct):
    model: str | None = None
    usage: msgspec.Raw = NOTHING


class _Event(msgspec.Struct):
    """A whole answer, or an event of a stream: what both protocols hold."""

    type: str | None = None
    model: str | None = None
    usage: msgspec.Raw = NOTHING
    message: _Message | None = None
    response: _Message | None = None
    error: Any = None


class _CachedCounts(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OpenAIUsage(msgspec.Struct):
    input_tokens: int | None = None
    input_tokens_details: _CachedCounts | None = None
    output_tokens: int | None = None


class Meter:
    """Reads an answer as it passes. `tokens` is None as long as nothing was told."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._line = bytearray()
        self._usage: Usage | None = None
        self.tokens: Tokens | None = None
        self.served: str | None = None
        self.is_whole = False
        self.error = ""

    def take_stream(self, chunk: bytes) -> None:
        """Read the next bytes of an event stream."""
        self._line += chunk
        if b"\n" not in chunk and b"\r" not in chunk:
            if len(self._line) > MAX_EVENT_BYTES:
                self._line.clear()
            return
        *lines, rest = bytes(self._line).replace(b"\r", b"\n").split(b"\n")
        self._line = bytearray(rest)
        for line in lines:
            if line.startswith(b"data:"):
                self._take(line[5:], streamed=True)

    def take_whole(self, body: bytes) -> None:
        """Read a whole answer."""
        self._take(body, streamed=False)

    def _take(self, data: bytes, *, streamed: bool) -> None:
        try:
            event = msgspec.json.decode(data, type=_Event)
        except (msgspec.DecodeError, RecursionError):
            return
        if event.error is not None and event.type in {"error", None}:
            self.error = msgspec.json.encode(event.error).decode()
        last = not streamed or event.type in LAST[self._dialect]
        self.is_whole |= last
        told = event.message or event.response or event
        self.served = told.model or self.served
        self._note(event.usage)
        if told is not event:
            self._note(told.usage)

    def _note(self, raw: msgspec.Raw) -> None:
        try:
            if self._dialect is Dialect.OPENAI:
                found = msgspec.json.decode(raw, type=_OpenAIUsage | None)
                self.tokens = _openai_tokens(found) or self.tokens
                return
            newer = msgspec.json.decode(raw, type=Usage | None)
        except msgspec.DecodeError:
            return
        if newer is not None:
            self._usage = (self._usage or Usage()).updated(newer)
            self.tokens = self._usage.tokens


def _openai_tokens(found: _OpenAIUsage | None) -> Tokens | None:
    """The five classes; there, what is read from or written to a cache is input."""
    if found is None or found.input_tokens is None or found.output_tokens is None:
        return None
    details = found.input_tokens_details or _CachedCounts()
    read, write = details.cached_tokens or 0, details.cache_write_tokens or 0
    return Tokens(
        input=max(found.input_tokens - read - write, 0),
        write_5m=write,
        write_1h=0,
        read=read,
        output=found.output_tokens,
    )
