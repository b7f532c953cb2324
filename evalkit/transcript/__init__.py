"""What an agent said it did: Claude Code's stream-json and session files. Pure.

Both are JSON lines and share their message rows. Rules that hold for both: a
message id is one model request however many rows carry it, and the row with
the most tokens counts; `<synthetic>` messages are no requests; a stream's rows
repeat the usage of the message's start, so their output count is not final.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from evalkit.records import Record, Request
from evalkit.transcript import rows
from evalkit.transcript.rows import Tokens

__all__ = ["End", "ModelCall", "Session", "Tokens", "Turn", "combine", "parse"]
MAX_TURN_CHARS = 4000
SYNTHETIC = "<synthetic>"
KNOWN_TYPES = frozenset({
    "system", "assistant", "user", "result", "stream_event", "progress", "summary",
    "attachment", "queue-operation", "file-history-snapshot", "last-prompt",
    "permission-mode", "atis-latch", "api-request", "api-request-shape",
    "api-request-blob", "tools-used", "cost-state",
})  # fmt: skip
"""Types of lines seen from the CLI; others are counted, and passed over."""


class ModelCall(Record, frozen=True):
    """One model request. `tokens` is None where no usage was reported.

    `final` is False where only the usage of the message's start is known, whose
    output count means nothing. `source` is `session` or `stdout`.
    """

    id: str
    model: str
    tokens: Tokens | None
    final: bool
    source: str


class Turn(Record, frozen=True):
    """One block of the conversation: prompt, text, thinking, tool_use, tool_result.

    `text` is cut at `MAX_TURN_CHARS`; of a tool use it is the input as JSON.
    """

    kind: str
    text: str
    tool: str | None = None
    tool_use_id: str | None = None
    is_error: bool = False


class End(Record, frozen=True):
    """The CLI's own summing up: its `result` line."""

    subtype: str | None
    is_error: bool
    terminal_reason: str | None
    stop_reason: str | None
    api_error_status: int | None
    num_turns: int | None
    text: str
    total_cost_usd: float | None
    usage: Tokens | None
    by_model: dict[str, Tokens]
    structured_output: Any = None


class Session(Record, frozen=True):
    """All that one or more transcripts of a call say.

    `error` is the CLI's name for the last failure of its API, `skills` those it
    says it found. `invoked` came through the Skill tool; of `read` the SKILL.md
    was opened by the Read tool. `unknown` counts lines by unknown type.
    """

    id: str | None = None
    model: str | None = None
    version: str | None = None
    skills: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    invoked: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    error: str | None = None
    end: End | None = None
    n_lines: int = 0
    n_bad_lines: int = 0
    torn: bool = False
    unknown: dict[str, int] = {}

    def witnesses(self) -> tuple[tuple[Request, ...], ...]:
        """Accounts of the call's usage, the one to be believed first first.

        The agent's records per request, its totals per model, its total. Records
        that are not all final speak only where nothing else does.
        """
        records = tuple(
            _request(call.model, call.tokens, call.source, 1, final=call.final)
            for call in self.calls
            if call.tokens is not None
        )
        end = self.end
        by_model = end.by_model.items() if end else ()
        totals = tuple(
            _request(model, tokens, "modelUsage", None)
            for model, tokens in by_model
            if tokens.total
        )
        total = (
            (_request(self.model or "", end.usage, "usage", None),)
            if end and end.usage and end.usage.total
            else ()
        )
        if all(call.final for call in self.calls):
            return records, totals, total
        return (totals, total) if totals or total else (records,)


def parse(lines: Iterable[bytes]) -> Session:
    """Read a transcript line by line; no line is fatal.

    Args:
        lines: Lines with their line ends, as a binary file yields them. A last
            line without one that does not decode is torn, not bad.
    """
    return _Reader().read(lines)


def combine(told: Session, kept: Session) -> Session:
    """A stream's session with what the agent's own session files add.

    The stream knows how it ended; the files know each request's final usage and
    the turns of subagents. A request in both counts once, the larger.
    """
    calls = {call.id: call for call in told.calls}
    for call in kept.calls:
        calls[call.id] = _larger(calls.get(call.id), call)
    return msgspec.structs.replace(
        told,
        id=told.id or kept.id,
        model=told.model or kept.model,
        version=told.version or kept.version,
        turns=kept.turns or told.turns,
        calls=tuple(calls.values()),
        invoked=tuple(dict.fromkeys([*told.invoked, *kept.invoked])),
        read=tuple(dict.fromkeys([*told.read, *kept.read])),
        error=told.error or kept.error,
        n_lines=told.n_lines + kept.n_lines,
        n_bad_lines=told.n_bad_lines + kept.n_bad_lines,
        torn=told.torn or kept.torn,
        unknown=dict(Counter(told.unknown) + Counter(kept.unknown)),
    )


class _Reader:
    """Collects a `Session` from lines."""

    def __init__(self) -> None:
        self._calls: dict[str, ModelCall] = {}
        self._turns: list[Turn] = []
        self._invoked: dict[str, None] = {}
        self._read: dict[str, None] = {}
        self._streamed: dict[str | None, rows.Message] = {}
        self._unknown: Counter[str] = Counter()
        self._facts: dict[str, Any] = {}

    def read(self, lines: Iterable[bytes]) -> Session:
        """Take all lines, and make the session."""
        n_lines = n_bad = 0
        torn = False
        for line in lines:
            if not line.strip():
                continue
            n_lines += 1
            try:
                self._take(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                torn = not line.endswith(b"\n")
                n_bad += not torn
        return Session(
            **self._facts,
            turns=tuple(self._turns),
            calls=tuple(self._calls.values()),
            invoked=tuple(self._invoked),
            read=tuple(self._read),
            n_lines=n_lines,
            n_bad_lines=n_bad,
            torn=torn,
            unknown=dict(self._unknown),
        )

    def _take(self, line: bytes) -> None:
        row = rows.decode_row(line)
        if row.type == "assistant":
            self._take_assistant(row)
        elif row.type == "user":
            self._take_blocks(rows.decode_message(row.message), "prompt")
        elif row.type == "result":
            self._facts["end"] = _end(rows.decode_result(line))
        elif row.type == "system" and row.subtype == "init":
            self._facts |= msgspec.structs.asdict(rows.decode_init(line))
        elif row.type == "stream_event":
            self._take_delta(row)
        elif row.type == "progress":
            self._take_progress(row)
        elif row.type not in KNOWN_TYPES:
            self._unknown[row.type] += 1
        if row.session_id or row.kept_id:
            self._facts.setdefault("id", row.session_id or row.kept_id)

    def _take_assistant(self, row: rows.Row) -> None:
        if isinstance(row.error, str):
            self._facts["error"] = row.error
        message = rows.decode_message(row.message)
        if message is not None and message.model != SYNTHETIC:
            final = row.kept_id is not None or message.stop_reason is not None
            self._count(row, message, final=final)
        self._take_blocks(message, "text")

    def _take_blocks(self, message: rows.Message | None, kind: str) -> None:
        for block in message.blocks if message else ():
            self._turns.append(
                Turn(
                    kind=kind if block.type == "text" else block.type,
                    text=block.plain[:MAX_TURN_CHARS],
                    tool=block.name,
                    tool_use_id=block.tool_use_id or block.id,
                    is_error=bool(block.is_error),
                )
            )
            if block.type == "tool_use" and isinstance(block.input, dict):
                self._note_skill(block.name, block.input)

    def _note_skill(self, tool: str | None, given: dict[str, Any]) -> None:
        name, path = given.get("skill"), given.get("file_path")
        if tool == "Skill" and isinstance(name, str):
            self._invoked[name] = None
        if tool == "Read" and isinstance(path, str) and path.endswith("/SKILL.md"):
            self._read[path.split("/")[-2]] = None

    def _take_delta(self, row: rows.Row) -> None:
        delta = rows.decode_delta(row.event)
        if delta is None:
            return
        if delta.type == "message_start" and delta.message is not None:
            self._streamed[row.parent_tool_use_id] = delta.message
        started = self._streamed.get(row.parent_tool_use_id)
        if delta.type == "message_delta" and started is not None and delta.usage:
            started.usage = (started.usage or rows.Usage()).updated(delta.usage)
            self._count(row, started, final=True)

    def _take_progress(self, row: rows.Row) -> None:
        progress = rows.decode_progress(row.data)
        inner = progress.message if progress else None
        if isinstance(inner, dict) and inner.get("type") == "assistant":
            message = msgspec.convert(inner.get("message"), rows.Message)
            if message.model != SYNTHETIC:
                self._count(row, message, final=True)

    def _count(self, row: rows.Row, message: rows.Message, *, final: bool) -> None:
        key = message.id or row.request_id or row.kept_request_id or row.uuid
        if key is None:
            return
        call = ModelCall(
            id=key,
            model=message.model or "",
            tokens=message.usage.tokens if message.usage else None,
            final=final,
            source="session" if row.kept_id else "stdout",
        )
        self._calls[key] = _larger(self._calls.get(key), call)


def _larger(known: ModelCall | None, new: ModelCall) -> ModelCall:
    """The one that counts, of two accounts of one request."""
    if known is None or known.tokens is None:
        return new
    if new.tokens is None:
        return known
    ahead = (new.tokens.total, new.final) >= (known.tokens.total, known.final)
    return new if ahead else known


def _request(
    model: str, tokens: Tokens, source: str, n: int | None, *, final: bool = True
) -> Request:
    return Request(
        call=0,
        model=model,
        **msgspec.structs.asdict(tokens),
        source=source,
        n_requests=n,
        status="complete" if final else "partial",
    )


def _end(found: rows.Result) -> End:
    text = found.result if found.result is not None else "; ".join(found.errors or ())
    return End(
        subtype=found.subtype,
        is_error=found.is_error,
        terminal_reason=found.terminal_reason,
        stop_reason=found.stop_reason,
        api_error_status=found.api_error_status,
        num_turns=found.num_turns,
        text=text[:MAX_TURN_CHARS],
        total_cost_usd=found.total_cost_usd,
        structured_output=found.structured_output,
        usage=found.usage.tokens if found.usage else None,
        by_model={model: used.tokens for model, used in found.by_model.items()},
    )
