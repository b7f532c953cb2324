"""The reading model: real sessions page by page, joined, filtered, searched."""

import json
import resource
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.explore import account
from evalkit.explore.article import Renderer
from evalkit.explore.index import Transcript
from evalkit.explore.items import Facet, Image, Item, ItemKind
from evalkit.explore.redaction import Redactor
from evalkit.explore.search import search
from evalkit.explore.telling import Teller
from evalkit.explore.timeline import timeline
from evalkit.explore.values import value
from evalkit.transcript import Tokens

DATA = Path(__file__).parent / "data"
REAL = DATA / "transcripts"
MAIN = "cc-2.1.114-main-with-subagents.jsonl"
AGENT = "cc-2.1.114-subagent-a4ca7529.jsonl"
CALL_OF_AGENT = "toolu_01GmrK6tgdD9D5xD6W5X9UUy"
SAMPLES = sorted([*DATA.glob("*/*.jsonl")])


def _all(transcript: Transcript) -> list[Item]:
    return transcript.items(0, len(transcript))


def _write(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _message(name: str, *blocks: object, **more: object) -> dict:
    message = {"role": name, "content": list(blocks)}
    if name == "assistant":
        usage = {"input_tokens": 5, "output_tokens": 7}
        message |= {"id": "a", "model": "m", "usage": usage}
    return {"type": name, "sessionId": "s", "message": message, **more}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_line_of_a_real_file_is_in_an_item(path):
    transcript = Transcript(path)
    items = _all(transcript)
    assert [item.n for item in items] == list(range(len(transcript)))
    lines = path.read_bytes().splitlines()
    assert sorted({item.line for item in items}) == [
        n for n, line in enumerate(lines, 1) if line.strip()
    ]
    assert all(item.text or item.images or item.kind for item in items)
    assert not any(item.facets & Facet.UNKNOWN for item in items)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_what_items_use_is_what_the_account_sums(path):
    transcript, told = Transcript(path), account(path)
    if told.source == "modelUsage":
        return
    items = _all(transcript)
    used = [_counts(item.usage) for item in items if item.usage]
    end = items[-1].cumulative
    assert _counts(end) == tuple(sum(counts[n] for counts in used) for n in range(5))
    if told.usage is not None:
        assert (end.input, end.output) == (told.usage.input, told.usage.output)
        assert end.write_5m + end.write_1h == told.usage.cache_creation


def _counts(tokens: Tokens) -> tuple[int, ...]:
    return (
        tokens.input, tokens.write_5m, tokens.write_1h, tokens.read, tokens.output,
    )  # fmt: skip


def test_pages_are_slices_of_the_whole():
    transcript = Transcript(REAL / "cc-2.1.12-corrupt-line.jsonl")
    whole = _all(transcript)
    for start in range(0, len(whole), 13):
        assert transcript.items(start, 50) == whole[start : start + 50]
    assert transcript.items(len(whole), 50) == []
    assert transcript.items(-5, 2) == whole[:2]


def test_a_line_that_is_no_row_is_shown_where_it_stands():
    transcript = Transcript(REAL / "cc-2.1.12-corrupt-line.jsonl")
    (bad,) = [item for item in _all(transcript) if item.facets & Facet.BAD]
    assert (bad.line, bad.kind, bad.is_error) == (122, ItemKind.ERROR, True)
    assert "trailing characters" in bad.text
    assert '"parentUuid":"bab39862' in bad.text


def test_tool_errors_of_a_real_session_are_found_one_after_the_other():
    transcript = Transcript(REAL / "cc-2.1.33-opus46-tool-errors.jsonl")
    found, at = [], transcript.next("error", -1)
    while at is not None:
        found.append(at)
        at = transcript.next("error", at)
    assert len(found) == 13
    assert list(transcript.select("error")) == found
    assert transcript.next("error", len(transcript), back=True) == found[-1]
    items = transcript.chosen(found)
    assert {item.kind for item in items} == {ItemKind.RESULT}
    assert all(item.is_error and item.tool_use_id for item in items)


def test_a_call_has_its_input_and_its_result_the_same_id():
    transcript = Transcript(REAL / "cc-1.0.29-old-format-summaries.jsonl")
    items = _all(transcript)
    calls = {i.tool_use_id: i for i in items if i.facets & Facet.CALL}
    results = {i.tool_use_id for i in items if i.kind is ItemKind.RESULT}
    assert set(calls) == results
    assert len(calls) == 20
    first = items[6]
    assert isinstance(first.input, dict)
    assert first.input == json.loads(first.text)
    assert [i.kind for i in items[:4]] == [ItemKind.SUMMARY] * 4


def test_compaction_and_synthetic_messages_have_their_kinds():
    items = _all(Transcript(REAL / "cc-2.0.76-compact-synthetic.jsonl"))
    summaries = [i for i in items if i.kind is ItemKind.SUMMARY]
    assert [i.row for i in summaries] == ["system/compact_boundary", "user"]
    made = [i for i in items if i.model == "<synthetic>"]
    assert [(i.kind, i.usage) for i in made] == [(ItemKind.SYSTEM, None)]


def test_a_skill_s_use_and_its_text_are_found():
    transcript = Transcript(DATA / "claude/skill_invoked.stream.jsonl")
    used = transcript.chosen(transcript.select("skill"))
    assert used[0].tool == "Skill"
    assert used[0].input == {"skill": "zz-user-skill"}
    assert [i.kind for i in used] == [ItemKind.SKILL] * 2


def test_the_text_of_a_skill_is_never_a_prompt(tmp_path):
    """Also where its row does not say that it is the CLI's."""
    body = {"type": "text", "text": "Base directory for this skill: /s\n\n# Guide"}
    transcript = Transcript(_write(tmp_path / "s.jsonl", _message("user", body)))
    assert [item.kind for item in _all(transcript)] == [ItemKind.SKILL]


def test_an_api_error_is_an_error_and_its_stream_s_usage_is_not_final():
    failed = Transcript(DATA / "claude/error_529_no_retries.stream.jsonl")
    assert {i.row for i in failed.chosen(failed.select("error"))} >= {"assistant"}
    (first, *_) = [
        i for i in _all(Transcript(DATA / "claude/success.stream.jsonl")) if i.usage
    ]
    assert not first.final


@pytest.mark.parametrize("name", ["success.events.jsonl", "success.rollout.jsonl"])
def test_codex_reads_the_same_from_its_stream_and_its_rollout(name):
    items = _all(Transcript(DATA / "codex" / name))
    seen = [
        (i.kind.value, i.text)
        for i in items
        if i.facets & (Facet.ASSISTANT | Facet.CALL | Facet.RESULT)
    ]
    kinds = [kind for kind, _ in seen]
    assert kinds == ["assistant", "tool call", "result", "assistant"]
    assert seen[0][1] == "Writing the file."
    assert "hello.txt; id -u" in seen[1][1]
    assert seen[2][1].endswith("hello\n0\n")
    assert items[-1].cumulative == Tokens(9500, 0, 0, 9000, 60)


def test_a_command_that_failed_is_an_error():
    transcript = Transcript(DATA / "codex/tool_error.events.jsonl")
    (result,) = transcript.chosen(transcript.select("error"))
    assert (result.kind, result.text) == (ItemKind.RESULT, "oops\n")


def test_a_subagent_s_items_follow_the_call_that_launched_it(tmp_path):
    main = tmp_path / "session.jsonl"
    shutil.copy(REAL / MAIN, main)
    inner = tmp_path / "session/subagents/agent-a4ca7529859c158c2.jsonl"
    inner.parent.mkdir(parents=True)
    shutil.copy(REAL / AGENT, inner)
    items = _all(Transcript(main))
    assert len(items) == 180 + 56
    of_agent = [i for i in items if i.agent == "a4ca7529859c158c2"]
    assert [i.n for i in of_agent] == list(range(of_agent[0].n, of_agent[0].n + 56))
    call = items[of_agent[0].n - 1]
    assert (call.kind, call.tool_use_id) == (ItemKind.SUBAGENT, CALL_OF_AGENT)
    assert all(i.facets & Facet.SUBAGENT and i.parent for i in of_agent)
    assert items[-1].cumulative.output == 22_901 + 7_923


def test_messages_in_progress_rows_are_a_subagent_s_until_its_file_is_there(tmp_path):
    said = _message("assistant", {"type": "text", "text": "inside"})
    data = {"type": "agent_progress", "agentId": "x", "message": said}
    progress = {"type": "progress", "sessionId": "s", "data": data}
    main = _write(tmp_path / "s.jsonl", {**progress, "parentToolUseID": "t"})
    (item,) = _all(Transcript(main))
    assert (item.kind, item.text, item.parent) == (ItemKind.ASSISTANT, "inside", "t")
    assert item.usage is not None
    _write(tmp_path / "s/subagents/agent-x.jsonl", {**said, "isSidechain": True})
    told, kept = _all(Transcript(main))
    assert (told.kind, kept.kind) == (ItemKind.SYSTEM, ItemKind.ASSISTANT)
    assert kept.cumulative.output == 7


def test_pictures_are_told_by_kind_and_size(tmp_path):
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    picture = {"type": "image", "source": source}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [picture]}
    path = _write(tmp_path / "s.jsonl", _message("user", picture, result))
    shown, got = _all(Transcript(path))
    assert shown.images == got.images == (Image("image/png", 9),)
    assert (shown.kind, got.kind) == (ItemKind.USER, ItemKind.RESULT)


def test_unknown_rows_and_blocks_are_kept_and_shown(tmp_path):
    path = _write(
        tmp_path / "s.jsonl",
        {"type": "novelty", "sessionId": "s", "what": "\u65b0"},
        _message("assistant", {"type": "hologram"}),
        _message("user"),
    )
    novelty, block, empty = _all(Transcript(path))
    assert (novelty.kind, block.kind) == (ItemKind.UNKNOWN, ItemKind.UNKNOWN)
    assert "novelty" in novelty.text
    assert empty.kind is ItemKind.SYSTEM


def test_text_and_expressions_are_searched_in_what_was_said_and_done():
    transcript = Transcript(REAL / "cc-2.0.64-tool-errors.jsonl")
    items = _all(transcript)
    wanted = [i.n for i in items if "error" in f"{i.tool or ''}\n{i.text}".lower()]
    assert list(search(transcript, "error")) == wanted
    assert len(wanted) > 8
    assert list(search(transcript, "ERROR", case=True)) != wanted
    edits = transcript.select("edit")
    hits = list(search(transcript, r"^(Edit|Write)\n", regex=True, numbers=edits))
    assert hits == list(edits)
    assert list(search(transcript, "(Edit|Write)")) == []


def test_an_expression_is_refused_at_once_and_none_takes_for_ever(tmp_path):
    path = _write(
        tmp_path / "s.jsonl", _message("user", {"type": "text", "text": "a" * 50_000})
    )
    transcript = Transcript(path)
    with pytest.raises(InputError, match="RE2"):
        search(transcript, "(", regex=True)
    started = time.monotonic()
    assert list(search(transcript, r"(a+)+b$", regex=True)) == []
    assert time.monotonic() - started < 2


def test_a_kind_that_is_none_is_refused():
    with pytest.raises(InputError, match="sub-agent"):
        Transcript(REAL / AGENT).select("errors")


SMALL = b"".join(
    json.dumps(row).encode() + b"\n"
    for row in (
        _message("user", {"type": "text", "text": "caf\u00e9 \U0001f642"}),
        _message(
            "assistant",
            {"type": "tool_use", "id": "t", "name": "Task", "input": {"a": [1, "b"]}},
        ),
        {
            "type": "progress",
            "sessionId": "s",
            "data": {"message": _message("assistant", {"type": "text", "text": "x"})},
        },
        _message(
            "user",
            {"type": "tool_result", "tool_use_id": "t", "content": "done"},
            toolUseResult={"agentId": "x"},
        ),
    )
)


@settings(max_examples=300, deadline=None)
@given(
    at=st.integers(0, len(SMALL) - 1),
    put=st.binary(max_size=3),
    n_cut=st.integers(0, 3),
)
def test_damage_anywhere_leaves_an_item_for_every_line(
    tmp_path_factory, at, put, n_cut
):
    path = tmp_path_factory.getbasetemp() / "damaged.jsonl"
    data = SMALL[:at] + put + SMALL[at + n_cut :]
    path.write_bytes(data)
    try:
        transcript = Transcript(path)
    except InputError:
        return
    items = _all(transcript)
    told = account(path)
    lines = [n for n, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    assert sorted({item.line for item in items}) == lines
    n_bad = sum(bool(item.facets & Facet.BAD) for item in items)
    assert n_bad == told.n_bad_lines + (told.torn is not None)


# --- as a strip ----------------------------------------------------------------


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("n_buckets", [1, 7, 1000])
def test_a_timeline_holds_every_item_once_in_as_many_buckets_as_there_is_room(
    path, n_buckets
):
    transcript = Transcript(path)
    items = _all(transcript)
    strip = timeline(transcript, n_buckets)
    assert len(strip) == min(n_buckets, len(items))
    assert [one.start for one in strip] == [0, *(one.stop for one in strip[:-1])]
    assert strip[-1].stop == len(items)
    assert strip[-1].cumulative == items[-1].cumulative
    for one in strip:
        inside = items[one.start : one.stop]
        assert one.counts == Counter(item.kind for item in inside)
        told = [
            any(item.facets & facet for item in inside)
            for facet in (Facet.ERROR, Facet.EDIT, Facet.SKILL)
        ]
        assert told == [one.has_error, one.has_edit, one.has_skill]
        # A line that is no row tells no time.
        assert one.time == inside[0].time


def test_a_strip_without_room_is_refused():
    with pytest.raises(InputError, match="one or more"):
        timeline(Transcript(REAL / MAIN), 0)


# --- values that nothing of ours can hold --------------------------------------

ODD = {
    "deep": "[" * 700 + "]" * 700,
    "deep in words": '"\\"[", ' + "[" * 150 + "]" * 150,
    "large": "1e999",
    "long": "9" * 5000,
}
_AROUND = (
    '{"type":"tool_use","id":"t","name":"Bash","input":{"a":[%s]}}',
    '{"type":"tool_use","id":"t","name":"Bash","input":[%s]}',
    '{"type":"tool_result","tool_use_id":"t","content":[%s]}',
    '{"type":"image","source":{"media_type":[%s],"data":"AAAA"}}',
)
_ODD_ROWS = {
    "claude": [
        '{"type":"user","sessionId":"s","message":{"content":"begin"}}',
        *(
            f'{{"type":"user","sessionId":"s","message":{{"content":[{one}]}}}}'
            for one in _AROUND
        ),
        '{"type":"system","sessionId":"s","content":[%s]}',
        '{"type":"result","sessionId":"s","content":[%s]}',
    ],
    "codex": [
        '{"type":"session_meta","payload":{"id":"a"}}',
        *(
            f'{{"type":"response_item","payload":{{{one}}}}}'
            for one in (
                '"type":"function_call","name":"x","call_id":"c","arguments":[%s]',
                '"type":"function_call_output","call_id":"c","output":[%s]',
                '"type":"message","role":"user","content":[%s]',
                '"type":"message","role":"user","content":[{"text":[%s]}]',
            )
        ),
        '{"type":"event_msg","payload":{"type":"patch_apply_end","changes":{"x":[%s]}}}',
        '{"type":"item.completed","item":{"type":"file_change","changes":[%s]}}',
        '{"type":"item.completed","item":{"type":"mcp_tool_call","arguments":[%s]}}',
    ],
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("rows", _ODD_ROWS.values(), ids=_ODD_ROWS)
def test_a_value_that_nothing_of_ours_can_hold_is_told_as_it_was_written(
    tmp_path, rows, odd
):
    path = tmp_path / "s.jsonl"
    path.write_text("".join(row.replace("%s", odd) + "\n" for row in rows))
    transcript = Transcript(path)
    renderer = Renderer(Teller(Redactor()))
    made = [renderer.article(item) for item in _all(transcript)]
    assert len(made) == len(rows)
    assert not transcript.select("error")
    assert list(search(transcript, odd[-20:])) != []


def test_arguments_within_a_text_may_be_what_nothing_of_ours_can_hold():
    for odd in ODD.values():
        assert value(f'{{"a":[{odd}]}}') == f'{{"a":[{odd}]}}'
    assert value("no JSON") == "no JSON"
    shallow = ['{"' * 500, "[" * 500, {"a": [{}] * 500}]
    assert value(json.dumps(shallow)) == shallow


def test_requests_of_any_size_are_counted(tmp_path):
    most = 2**30 - 1
    split = {"ephemeral_5m_input_tokens": most, "ephemeral_1h_input_tokens": most}
    used = {"input_tokens": most, "output_tokens": most, "cache_creation": split}
    row = _message("assistant", {"type": "text", "text": "x"})
    row["message"]["usage"] = used | {"cache_read_input_tokens": most}
    (item,) = _all(Transcript(_write(tmp_path / "s.jsonl", row)))
    assert item.usage == Tokens(most, most, most, most, most)
    assert account(tmp_path / "s.jsonl").n_bad_lines == 0


# --- files beside, and files that change ---------------------------------------


def test_a_session_may_have_more_subagents_than_files_may_be_open(tmp_path):
    row = _message("user", {"type": "text", "text": "x"})
    path = _write(tmp_path / "s.jsonl", row)
    for n in range(60):
        _write(tmp_path / "s" / "subagents" / f"agent-{n}.jsonl", row)
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_open = len([*Path("/proc/self/fd").iterdir()])
    resource.setrlimit(resource.RLIMIT_NOFILE, (n_open + 30, usual[1]))
    try:
        transcript = Transcript(path)
        assert len(_all(transcript)) == 61
        assert len(timeline(transcript)) == 61
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)


def test_an_id_that_no_folder_can_have_names_no_subagents(tmp_path):
    row = _message("user", {"type": "text", "text": "x"}) | {"sessionId": "s" * 300}
    assert len(Transcript(_write(tmp_path / "s.jsonl", row))) == 1
    assert account(tmp_path / "s.jsonl").session == "s" * 300


def test_a_stray_of_a_subagent_with_half_a_character_is_its_sessions(tmp_path):
    path = _write(tmp_path / "s.jsonl", _message("user", {"type": "text", "text": "x"}))
    (tmp_path / "agent-a.jsonl").write_text(
        '{"type":"user","sessionId":"s","message":{"content":"\\ud83d"}}\n'
    )
    (tmp_path / "agent-deep.jsonl").write_text("[" * 200_000)
    assert [item.agent for item in _all(Transcript(path))] == [None, "a"]


def test_a_file_that_changed_or_went_is_named(tmp_path):
    blocks = [{"type": "text", "text": word * 40} for word in "abc"]
    path = _write(tmp_path / "s.jsonl", _message("user", *blocks))
    transcript = Transcript(path)
    size = path.stat().st_size
    row = json.dumps(_message("user", {"type": "text", "text": "x"}))
    path.write_text(row.ljust(size - 1) + "\n")
    with pytest.raises(InputError, match="other rows where its items were"):
        _all(transcript)
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        _all(transcript)
