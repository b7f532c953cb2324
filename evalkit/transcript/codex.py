"""What Codex said it did: the JSON lines of `codex exec --json`. Pure.

It reports usage by turn, with cached input tokens inside the input tokens, and
neither model nor cost. Its rollout files hold a usage record per request.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from evalkit.records import Record, Request


class Usage(msgspec.Struct):
    """Tokens as Codex counts them."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class Fault(msgspec.Struct):
    """Why a turn failed."""

    message: str = ""


class Item(msgspec.Struct):
    """Something done or said."""

    type: str = ""
    command: str = ""


class Payload(msgspec.Struct):
    """Of a line of a rollout."""

    usage: Usage | None = None


class Row(msgspec.Struct):
    """One line, of the stream or of a rollout."""

    type: str = ""
    usage: Usage | None = None
    error: Fault | None = None
    item: Item | None = None
    payload: Payload | None = None


class CodexSession(Record, frozen=True):
    """What a stream says: its totals per turn, why it failed, what it ran.

    `completed` is True where its last turn came to its end.
    """

    turns: tuple[Request, ...]
    failure: str | None
    completed: bool
    commands: tuple[str, ...]
    n_lines: int
    n_bad_lines: int


_decode = msgspec.json.Decoder(Row).decode


def parse(lines: Iterable[bytes], *, model: str) -> CodexSession:
    """Read a stream line by line; no line is fatal."""
    turns: list[Request] = []
    commands: list[str] = []
    failure: str | None = None
    last, n_lines, n_bad_lines = "", 0, 0
    for line in lines:
        n_lines += 1
        try:
            row = _decode(line)
        except msgspec.DecodeError:
            n_bad_lines += 1
            continue
        if row.type.startswith("turn."):
            last = row.type
        if row.type == "turn.completed" and row.usage:
            turns.append(_request(model, row.usage, "turn", None))
        if row.type == "turn.failed":
            failure = row.error.message if row.error else ""
        if row.item and row.item.type == "command_execution" and row.item.command:
            commands.append(row.item.command)
    return CodexSession(
        turns=tuple(turns),
        failure=failure if last == "turn.failed" else None,
        completed=last == "turn.completed",
        commands=tuple(dict.fromkeys(commands)),
        n_lines=n_lines,
        n_bad_lines=n_bad_lines,
    )


def parse_rollout(lines: Iterable[bytes], *, model: str) -> tuple[Request, ...]:
    """Usage per request from a rollout file; no line is fatal."""
    found: list[Request] = []
    for line in lines:
        try:
            row = _decode(line)
        except msgspec.DecodeError:
            continue
        if row.type == "token_usage_record" and row.payload and row.payload.usage:
            found.append(_request(model, row.payload.usage, "rollout", 1))
    return tuple(found)


def _request(model: str, used: Usage, source: str, n_requests: int | None) -> Request:
    fresh = used.input_tokens - used.cached_input_tokens - used.cache_write_input_tokens
    return Request(
        call=0,
        model=model,
        input=max(fresh, 0),
        write_5m=used.cache_write_input_tokens,
        write_1h=0,
        read=used.cached_input_tokens,
        output=used.output_tokens,
        source=source,
        n_requests=n_requests,
    )
