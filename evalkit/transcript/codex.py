"""What Codex said it did: lines of `codex exec --json`, and its rollout files. Pure.

The stream reports usage by turn, with cached input tokens inside the input tokens,
and neither model nor cost. A rollout holds a usage record per request; an older
one only running totals, repeated.
"""

from __future__ import annotations

from io import BufferedIOBase
from typing import Any

import msgspec

from evalkit.records import Record, Request
from evalkit.transcript.lines import Chunk, Lines, Tally, chunks
from evalkit.transcript.rows import NOTHING, Count

KNOWN_TYPES = frozenset({
    "thread.started", "turn.started", "turn.completed", "turn.failed", "error",
    "item.started", "item.updated", "item.completed", "session_meta",
    "response_item", "event_msg", "turn_context", "compacted", "world_state",
    "token_usage_record",
})  # fmt: skip
"""Types of rows seen from the CLI; others are counted, and passed over."""


class Usage(msgspec.Struct):
    """Tokens as Codex counts them."""

    input_tokens: Count = 0
    cached_input_tokens: Count = 0
    cache_write_input_tokens: Count = 0
    output_tokens: Count = 0


class Fault(msgspec.Struct):
    """Why a turn failed."""

    message: str = ""


class Item(msgspec.Struct):
    """Something done or said, as the stream tells it."""

    id: str = ""
    type: str = ""
    text: str | None = None
    message: str | None = None
    command: str = ""
    aggregated_output: str | None = None
    exit_code: int | None = None
    status: str | None = None
    server: Any = None
    tool: Any = None
    query: Any = None
    arguments: msgspec.Raw = NOTHING
    changes: msgspec.Raw = NOTHING


class Info(msgspec.Struct):
    """Running totals in a rollout."""

    total_token_usage: Usage | None = None
    last_token_usage: Usage | None = None


class Payload(msgspec.Struct):
    """Of a row of a rollout."""

    type: str | None = None
    usage: Usage | None = None
    info: Info | None = None
    response_id: str | None = None
    model: str | None = None
    id: str | None = None
    cli_version: str | None = None
    role: str | None = None
    name: str | None = None
    call_id: str | None = None
    content: msgspec.Raw = NOTHING
    summary: msgspec.Raw = NOTHING
    arguments: msgspec.Raw = NOTHING
    input: msgspec.Raw = NOTHING
    action: msgspec.Raw = NOTHING
    output: msgspec.Raw = NOTHING
    message: msgspec.Raw = NOTHING
    changes: msgspec.Raw = NOTHING


class Row(msgspec.Struct):
    """One line, of the stream or of a rollout."""

    type: str = ""
    timestamp: str | None = None
    thread_id: str | None = None
    message: str | None = None
    usage: Usage | None = None
    error: Fault | None = None
    item: Item | None = None
    payload: Payload | None = None


class CodexSession(Record, frozen=True):
    """What a stream or a rollout says: its usage, why it failed, what it ran.

    `turns` is usage by turn, of a stream; `requests` usage by request, of a rollout.
    `completed` is True where a stream's last turn came to its end.
    """

    turns: tuple[Request, ...]
    requests: tuple[Request, ...]
    failure: str | None
    completed: bool
    commands: tuple[str, ...]
    lines: Tally
    id: str | None
    versions: tuple[str, ...]
    models: tuple[str, ...]


def parse(opened: BufferedIOBase, *, model: str = "") -> CodexSession:
    """Read a stream or a rollout line by line; no line is fatal.

    Args:
        opened: A binary file.
        model: Whom it asked, where the rows do not say.
    """
    reader = Reader(model)
    for chunk in chunks(opened):
        reader.take(chunk)
    return reader.session()


class Reader:
    """Collects a `CodexSession` row by row, for whoever also wants the rows."""

    def __init__(self, model: str = "") -> None:
        self.lines = Lines(Row, KNOWN_TYPES)
        self._model = model
        self._models: dict[str, None] = {}
        self._turns: dict[int, Request] = {}
        self._records: dict[int, Request] = {}
        self._counted: dict[int, Request] = {}
        self._line = 0
        self._total: Usage | None = None
        self._commands: dict[str, None] = {}
        self._failure: str | None = None
        self._last = ""
        self._id: str | None = None
        self._versions: dict[str, None] = {}

    def take(self, chunk: Chunk) -> list[Row | None]:
        """Read some lines; the rows found, one a line, None where a line is no row."""
        found = self.lines.rows(chunk)
        for row in found:
            self._line += 1
            if row is not None:
                self._take_row(row)
        return found

    def lines_of_usage(self) -> list[int]:
        """The line that each of the session's requests, or turns, comes from."""
        return [*(self._records or self._counted or self._turns)]

    def session(self) -> CodexSession:
        """All that was taken until now."""
        return CodexSession(
            turns=tuple(self._turns.values()),
            requests=tuple((self._records or self._counted).values()),
            failure=self._failure if self._last == "turn.failed" else None,
            completed=self._last == "turn.completed",
            commands=tuple(self._commands),
            lines=self.lines.tally(),
            id=self._id,
            versions=tuple(self._versions),
            models=tuple(self._models),
        )

    def _take_row(self, row: Row) -> None:
        self._id = self._id or row.thread_id
        if row.type.startswith("turn."):
            self._last = row.type
        if row.type == "turn.completed" and row.usage:
            self._turns[self._line] = _request(self._model, row.usage, "turn", None)
        if row.type == "turn.failed":
            self._failure = row.error.message if row.error else ""
        if row.item and row.item.type == "command_execution" and row.item.command:
            self._commands[row.item.command] = None
        if row.payload:
            self._take_payload(row.type, row.payload)

    def _take_payload(self, name: str, payload: Payload) -> None:
        if name == "session_meta":
            self._id = self._id or payload.id
            if payload.cli_version:
                self._versions[payload.cli_version] = None
        elif name == "turn_context" and payload.model:
            self._model = payload.model
            self._models[payload.model] = None
        elif name == "token_usage_record" and payload.usage:
            told = _request(self._model, payload.usage, "rollout", 1)
            self._records[self._line] = told
        elif payload.type == "token_count" and payload.info:
            self._take_running(payload.info)

    def _take_running(self, info: Info) -> None:
        """A row repeats the last request until there is a new one."""
        total, last = info.total_token_usage, info.last_token_usage
        if total is not None and last is not None and total != self._total:
            self._total = total
            self._counted[self._line] = _request(self._model, last, "rollout", 1)


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
