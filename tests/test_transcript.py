"""Transcripts: real streams and session files parsed to totals that others state."""

import io
import json
from codecs import BOM_UTF8
from pathlib import Path

import msgspec
import pytest

from evalkit import transcript
from evalkit.transcript import Session, Tokens, codex
from evalkit.transcript.kinds import Kind, recognise
from evalkit.transcript.lines import CHUNK_BYTES, chunks

DATA = Path(__file__).parent / "data"


def _parse(name: str) -> Session:
    with (DATA / name).open("rb") as lines:
        return transcript.parse(lines)


def _parse_codex(name: str) -> codex.CodexSession:
    with (DATA / "codex" / name).open("rb") as lines:
        return codex.parse(lines)


def _sum(session: Session) -> Tokens:
    told = [msgspec.structs.astuple(c.tokens) for c in session.calls if c.tokens]
    return Tokens(*map(sum, zip(*told, strict=True)))


def _lines(*rows: object) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


def _read(lines: list[bytes]) -> Session:
    return transcript.parse(io.BytesIO(b"".join(lines)))


def _assistant(message_id: str, output: int, **more: object) -> dict:
    usage = {"input_tokens": 5, "output_tokens": output, **more}
    message = {"id": message_id, "model": "m", "content": [], "usage": usage}
    return {"type": "assistant", "sessionId": "s", "message": message}


def test_a_session_file_sums_to_the_total_counted_by_others():
    """20 requests in 31 rows; first-wins would give an output of 5,145."""
    found = _parse("transcripts/cc-2.1.114-subagent-a4ca7529.jsonl")
    assert len(found.calls) == 20
    assert _sum(found) == Tokens(445, 113_769, 0, 615_694, 7_923)


def test_a_session_file_sums_to_what_the_stream_s_result_says():
    kept, told = _parse("claude/success.session.jsonl"), _parse(STREAM)
    assert told.end is not None
    assert _sum(kept) == told.end.usage == told.end.by_model["claude-opus-5-5"]
    assert [request.source for request in kept.witnesses()[0]] == ["session"] * 3


STREAM = "claude/success.stream.jsonl"


def test_a_stream_s_records_hold_only_the_start_and_give_way_to_its_totals():
    told = _parse(STREAM)
    assert [call.final for call in told.calls] == [False] * 3
    totals, total = told.witnesses()
    assert [(r.output, r.n_requests, r.source) for r in totals] == [
        (131, None, "modelUsage")
    ]
    assert total[0].source == "usage"


def test_a_stream_with_partial_messages_has_final_records():
    told = _parse("claude/partial_messages.stream.jsonl")
    assert all(call.final for call in told.calls)
    assert told.end is not None
    assert _sum(told) == told.end.usage


def test_a_killed_stream_keeps_its_partial_records():
    told = _parse("claude/killed_in_tool_sigterm.stream.jsonl")
    assert told.end is None
    ((request,),) = told.witnesses()
    assert (request.status, request.output) == ("partial", 1)


def test_session_files_settle_what_a_stream_left_open():
    both = transcript.combine(_parse(STREAM), _parse("claude/success.session.jsonl"))
    assert len(both.calls) == 3
    assert all(call.final for call in both.calls)
    assert both.end is not None
    assert _sum(both) == both.end.usage


def test_synthetic_messages_are_no_requests_but_name_the_fault():
    told = _parse("claude/error_529_no_retries.stream.jsonl")
    assert len(told.calls) == 0
    assert told.n_synthetic == 1
    assert told.witnesses() == ((), (), ())
    assert told.error == "server_error"


def test_the_result_s_facts_are_told():
    end = _parse("claude/max_turns.stream.jsonl").end
    assert end is not None
    assert (end.subtype, end.is_error, end.num_turns) == ("error_max_turns", True, 3)
    assert (end.terminal_reason, end.text) == (
        "max_turns",
        "Reached maximum number of turns (2)",
    )


def test_a_skill_is_invoked_by_its_tool():
    told = _parse("claude/skill_invoked.stream.jsonl")
    assert (told.invoked, told.read) == (("zz-user-skill",), ())


def test_a_skill_is_read_where_its_file_is_opened():
    use = {"type": "tool_use", "name": "Read", "input": {}}
    rows = [
        {"type": "assistant", "message": {"id": n, "content": [{**use, "input": at}]}}
        for n, at in [
            ("a", {"file_path": "/home/agent/.claude/skills/notes/SKILL.md"}),
            ("b", {"file_path": "/workspace/README.md"}),
            ("c", {"file_path": 7}),
        ]
    ]
    found = _read(_lines(*rows))
    assert (found.read, found.invoked) == (("notes",), ())


def test_the_row_with_most_tokens_counts_in_whatever_order():
    grown = [_assistant("a", 1), _assistant("a", 90), _assistant("b", 7)]
    for rows in (grown, grown[::-1]):
        found = _read(_lines(*rows))
        assert sorted(c.tokens.output for c in found.calls if c.tokens) == [7, 90]


def test_cache_writes_are_split_by_lifetime_and_five_minutes_where_not_told():
    split = {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 70}
    rows = [
        _assistant("a", 1, cache_creation_input_tokens=100, cache_creation=split),
        _assistant("b", 1, cache_creation_input_tokens=40),
    ]
    found = [c.tokens for c in _read(_lines(*rows)).calls]
    assert [(t.write_5m, t.write_1h) for t in found if t] == [(30, 70), (40, 0)]


def test_usage_that_is_not_reported_is_unknown():
    row = {"type": "assistant", "message": {"id": "a", "model": "m", "content": "hi"}}
    (call,) = found = _read(_lines(row)).calls
    assert call.tokens is None
    assert found.total(b"\1") is None


def test_a_subagent_s_message_in_a_progress_row_counts_once():
    own = _assistant("sub", 50)
    progress = {"type": "progress", "sessionId": "s", "data": {"message": own}}
    found = _read(_lines(progress, progress, _assistant("main", 9)))
    assert [(c.id, c.tokens.output) for c in found.calls if c.tokens] == [
        ("sub", 50),
        ("main", 9),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"17",
        b'"text"',
        b"\xff\xfe",
        b'{"type": 3}',
        b'{"type": "assistant", "message": {"id": "x", "content": 4}}',
        b'{"type": "assistant", "message": {"usage": {"input_tokens": -1}}}',
        b"[" * 100_000,
    ],
)
def test_a_bad_line_is_counted_and_never_fatal(bad):
    before, after = _lines(_assistant("a", 1), _assistant("b", 2))
    found = _read([before, bad + b"\n", after])
    assert (found.lines.n_lines, found.lines.n_bad_lines, len(found.calls)) == (3, 1, 2)
    assert [fault.line for fault in found.lines.bad_lines] == [2]
    assert found.lines.torn is None


def test_a_torn_last_line_is_no_bad_line():
    (whole,) = _lines(_assistant("a", 1))
    found = _read([whole, whole[:40]])
    assert found.lines.torn is not None
    assert found.lines.torn.line == 2
    assert (found.lines.n_bad_lines, len(found.calls)) == (0, 1)


@pytest.mark.parametrize("ended", [True, False])
def test_chunks_are_whole_lines_and_together_the_file(ended):
    """Whatever the lengths: within a chunk, of one, over several."""
    near = [CHUNK_BYTES + n for n in (-2, -1, 0, 1)]
    sizes = [3, *near, 7, 0, 3 * CHUNK_BYTES, *[900] * 500, *near, 5]
    data = b"\n".join(bytes([97 + n % 26]) * size for n, size in enumerate(sizes))
    data += b"\n" if ended else b""
    found = list(chunks(io.BytesIO(data)))
    lines = [line for chunk in found for line in chunk.lines]
    assert lines == data.splitlines(keepends=True)
    for chunk in found:
        assert data.startswith(b"".join(chunk.lines), chunk.start)


def test_lines_are_numbered_through_all_chunks_whatever_their_ends():
    good = json.dumps(_assistant("a", 1) | {"elsewhere": "é" * 100}).encode()
    n_fill = CHUNK_BYTES // len(good) + 1
    fill = [good] * n_fill
    ends = [b"\n", b"\r\n"]
    found = [
        _read([line + end for line in (*fill, b"{", b"", b" ", *fill, good + good)])
        for end in ends
    ]
    for session in found:
        bad = [bad.line for bad in session.lines.bad_lines]
        assert bad == [n_fill + 1, 2 * n_fill + 4]
        assert session.lines.records == {"assistant": 2 * n_fill}
        assert session.lines.n_lines == 2 * n_fill + 2


def test_an_object_over_two_lines_and_two_on_one_are_three_bad_lines():
    (good,) = _lines(_assistant("a", 1))
    halves = [good.replace(b", ", b",\n", 1), good.strip() + good]
    found = _read([good, *halves, good])
    assert [bad.line for bad in found.lines.bad_lines] == [2, 3, 4]
    assert found.lines.records == {"assistant": 2}


def test_unknown_types_are_counted():
    rows = [{"type": "novelty"}, {"type": "novelty"}, {"type": "summary"}, {}]
    found = _read(_lines(*rows))
    assert found.lines.unknown == {"novelty": 2, "": 1}


def test_bad_lines_are_told_in_their_order_and_the_first_ones_where_they_are_many():
    no_result = b'{"type": "result", "usage": 3}\n'
    found = _read([b"{}\n", no_result, *[b"no\n"] * 120])
    assert found.lines.n_bad_lines == 121
    assert [bad.line for bad in found.lines.bad_lines] == list(range(2, 102))


@pytest.mark.parametrize("text", ["x", "\\u00e9"])
def test_a_mark_of_byte_order_within_a_file_is_no_json_whatever_follows(text):
    line = f'{{"type": "user", "uuid": "{text}"}}\n'.encode()
    assert _read([line, BOM_UTF8 + line]).lines.n_bad_lines == 1


def test_half_a_surrogate_pair_is_no_fault():
    """Node writes one where a text was cut inside an emoji; msgspec refuses it."""
    (line,) = _lines(_assistant("a", 7, note="cut"))
    found = _read([line.replace(b"cut", rb"cut \ud83d")])
    assert (found.lines.n_bad_lines, len(found.calls)) == (0, 1)


def test_a_byte_order_mark_is_no_fault():
    (line,) = _lines(_assistant("a", 7))
    assert len(_read([b"\xef\xbb\xbf" + line]).calls) == 1


def test_a_byte_that_is_no_utf_8_makes_a_bad_line_even_where_nothing_reads_it():
    (line,) = _lines({**_assistant("a", 7), "elsewhere": "x"})
    found = _read([line.replace(b'"x"', b'"\xff"')])
    assert found.lines.n_bad_lines == 1


def test_the_glued_line_of_a_real_session_is_told_by_its_number():
    found = _parse("transcripts/cc-2.1.12-corrupt-line.jsonl")
    assert [bad.line for bad in found.lines.bad_lines] == [122]
    assert found.versions == ("2.1.7", "2.1.12")


def test_a_rollout_tells_usage_by_request_and_a_stream_by_turn():
    stream = _parse_codex("success.events.jsonl")
    rollout = _parse_codex("success.rollout.jsonl")
    assert [row.n_requests for row in stream.turns] == [None]
    assert [row.n_requests for row in rollout.requests] == [1, 1]
    for name in ("input", "read", "output"):
        total = sum(getattr(row, name) for row in rollout.requests)
        assert total == getattr(stream.turns[0], name)
    assert (rollout.models, rollout.versions) == (("gpt-5.5-codex",), ("0.171.0",))


def test_a_rollout_without_records_counts_each_new_running_total_once():
    """Its last usage is repeated in every such row until there is a new request."""
    lines = (
        (DATA / "codex/success.rollout.jsonl").read_bytes().splitlines(keepends=True)
    )
    older = [line for line in lines if b"token_usage_record" not in line]
    told = [line for line in older if b'"token_count"' in line]
    assert len(told) == 2
    repeated = [*older, told[-1], told[-1]]
    counted, recorded = (
        codex.parse(io.BytesIO(b"".join(rows))).requests for rows in (repeated, lines)
    )
    assert counted == recorded


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("transcripts/cc-1.0.29-old-format-summaries.jsonl", Kind.CLAUDE_SESSION),
        ("claude/partial_messages.stream.jsonl", Kind.CLAUDE_STREAM),
        ("codex/trunc.events.jsonl", Kind.CODEX_STREAM),
        ("codex/success.rollout.jsonl", Kind.CODEX_ROLLOUT),
    ],
)
def test_the_four_kinds_are_told_apart_by_any_of_their_lines(name, kind):
    """But a message of an API error may stand in a file of any kind."""
    for line in (DATA / name).read_bytes().splitlines(keepends=True):
        assert recognise([b"{torn\n", line])[0] is kind, line[:200]


def test_every_real_sample_is_read_without_a_fault_that_is_not_in_it():
    for path in sorted(DATA.glob("*/*.jsonl")):
        name = str(path.relative_to(DATA))
        found = _parse_codex(path.name) if "codex/" in name else _parse(name)
        n_bad = int("corrupt" in name)
        tally = found.lines
        assert (tally.n_bad_lines, tally.torn, tally.unknown) == (n_bad, None, {}), name
