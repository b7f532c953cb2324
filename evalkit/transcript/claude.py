"""Claude Code's stream-json and session files. Pure.

Both are JSON lines and share their message rows. Rules that hold for both: a
message id is one model request however many rows carry it, and the row with
the most tokens counts; `<synthetic>` messages are no requests; a stream's rows
repeat the usage of the message's start, so their output count is not final.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from evalkit.records import Record, Request
from evalkit.transcript import rows
from evalkit.transcript.calls import Calls, Mark
from evalkit.transcript.lines import Lines, Tally
from evalkit.transcript.rows import Tokens

MAX_RESULT_CHARS = 4000
SYNTHETIC = "<synthetic>"
KNOWN_TYPES = frozenset({
    "system", "assistant", "user", "result", "stream_event", "progress", "summary",
    "attachment", "queue-operation", "file-history-snapshot", "last-prompt",
    "permission-mode", "atis-latch", "api-request", "api-request-shape",
    "api-request-blob", "tools-used", "cost-state", "pr-link",
})  # fmt: skip
"""Types of rows seen from the CLI; others are counted, and passed over."""


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


class Session(msgspec.Struct, frozen=True):
    """All that one or more transcripts of a call say.

    `error` is the CLI's name for the last failure of its API, `skills` those it
    says it found. `invoked` came through the Skill tool; of `read` the SKILL.md
    was opened by the Read tool. `n_synthetic` counts rows that look like answers
    and were made by the CLI itself.
    """

    calls: Calls
    lines: Tally
    id: str | None = None
    model: str | None = None
    versions: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    invoked: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    error: str | None = None
    end: End | None = None
    n_synthetic: int = 0

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
        totals = self.totals()
        if all(call.final for call in self.calls):
            return records, *totals
        return totals if any(totals) else (records,)

    def totals(self) -> tuple[tuple[Request, ...], tuple[Request, ...]]:
        """What its end says: usage per model, and the sum."""
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
        return totals, total


class Taken(NamedTuple):
    """A row, the message in it, and the number of its request; -1 where it has none.

    `nested` is the kind of a subagent's row that the message comes from.
    """

    row: rows.Row
    message: rows.Message | None = None
    slot: int = -1
    nested: str | None = None
    agent: str | None = None


def parse(lines: Iterable[bytes]) -> Session:
    """Read a transcript line by line; no line is fatal.

    Args:
        lines: Lines with their line ends, as a binary file yields them. A last
            line without one that does not decode is torn, not bad.
    """
    reader = Reader()
    for _ in reader.lines.each(lines, reader.take):
        pass
    return reader.session()


def combine(told: Session, kept: Session) -> Session:
    """A stream's session with what the agent's own session files add.

    The stream knows how it ended; the files know each request's final usage. A
    request in both counts once, the larger.
    """
    calls = Calls()
    calls.include(told.calls)
    calls.include(kept.calls)
    return Session(
        calls=calls,
        lines=told.lines.plus(kept.lines),
        id=told.id or kept.id,
        model=told.model or kept.model,
        versions=tuple(dict.fromkeys([*told.versions, *kept.versions])),
        skills=told.skills,
        invoked=tuple(dict.fromkeys([*told.invoked, *kept.invoked])),
        read=tuple(dict.fromkeys([*told.read, *kept.read])),
        error=told.error or kept.error,
        end=told.end,
        n_synthetic=told.n_synthetic + kept.n_synthetic,
    )


class Reader:
    """Collects a `Session` row by row, for whoever also wants the rows."""

    def __init__(self, calls: Calls | None = None, place: int = Mark.OWN) -> None:
        self.lines = Lines(KNOWN_TYPES)
        self._calls = Calls() if calls is None else calls
        self._place = place
        self._invoked: dict[str, None] = {}
        self._read: dict[str, None] = {}
        self._versions: dict[str, None] = {}
        self._streamed: dict[str | None, rows.Message] = {}
        self._facts: dict[str, Any] = {}
        self._n_synthetic = 0

    def take(self, line: bytes) -> Taken:
        """Read one line.

        Raises:
            msgspec.MsgspecError: It is no row; nothing of it was taken.
        """
        row = rows.decode_row(line)
        taken = self._taken(row, line)
        self.lines.count(row.type)
        if row.version:
            self._versions[row.version] = None
        if row.session_id or row.kept_id:
            self._facts.setdefault("id", row.session_id or row.kept_id)
        return taken

    def session(self) -> Session:
        """All that was taken until now."""
        return Session(
            calls=self._calls,
            lines=self.lines.tally(),
            versions=tuple(self._versions),
            invoked=tuple(self._invoked),
            read=tuple(self._read),
            n_synthetic=self._n_synthetic,
            **self._facts,
        )

    def _taken(self, row: rows.Row, line: bytes) -> Taken:
        if row.type == "assistant":
            return self._take_assistant(row)
        if row.type == "user":
            return Taken(row, rows.decode_message(row.message))
        if row.type == "result":
            self._facts["end"] = _end(rows.decode_result(line))
        elif row.type == "system" and row.subtype == "init":
            self._take_init(rows.decode_init(line))
        elif row.type == "stream_event":
            self._take_delta(row)
        elif row.type == "progress":
            return self._take_progress(row)
        return Taken(row)

    def _take_init(self, init: rows.Init) -> None:
        self._facts |= {"model": init.model, "skills": init.skills}
        if init.version:
            self._versions[init.version] = None

    def _take_assistant(self, row: rows.Row) -> Taken:
        message = rows.decode_message(row.message)
        if isinstance(row.error, str):
            self._facts["error"] = row.error
        if message is None:
            return Taken(row)
        if message.model == SYNTHETIC:
            self._n_synthetic += 1
            return Taken(row, message)
        for block in message.blocks:
            if block.type == "tool_use" and block.name in {"Skill", "Read"}:
                self._note_skill(block)
        side = row.is_sidechain or row.parent_tool_use_id
        final = row.kept_id is not None or message.stop_reason is not None
        marks = (
            (Mark.FINAL if final else 0)
            | (Mark.KEPT if row.kept_id else 0)
            | (self._place | Mark.SIDE if side else self._place)
        )
        return Taken(row, message, self._count(row, message, marks))

    def _note_skill(self, block: rows.Block) -> None:
        if not bytes(block.input).startswith(b"{"):
            return
        given = rows.decode_skill_input(block.input)
        if block.name == "Skill" and isinstance(given.skill, str):
            self._invoked[given.skill] = None
        path = given.file_path
        if block.name == "Read" and isinstance(path, str):
            folder, _, name = path.rpartition("/")
            if name == "SKILL.md" and folder:
                self._read[folder.rpartition("/")[2]] = None

    def _take_delta(self, row: rows.Row) -> None:
        delta = rows.decode_delta(row.event)
        if delta is None:
            return
        if delta.type == "message_start" and delta.message is not None:
            self._streamed[row.parent_tool_use_id] = delta.message
        started = self._streamed.get(row.parent_tool_use_id)
        if delta.type == "message_delta" and started is not None and delta.usage:
            started.usage = (started.usage or rows.Usage()).updated(delta.usage)
            started.stop_reason = delta.delta.stop_reason if delta.delta else None
            self._count(row, started, Mark.FINAL | self._place)

    def _take_progress(self, row: rows.Row) -> Taken:
        progress = rows.decode_progress(row.data)
        inner = progress.message if progress else None
        if progress is None or not isinstance(inner, rows.Nested):
            return Taken(row)
        message = rows.decode_message(inner.message)
        slot = -1
        if inner.type == "assistant" and message and message.model != SYNTHETIC:
            marks = Mark.FINAL | Mark.NESTED | (Mark.KEPT if row.kept_id else 0)
            slot = self._count(row, message, marks)
        return Taken(row, message, slot, inner.type, progress.agent_id)

    def _count(self, row: rows.Row, message: rows.Message, marks: int) -> int:
        key = message.id or row.request_id or row.kept_request_id or row.uuid
        if not key:
            return -1
        return self._calls.add(
            key,
            message.model or "",
            message.usage.tokens if message.usage else None,
            marks | (Mark.STOPPED if message.stop_reason else 0),
            sum(block.n_chars for block in message.blocks),
        )


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
        text=text[:MAX_RESULT_CHARS],
        total_cost_usd=found.total_cost_usd,
        structured_output=found.structured_output,
        usage=found.usage.tokens if found.usage else None,
        by_model={model: used.tokens for model, used in found.by_model.items()},
    )
