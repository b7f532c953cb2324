"""Rows as Claude Code writes them: only what is used, the rest passed over."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from evalkit.records import Record

Count = Annotated[int, msgspec.Meta(ge=0, lt=2**30)]
"""One fits into an unsigned number of 32 bits; no request has a thousandth."""
Counts = tuple[int, int, int, int, int]
"""Tokens of the five classes, in the order of `Tokens`."""
NOTHING = msgspec.Raw(b"null")


class Tokens(Record, frozen=True):
    """Token counts of one or many requests, in the five classes prices know."""

    input: int
    write_5m: int
    write_1h: int
    read: int
    output: int

    @property
    def total(self) -> int:
        """All five together."""
        return self.input + self.write_5m + self.write_1h + self.read + self.output


class Split(msgspec.Struct, gc=False):
    """Cache writes by lifetime."""

    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class Usage(msgspec.Struct, gc=False):
    """Usage of a message, or the sum of a session."""

    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation: Split | None = None

    @property
    def tokens(self) -> Tokens | None:
        """What `counts` says, by name."""
        counts = self.counts()
        return Tokens(*counts) if counts else None

    def counts(self) -> Counts | None:
        """The five classes; None where input or output is not reported.

        The API leaves cache classes out where no cache was used. Cache writes whose
        lifetime is not told are of the default kind, five minutes.
        """
        given, output = self.input_tokens, self.output_tokens
        if given is None or output is None:
            return None
        write_5m, write_1h = self.cache_creation_input_tokens or 0, 0
        if self.cache_creation:
            write_1h = self.cache_creation.ephemeral_1h_input_tokens or 0
            for_5m = self.cache_creation.ephemeral_5m_input_tokens or 0
            write_5m = max(write_5m - write_1h, for_5m)
        return given, write_5m, write_1h, self.cache_read_input_tokens or 0, output

    def updated(self, newer: Usage) -> Usage:
        """This usage with the counts that a later report of it holds."""
        known, new = msgspec.structs.asdict(self), msgspec.structs.asdict(newer)
        return Usage(**known | {name: n for name, n in new.items() if n is not None})


class ModelUsage(msgspec.Struct):
    """What the CLI summed for one model."""

    input: Count = msgspec.field(name="inputTokens")
    output: Count = msgspec.field(name="outputTokens")
    read: Count = msgspec.field(default=0, name="cacheReadInputTokens")
    write: Count = msgspec.field(default=0, name="cacheCreationInputTokens")
    write_1h: Count = msgspec.field(
        default=0, name="cacheCreationEphemeral1hInputTokens"
    )

    @property
    def tokens(self) -> Tokens:
        """The five classes."""
        write_5m = max(self.write - self.write_1h, 0)
        return Tokens(self.input, write_5m, self.write_1h, self.read, self.output)


class Block(msgspec.Struct, gc=False):
    """One content block of a message; what may be large is left undecoded."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    input: msgspec.Raw = NOTHING


class Message(msgspec.Struct, gc=False):
    """A message of user or model."""

    id: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None
    stop_reason: str | None = None
    usage: Usage | None = None

    @property
    def blocks(self) -> list[Block]:
        """Its content as blocks."""
        if isinstance(self.content, str):
            return [Block("text", text=self.content)]
        return self.content or []


class Stop(msgspec.Struct):
    """What the end of a streamed message changes."""

    stop_reason: str | None = None


class Delta(msgspec.Struct):
    """The event of a `stream_event` row."""

    type: str = ""
    delta: Stop | None = None
    message: Message | None = None
    usage: Usage | None = None


class Row(msgspec.Struct, gc=False):
    """Any line; `kept_id` is the session's id in session files only."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    session_id: str | None = None
    kept_id: str | None = msgspec.field(default=None, name="sessionId")
    request_id: str | None = None
    kept_request_id: str | None = msgspec.field(default=None, name="requestId")
    parent_tool_use_id: str | None = None
    is_sidechain: bool | None = msgspec.field(default=None, name="isSidechain")
    version: str | None = None
    error: Any = None
    message: Message | str | None = None
    event: msgspec.Raw = NOTHING
    data: msgspec.Raw = NOTHING


class Nested(msgspec.Struct, gc=False):
    """A row of a subagent inside a `progress` row."""

    type: str = ""
    message: Message | str | None = None


class Progress(msgspec.Struct, gc=False):
    """The data of a `progress` row, which may hold a subagent's row."""

    message: Nested | str | None = None


class SkillInput(msgspec.Struct):
    """What a tool was given, as far as it tells which skill was used."""

    skill: Any = None
    file_path: Any = None


class Init(msgspec.Struct):
    """The first line of a stream."""

    model: str | None = None
    version: str | None = msgspec.field(default=None, name="claude_code_version")
    skills: tuple[str, ...] = ()


class Result(msgspec.Struct):
    """The last line of a stream."""

    subtype: str | None = None
    is_error: bool = False
    terminal_reason: str | None = None
    stop_reason: str | None = None
    api_error_status: int | None = None
    num_turns: int | None = None
    result: str | None = None
    errors: list[str] | None = None
    total_cost_usd: float | None = None
    structured_output: Any = None
    usage: Usage | None = None
    by_model: dict[str, ModelUsage] = msgspec.field(
        default_factory=dict[str, ModelUsage], name="modelUsage"
    )


decode_row = msgspec.json.Decoder(Row).decode
decode_delta = msgspec.json.Decoder(Delta | None).decode
decode_progress = msgspec.json.Decoder(Progress).decode
decode_skill_input = msgspec.json.Decoder(SkillInput).decode
decode_init = msgspec.json.Decoder(Init).decode
decode_result = msgspec.json.Decoder(Result).decode
