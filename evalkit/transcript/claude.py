"""Claude Code's stream-json and session files. Pure.

Both are JSON lines and share their message rows. Rules that hold for both: a
message id is one model request however many rows carry it, and the row with
the most tokens counts; `<synthetic>` messages are no requests; a stream's rows
repeat the usage of the message's start, so their output count is not final.
"""

from __future__ import annotations

from io import BufferedIOBase
from typing import Any, Generic, TypeVar

import msgspec

from evalkit.records import Record, Request
from evalkit.transcript import rows
from evalkit.transcript.calls import Calls, Mark
from evalkit.transcript.lines import FAULTS, Chunk, Lines, Tally, chunks
from evalkit.transcript.rows import Tokens

MAX_RESULT_CHARS = 4000
R = TypeVar("R", bound=rows.Row)
SYNTHETIC = "<synthetic>"
KNOWN_TYPES = frozenset({
    "system", "assistant", "user", "result", "stream_event", "progress", "summary",
    "attachment", "queue-operation", "file-history-snapshot", "last-prompt",
    "permission-mode", "atis-latch", "api-request", "api-request-shape",
    "api-request-blob", "tools-used", "cost-state", "pr-link",
})  # fmt: skip
"""Types of rows seen from the CLI; others are counted, and passed over."""
_SKILL_TOOLS = frozenset({"Skill", "Read"})
_TELLING = frozenset({"progress", "stream_event", "result", "system"})


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


def parse(opened: BufferedIOBase) -> Session:
    """Read a transcript line by line; no line is fatal.

    Args:
        opened: A binary file. A last line without end that does not decode is torn,
            not bad.
    """
    reader = Reader(rows.Row)
    for chunk in chunks(opened):
        for _ in reader.take(chunk):
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


class Reader(Generic[R]):
    """Collects a `Session` row by row, for whoever also wants the rows.

    Args:
        row: `rows.Row`, or one that knows more fields.
        calls: Requests known from elsewhere, to be added to.
        place: Where the requests of the rows are found.
    """

    def __init__(
        self,
        row: type[R],
        calls: Calls | None = None,
        place: int = Mark.OWN,
    ) -> None:
        self.lines = Lines(row, KNOWN_TYPES)
        self.calls = Calls() if calls is None else calls
        self._place = place
        self._id: str | None = None
        self._invoked: dict[str, None] = {}
        self._read: dict[str, None] = {}
        self._versions: dict[str | None, None] = {}
        self._streamed: dict[str | None, rows.Message] = {}
        self._facts: dict[str, Any] = {}
        self._n_synthetic = 0

    def take(self, chunk: Chunk) -> list[R | None]:
        """Read some lines; the rows found, one a line, None where a line is no row."""
        found = self.lines.rows(chunk)
        version = None
        for n, row in enumerate(found):
            if row is None:
                continue
            try:
                if row.type == "assistant":
                    self._take_assistant(row)
                elif row.type in _TELLING:
                    self._take_other(row, chunk, n)
            except FAULTS as error:
                self.lines.spoil(row, len(found) - n - 1, error)
                found[n] = None
                continue
            if row.version != version:
                version = row.version
                self._versions[version] = None
        if self._id is None:
            ids = (row.session_id or row.kept_id for row in found if row)
            self._id = next(filter(None, ids), None)
        return found

    def session(self) -> Session:
        """All that was taken until now."""
        return Session(
            calls=self.calls,
            lines=self.lines.tally(),
            id=self._id,
            versions=tuple(filter(None, self._versions)),
            invoked=tuple(self._invoked),
            read=tuple(self._read),
            n_synthetic=self._n_synthetic,
            **self._facts,
        )

    def _take_other(self, row: rows.Row, chunk: Chunk, n: int) -> None:
        if row.type == "progress":
            self._take_progress(row)
        elif row.type == "stream_event":
            self._take_delta(row)
        elif row.type == "result":
            self._facts["end"] = _end(rows.decode_result(chunk.lines[n]))
        elif row.subtype == "init":
            self._take_init(rows.decode_init(chunk.lines[n]))

    def _take_init(self, init: rows.Init) -> None:
        self._facts |= {"model": init.model, "skills": init.skills}
        if init.version:
            self._versions[init.version] = None

    def _take_assistant(self, row: rows.Row) -> None:
        message = row.message
        if isinstance(row.error, str):
            self._facts["error"] = row.error
        if not isinstance(message, rows.Message):
            return
        if message.model == SYNTHETIC:
            self._n_synthetic += 1
            return
        marks = self._place
        if row.is_sidechain or row.parent_tool_use_id:
            marks |= Mark.SIDE
        if row.kept_id:
            marks |= Mark.KEPT | Mark.FINAL
        elif message.stop_reason:
            marks |= Mark.FINAL
        self._count(row, message, marks)

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

    def _take_progress(self, row: rows.Row) -> None:
        inner = nested(row)
        if inner is None or inner.type != "assistant":
            return
        message = inner.message
        if isinstance(message, rows.Message) and message.model != SYNTHETIC:
            marks = Mark.FINAL | Mark.NESTED | (Mark.KEPT if row.kept_id else 0)
            self._count(row, message, marks)

    def _count(self, row: rows.Row, message: rows.Message, marks: int) -> None:
        if message.stop_reason:
            marks |= Mark.STOPPED
        n_chars = 0
        content = message.content
        for block in content if isinstance(content, list) else message.blocks:
            if block.type == "text":
                n_chars += len(block.text or "")
            elif block.type == "tool_use":
                n_chars += len(block.input)
                if block.name in _SKILL_TOOLS:
                    self._note_skill(block)
            elif block.thinking:
                n_chars += len(block.thinking)
        key = message.id or key_of(row, message)
        if key:
            counts = message.usage.counts() if message.usage else None
            self.calls.add(key, message.model or "", counts, marks, n_chars)


def key_of(row: rows.Row, message: rows.Message) -> str | None:
    """What tells a request from others; its message id where there is one."""
    return message.id or row.request_id or row.kept_request_id or row.uuid


def nested(row: rows.Row) -> rows.Nested | None:
    """The row of a subagent that a `progress` row holds."""
    if not bytes(row.data).startswith(b"{"):
        return None
    inner = rows.decode_progress(row.data).message
    return inner if isinstance(inner, rows.Nested) else None


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
