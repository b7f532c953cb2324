"""`evalkit show FILE`: totals that others counted, and clear answers to wrong files."""

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.explore import Account, account, summary_lines
from evalkit.explore.account import Usage

DATA = Path(__file__).parent / "data"
REAL = DATA / "transcripts"
MAIN = "cc-2.1.114-main-with-subagents.jsonl"
AGENT = "cc-2.1.114-subagent-a4ca7529.jsonl"
SESSION = "ef958aa1-0e93-49f0-bb71-150f63befcd1"


def _expected() -> dict[str, dict[str, int]]:
    with (REAL / "expected_totals.tsv").open() as lines:
        return {
            row["file"]: {
                name: int(row[name])
                for name in ("input", "cache_creation", "cache_read", "output")
            }
            for row in csv.DictReader(lines, delimiter="\t")
            if row["kind"] == "final_per_message_id"
        }


def _total(usage: Usage | None) -> dict[str, int]:
    assert usage is not None
    assert usage.cache_creation == usage.cache_creation_5m + usage.cache_creation_1h
    names = ("input", "cache_creation", "cache_read", "output")
    return {name: getattr(usage, name) for name in names}


def _show(*args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evalkit.cli", "show", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
    )


def _assistant(message_id: str, output: int, **more: object) -> dict:
    usage = {"input_tokens": 5, "output_tokens": output}
    text = [{"type": "text", "text": "well"}]
    message = {"id": message_id, "model": "m", "content": text, "usage": usage}
    message["stop_reason"] = "end_turn"
    return {"type": "assistant", "sessionId": "s", "message": message, **more}


def _write(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", sorted(_expected()))
def test_totals_are_those_that_others_counted(name):
    found = account(REAL / name)
    assert _total(found.usage) == _expected()[name]
    assert found.requests is not None
    assert found.subagents.requests == 0


@pytest.mark.parametrize(
    ("name", "suspect"),
    [
        ("cc-1.0.29-old-format-summaries.jsonl", True),
        ("cc-2.0.64-tool-errors.jsonl", False),
        ("cc-2.1.3-sonnet-streaming-dups.jsonl", False),
        ("cc-2.1.33-opus46-tool-errors.jsonl", True),
        (MAIN, False),
    ],
)
def test_an_output_count_that_cannot_hold_the_text_is_suspect(name, suspect):
    """328 tokens for 24,000 characters; no message that says why it stopped."""
    found = account(REAL / name)
    assert (found.suspect, bool(found.suspect_reasons)) == (suspect, suspect)


def test_the_command_prints_one_document_with_what_is_promised():
    done = _show(REAL / "cc-2.1.12-corrupt-line.jsonl", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["kind"], told["requests"]) == ("claude-session", 41)
    assert told["records"]["assistant"] == 100
    assert [bad["line"] for bad in told["bad_lines"]] == [122]
    assert (told["n_bad_lines"], told["torn"], told["unknown_types"]) == (1, None, {})
    assert told["versions"] == ["2.1.7", "2.1.12"]
    assert told["models"] == {"claude-opus-4-5-20251101": 41}


def test_the_summary_names_every_fault_in_words():
    told = "\n".join(summary_lines(account(REAL / "cc-2.1.12-corrupt-line.jsonl")))
    assert "BAD LINE 122: JSON is malformed" in told
    assert "SUSPECT: 23 of 41 requests" in told


def test_nothing_of_a_file_steers_the_terminal(tmp_path):
    row = _assistant("a", 9, version="\x1b[2J\u202e")
    row["message"]["model"] = "m\x07\n"
    told = summary_lines(account(_write(tmp_path / "s.jsonl", row)))
    assert all(line.isprintable() for line in told)


@pytest.mark.parametrize("beside", [f"{SESSION}/subagents", "session/subagents", "."])
def test_a_subagent_s_file_is_a_second_figure(tmp_path, beside):
    main = tmp_path / "session.jsonl"
    shutil.copy(REAL / MAIN, main)
    (tmp_path / beside).mkdir(parents=True, exist_ok=True)
    shutil.copy(REAL / AGENT, tmp_path / beside / "agent-a4ca7529859c158c2.jsonl")
    _write(tmp_path / "agent-b.jsonl", _assistant("of another session", 999))
    found = account(main)
    assert _total(found.usage) == _expected()[MAIN]
    assert _total(found.subagents.usage) == _expected()[AGENT]
    assert (found.requests, found.subagents.requests) == (17, 20)
    assert found.total.requests == 37
    assert len(found.subagents.files) == 1
    assert "agent-a4ca7529859c158c2" in "".join(summary_lines(found))


def test_a_message_in_progress_rows_and_in_the_subagent_s_file_counts_once(tmp_path):
    nested = _assistant("sub", 50)
    progress = {"type": "progress", "sessionId": "s", "data": {"message": nested}}
    main = _write(tmp_path / "s.jsonl", _assistant("main", 9), progress, progress)
    alone = account(main)
    assert (alone.requests, alone.subagents.requests) == (1, 1)
    _write(
        tmp_path / "s/subagents/agent-x.jsonl",
        _assistant("sub", 80, isSidechain=True),
        _assistant("more", 7, isSidechain=True),
    )
    found = account(main)
    assert _total(found.usage)["output"] == 9
    assert _total(found.subagents.usage)["output"] == 87
    assert _total(found.total.usage)["output"] == 96


def test_inline_sidechains_are_the_file_s_own_and_told_apart(tmp_path):
    main = _write(
        tmp_path / "s.jsonl",
        _assistant("main", 9),
        _assistant("side", 50, isSidechain=True),
    )
    found = account(main)
    assert _total(found.usage)["output"] == 59
    assert _total(found.sidechains.usage)["output"] == 50
    assert (found.sidechains.requests, found.subagents.requests) == (1, 0)


def test_two_models_of_one_session_are_told_apart(tmp_path):
    second = _assistant("b", 5)
    second["message"]["model"] = "other"
    found = account(_write(tmp_path / "s.jsonl", _assistant("a", 5), second))
    assert found.models == {"m": 1, "other": 1}


def test_a_stream_s_usage_is_its_result_s_where_its_rows_hold_only_starts():
    found = account(DATA / "claude/success.stream.jsonl")
    assert (found.requests, found.source) == (3, "modelUsage")
    assert _total(found.usage)["output"] == 131
    assert not found.suspect


def test_a_killed_stream_s_output_count_is_suspect():
    found = account(DATA / "claude/killed_in_tool_sigterm.stream.jsonl")
    assert found.suspect


def test_codex_is_told_by_turn_or_by_request():
    stream = account(DATA / "codex/success.events.jsonl")
    rollout = account(DATA / "codex/success.rollout.jsonl")
    assert (stream.requests, rollout.requests) == (None, 2)
    assert stream.usage == rollout.usage
    assert rollout.models == {"gpt-5.5-codex": 2}


WRONG = {
    "gemini.jsonl": (
        b'{\n  "sessionId": "x",\n  "projectHash": "y",\n  "messages": [\n'
        b'    {"type": "user", "content": "hi"}\n  ]\n}\n',
        "a session of Gemini CLI",
    ),
    "gemini-lines.jsonl": (
        b'{"sessionId":"x","kind":"main"}\n{"type":"user","content":"hi"}\n'
        b'{"id":"2","type":"gemini","content":"hello"}\n',
        "a session of Gemini CLI",
    ),
    "empty.jsonl": (b"", "an empty file"),
    "blank.jsonl": (b"\n \n", "nothing but blank lines"),
    "binary.jsonl": (bytes(range(256)) * 40, "binary data"),
    "text.jsonl": (b"2026-11-30 all is well\n" * 9, "no JSON objects"),
    "other.jsonl": (b'{"level": "info", "type": "log"}\n' * 9, "of types 'log'"),
    "array.jsonl": (b'[{"type": "user"}]\n', "no JSON objects"),
    "deep.jsonl": (b'{"type":' * 50_000, "no JSON objects"),
    "user.jsonl": (b'{"type": "user", "sessionId": "s"}\n', "another kind"),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_file_gets_a_clear_answer(tmp_path, name):
    data, found = WRONG[name]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        account(path)
    assert found in error.value.found
    assert error.value.exit_code == 2


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    for path, found in (
        (tmp_path / "pipe.jsonl", "a pipe"),
        (tmp_path, "a folder"),
        (tmp_path / "absent.jsonl", "no such file"),
        (Path("/dev/zero"), "a special file"),
    ):
        done = _show(path)
        assert done.returncode == 2
        assert found in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("start", [b"", b'{"a": "', b'{"type": "log"}\n'])
def test_two_gigabytes_of_something_else_are_not_read(tmp_path, start):
    path = tmp_path / "large.jsonl"
    with path.open("wb") as opened:
        opened.write(start)
        opened.truncate(2 * 2**30)
    begun = time.monotonic()
    with pytest.raises(InputError):
        account(path)
    assert time.monotonic() - begun < 2


def test_a_line_too_long_to_be_held_is_bad_and_the_rest_is_read(tmp_path):
    path = _write(tmp_path / "s.jsonl", _assistant("a", 5))
    with path.open("r+b") as opened:
        opened.seek(200 * 2**20)
        opened.write(b"\n" + json.dumps(_assistant("b", 6)).encode() + b"\n")
    found = account(path)
    assert (found.requests, found.n_bad_lines, found.torn) == (2, 1, None)
    assert "longer than" in found.bad_lines[0].fault


SMALL = b"".join(
    json.dumps(row).encode() + b"\n"
    for row in (
        {"type": "summary", "summary": "caf\u00e9", "leafUuid": "l"},
        _assistant("a", 5),
        {"type": "user", "sessionId": "s", "message": {"content": "\U0001f642 go"}},
        _assistant("b", 6),
    )
)


def _account_of(folder: Path, data: bytes) -> Account | None:
    path = folder / "small.jsonl"
    path.write_bytes(data)
    try:
        found = account(path)
    except InputError:
        return None
    assert summary_lines(found)
    return found


def test_a_file_cut_at_any_byte_keeps_its_whole_lines(tmp_path):
    for n in range(len(SMALL) + 1):
        found = _account_of(tmp_path, SMALL[:n])
        lines = SMALL[:n].split(b"\n")
        whole, rest = lines[:-1], lines[-1]
        if found is None:
            assert not whole
            continue
        assert found.n_bad_lines == 0
        if not _is_json(rest):
            assert (found.torn is not None) == bool(rest), n
            assert sum(found.records.values()) == len(whole)
        else:
            assert found.torn is None
            assert sum(found.records.values()) == len(whole) + 1


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


@settings(max_examples=400, deadline=None)
@given(
    at=st.integers(0, len(SMALL) - 1),
    put=st.binary(max_size=3),
    n_cut=st.integers(0, 3),
)
def test_damage_anywhere_is_counted_and_never_fatal(tmp_path_factory, at, put, n_cut):
    data = SMALL[:at] + put + SMALL[at + n_cut :]
    found = _account_of(tmp_path_factory.getbasetemp(), data)
    if found is None:
        return
    lines = [line for line in data.split(b"\n") if line and not line.isspace()]
    n_torn = found.torn is not None
    n_rows = sum(found.records.values())
    assert found.n_lines == len(lines)
    assert found.n_lines == n_rows + found.n_bad_lines + n_torn
    n_broken = sum(not _is_object(line) for line in lines)
    assert found.n_bad_lines + n_torn >= n_broken


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode()), dict)
    except ValueError:
        return False
