"""What a tool was given: what a call is about, and the edits it makes."""

from pathlib import Path

import pytest
import sessions
from test_explore_page import is_safe

from evalkit.explore.export import export_transcript
from evalkit.explore.given import NAMED, edits_of, main_argument
from evalkit.explore.index import Transcript
from evalkit.explore.redaction import Redactor

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n*** End Patch"
HEREDOC = f"apply_patch <<'EOF'\n{PATCH}\nEOF"
SHELLS = [
    PATCH,
    {"input": PATCH},
    {"command": ["apply_patch", PATCH]},
    {"command": ["bash", "-lc", HEREDOC]},
    {"cmd": f"{HEREDOC}\n"},
]
HUNK = "@@ -1 +1 @@\n-old\n+new\n"
CHANGES = [
    ([{"path": "a.py", "kind": "update"}], f"update; {NAMED}", None),
    ([{"path": "a.py", "kind": "update", "diff": HUNK}], "update", HUNK),
    ([{"path": "a.py", "kind": {"type": "delete"}}], f"delete; {NAMED}", None),
    ([{"path": "a.py"}], f"changed; {NAMED}", None),
    ({"a.py": "modified"}, f"modified; {NAMED}", None),
    ({"a.py": {"type": "update", "unified_diff": HUNK}}, "update", HUNK),
    (
        {"a.py": {"update": {"unified_diff": HUNK, "move_path": "b.py"}}},
        "update, moved to b.py",
        HUNK,
    ),
    ({"a.py": {"add": {"content": "new\n"}}}, "add", "new\n"),
]


@pytest.mark.parametrize("given", SHELLS, ids=range(len(SHELLS)))
def test_a_patch_is_found_where_codex_gives_it_and_names_its_files(given):
    (edit,) = edits_of("shell", given)
    assert edit.lines == PATCH.splitlines()
    assert main_argument(given) == "a.py"


@pytest.mark.parametrize(
    "given",
    [
        {"command": f"cat > doc.md <<'EOF'\n{HEREDOC}\nEOF"},
        {"command": f"{HEREDOC}\npytest -q"},
        {"content": PATCH, "file_path": "doc.md"},
        {"command": "apply_patch --help"},
    ],
)
def test_what_only_holds_a_patch_is_shown_as_it_was_given(given):
    """So that nothing of it is lost."""
    assert edits_of("Bash", given) == []


@pytest.mark.parametrize(("changes", "note", "new"), CHANGES)
def test_what_codex_changed_is_told_as_far_as_it_tells(changes, note, new):
    (edit,) = edits_of("file_change", {"changes": changes})
    assert (edit.path, edit.note, edit.new) == ("a.py", note, new)


@pytest.mark.parametrize("changes", [None, 7, "a.py", [7], [{"kind": "add"}], {}, []])
def test_changes_that_are_none_are_no_edits(changes):
    assert edits_of("file_change", {"changes": changes}) == []


def _rollout(row: str, **payload: object) -> dict:
    return {"type": row, "timestamp": "2026-11-30T05:00:00Z", "payload": payload}


def test_pages_of_codex_tell_the_files_it_changed_with_their_lines_if_told(tmp_path):
    two = [{"path": "a.py", "kind": "add"}, {"path": "b.py", "kind": "delete"}]
    done = {"id": "1", "type": "file_change", "status": "completed"}
    asked = {"id": "2", "type": "mcp_tool_call", "server": "s", "tool": "find"}
    items = [
        {**done, "changes": two},
        {**done, "changes": [{"path": "c.py", "kind": "update", "diff": HUNK}]},
        {**asked, "arguments": {"what": "needle"}, "status": "completed"},
        {"id": "3", "type": "web_search", "query": "how to"},
    ]
    stream = sessions.write(
        tmp_path / "stream.jsonl",
        {"type": "thread.started", "thread_id": "t"},
        *({"type": "item.completed", "item": item} for item in items),
    )
    page = _page(stream, tmp_path)
    text = is_safe(page).text
    assert f"a.py: add; {NAMED}" in text
    assert f"b.py: delete; {NAMED}" in text
    assert "no line differs" not in text
    assert '<span class="added">+new</span>' in page
    assert "s.find" in text
    assert "needle" in text
    assert "how to" in text


def test_a_rollout_s_patch_is_a_diff_and_an_edit(tmp_path):
    shell = {"command": ["bash", "-lc", HEREDOC]}
    changes = {"a.py": {"type": "update", "unified_diff": HUNK}}
    path = sessions.write(
        tmp_path / "rollout.jsonl",
        _rollout("session_meta", id="s", cli_version="0.9"),
        _rollout(
            "response_item",
            type="function_call",
            name="shell",
            call_id="c",
            arguments=sessions.lines(shell).decode(),
        ),
        _rollout("event_msg", type="patch_apply_end", call_id="c", changes=changes),
    )
    transcript = Transcript(path)
    assert list(transcript.select("edit")) == [1]
    page = _page(path, tmp_path)
    assert '<span class="removed">-old</span>' in page
    assert "a.py: update" in is_safe(page).text


def _page(path: Path, folder: Path) -> str:
    made = export_transcript(path, folder / "out", redactor=Redactor())
    return Path(made.pages[0]).read_text()
