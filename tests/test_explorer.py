"""What the explorer answers, without a browser: pages, hits, jumps, faults."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path

import msgspec
import nbformat
import pages
import pytest
import sessions
import test_explore_page
from nbformat.v4 import new_code_cell, new_notebook, new_output

from evalkit import executing
from evalkit.explore import asked
from evalkit.explore.comparing import MARKS
from evalkit.explore.index import Transcript
from evalkit.explore.items import FILTERS
from evalkit.explore.redaction import Redactor
from evalkit.explore.search import search
from evalkit.explore.session import MAX_VIEWS, Session
from evalkit.explore.viewing import N_ITEMS, N_SEARCHED, View
from evalkit.explore.widget import NEEDS_KERNEL, explore
from evalkit.export import export
from evalkit.parameters import TranscriptsParameters
from evalkit.sanitise import faults

REAL = Path(__file__).parent / "data" / "transcripts"
TOOLS = REAL / "cc-2.1.33-opus46-tool-errors.jsonl"
KEY = "alpha.full.r1"
_ids = map(str, itertools.count())


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return sessions.run(tmp_path_factory.mktemp("explored"), told)


def told(key, _):
    said = sessions.text(f"what was done <in> {key}")
    return [
        sessions.row("assistant", said),
        sessions.row("user", sessions.result("ok")),
    ]


@pytest.fixture
def session(run) -> Session:
    return Session(run)


def ask(session: Session, kind: str, **question: object) -> dict:
    answer = heard(session, kind, **question)
    assert "error" not in answer, answer
    return answer


def heard(session: Session, kind: str, **question: object) -> dict:
    name = next(_ids)
    answer = session.answer({"ask": kind, "id": name, **question})
    assert answer["id"] == name
    assert msgspec.json.encode(answer)
    return answer


def opened(session: Session, path: Path = TOOLS) -> int:
    return ask(session, "file", path=str(path))["view"]


def numbers(session: Session, view: int, n: int) -> list[int]:
    n_pages = -(-n // N_ITEMS)
    found = [ask(session, "page", view=view, page=p)["items"] for p in range(n_pages)]
    assert all(len(items) == N_ITEMS for items in found[:-1])
    return [item["n"] for items in found for item in items]


# --- pages ------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(REAL.glob("*.jsonl")), ids=lambda p: p.stem)
def test_pages_hold_every_item_once_in_any_order_and_are_safe(path):
    view = View(path, Redactor(on=False))
    n = len(view.transcript)
    backwards = [view.page(p) for p in reversed(range(-(-n // N_ITEMS)))]
    forwards = View(path, Redactor(on=False))
    pages_ = [forwards.page(p) for p in range(len(backwards))]
    assert backwards[::-1] == pages_
    assert [item.n for page in pages_ for item in page.items] == list(range(n))
    assert view.page(len(pages_)).items == ()
    for item in (item for page in pages_ for item in page.items):
        assert faults(item.html.replace(' href="#', ' title="')) == []


def test_a_kind_s_pages_hold_that_kind_alone(session):
    view = opened(session)
    wanted = list(Transcript(TOOLS).select("error", "edit"))
    assert len(wanted) > 3
    told = ask(session, "choose", view=view, names=["error", "edit"], n=wanted[2])
    assert (told["n"], told["at"]) == (len(wanted), 2)
    assert numbers(session, view, told["n"]) == wanted
    assert ask(session, "place", view=view, n=wanted[1] + 1)["at"] == 2
    assert ask(session, "place", view=view, n=10**9)["at"] == len(wanted) - 1
    back = ask(session, "choose", view=view, names=[], n=wanted[2])
    assert back["at"] == wanted[2]


def test_a_result_on_another_page_than_its_call_names_it(session):
    view = opened(session)
    errors = ask(session, "choose", view=view, names=["error"])
    items = ask(session, "page", view=view, page=0)["items"]
    assert len(items) == errors["n"]
    for item in items:
        (call,) = re.findall(r'of <a href="#m(\d+)">', item["html"])
        assert item["n"] - 10 < int(call) < item["n"]


def test_an_item_that_a_page_cuts_is_told_further_by_itself(session, tmp_path):
    path = test_explore_page._session(
        tmp_path / "s.jsonl",
        sessions.row("assistant", sessions.text("w " * 20_000)),
    )
    view = opened(session, path)
    (short,) = [i for i in ask(session, "page", view=view, page=0)["items"] if i["cut"]]
    (whole,) = ask(session, "whole", view=view, n=short["n"])["items"]
    assert not whole["cut"]
    assert len(whole["html"]) > 40_000 > len(short["html"])
    assert "[cut: " in short["html"]


def test_what_a_request_cost_so_far_does_not_hang_on_what_was_seen_before():
    view = View(TOOLS, Redactor())
    last = view.items([len(view.transcript) - 1]).items[0].so_far
    told = [item.so_far for p in range(9) for item in view.page(p).items]
    assert told[-1] == last
    tokens = [int(line.partition(" ")[0].replace(",", "")) for line in told]
    assert tokens == sorted(tokens)
    assert tokens[0] < tokens[-1]


def test_secrets_are_shown_until_somebody_hides_them(session, tmp_path):
    secret = "AKIA" + "Q7Z2" * 4
    path = test_explore_page._session(
        tmp_path / "s.jsonl",
        sessions.row("assistant", sessions.text(f"key {secret}")),
    )
    view = opened(session, path)
    assert secret in json.dumps(ask(session, "page", view=view, page=0))
    assert ask(session, "redact", on=True)["hides"]
    assert secret not in json.dumps(ask(session, "page", view=view, page=0))
    assert ask(session, "hello")["hides"]


def test_what_became_of_an_attempt_hides_known_secrets_too(run):
    session = Session(run, known=(KEY,))
    of = {"run": str(run), "key": KEY}
    assert KEY in ask(session, "trial", **of)["standing"]
    ask(session, "redact", on=True)
    assert KEY not in ask(session, "trial", **of)["standing"]


# --- search and jumps ----------------------------------------------------------------


def test_a_search_comes_in_parts_and_finds_what_a_whole_one_does(tmp_path):
    rows = TOOLS.read_bytes()
    path = tmp_path / "long.jsonl"
    path.write_bytes(rows * 20)
    session = Session(tmp_path)
    view = opened(session, path)
    part = ask(session, "find", view=view, query="error")
    parts = [part]
    while part["n_searched"] < part["n"]:
        part = ask(session, "more", view=view)
        parts.append(part)
    transcript = Transcript(path)
    assert len(parts) == -(-len(transcript) // N_SEARCHED) > 2
    found = [n for one in parts for n in one["hits"]]
    assert found == list(search(transcript, "error"))
    assert not ask(session, "more", view=view)["hits"]


def test_an_expression_that_is_none_is_refused_and_the_next_is_not(session):
    view = opened(session)
    assert "regular expression" in heard(
        session, "find", view=view, query="(", regex=True
    ).get("error")
    assert ask(session, "find", view=view, query="(", regex=False)["n"]
    with_case = ask(session, "find", view=view, query="ERROR", case=True)["hits"]
    assert len(with_case) < len(ask(session, "find", view=view, query="ERROR")["hits"])


def test_a_jump_goes_to_what_is_shown_of_a_kind(session):
    view = opened(session)
    transcript = Transcript(TOOLS)
    errors = list(transcript.select("error"))
    assert ask(session, "jump", view=view, name="error", n=-1)["n"] == errors[0]
    assert ask(session, "jump", view=view, name="error", n=errors[0])["n"] == errors[1]
    back = ask(session, "jump", view=view, name="error", n=errors[1], back=True)
    assert back["n"] == errors[0]
    none = ask(session, "jump", view=view, name="error", n=errors[-1])
    assert (none["n"], none["at"]) == (None, None)
    ask(session, "choose", view=view, names=["assistant"])
    assert ask(session, "jump", view=view, name="error", n=-1)["n"] is None


# --- choosing, and what stands beside ----------------------------------------------------


def test_a_run_s_trials_lead_to_their_transcripts_and_what_stands_beside(session, run):
    assert ask(session, "hello")["runs"] == [run.name]
    told = ask(session, "run", run=run.name)
    assert told["stamp"] == "SIMULATED"
    assert len(told["trials"]) == told["n_planned"] == 3
    trial = ask(session, "trial", run=run.name, key=KEY)
    assert (trial["attempt"], trial["n_failed"], trial["first"]) == (1, 1, "01-task")
    assert "it counts" in trial["standing"]
    of = {"run": run.name, "key": KEY, "attempt": 1}
    view = ask(session, "open", **of, transcript=trial["first"])
    assert view["stamp"] == "SIMULATED"
    page = ask(session, "page", view=view["view"], page=0)
    assert KEY in page["items"][0]["html"]
    made = {
        w: ask(session, "beside", view=view["view"], what=w) for w in view["beside"]
    }
    assert "edge" in made["checks"]["html"]
    assert "+TWO" in made["workspace"]["html"]
    assert "skill-a" in made["routing"]["html"]
    assert "requests" in made["summary"]["html"]
    assert "none of that name" in heard(session, "open", **of, transcript="x")["error"]


def test_a_file_has_a_summary_beside_it_and_no_checks(session):
    told = ask(session, "file", path=str(TOOLS))
    assert told["beside"] == ("summary",)
    assert "without a trial" in heard(
        session, "beside", view=told["view"], what="checks"
    ).get("error")


def test_only_so_many_transcripts_are_held_and_the_last_used_are(session):
    first = opened(session)
    others = [opened(session) for _ in range(MAX_VIEWS - 1)]
    ask(session, "page", view=first, page=0)
    opened(session)
    ask(session, "page", view=first, page=0)
    assert "open it again" in heard(session, "page", view=others[0], page=0)["error"]


# --- two arms ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair_run(tmp_path_factory) -> Path:
    def told(key, step):
        if (key.arm, step) == ("baseline", "second"):
            return None
        edit = {"file_path": "a.py", "old_string": "two", "new_string": "TWO"}
        more = [f"thought {n}" for n in range(30)] if key.arm == "full" else []
        return sessions.acts(("Bash", {"command": "ls"}), *more, ("Edit", edit), "done")

    folder = tmp_path_factory.mktemp("paired")
    return sessions.run(folder, told, steps=("first", "second"))


def test_two_arms_stand_in_rows_that_hold_every_item_of_both(pair_run):
    session = Session(pair_run)
    of = {"run": pair_run.name, "key": KEY}
    pair = ask(session, "pair", **of, other="auto")
    assert pair["arms"] == ("full", "auto")
    assert ("turns", "66", "6", "+60") in pair["measures"]
    first, second = pair["parts"]
    assert first["verdicts"] == "==" + "<" * 30 + "=="
    assert first["first"] == 2
    assert "thought 0" in first["sentence"]
    pages_ = itertools.count()
    rows = list(
        itertools.chain.from_iterable(
            iter(
                lambda: ask(
                    session, "rows", pair=pair["pair"], part=0, page=next(pages_)
                )["rows"],
                (),
            )
        )
    )
    assert "".join(MARKS[row["verdict"]] for row in rows) == first["verdicts"]
    for side, key in (("left", "full"), ("right", "auto")):
        turns = [row[side] for row in rows if row[side]]
        shown = [item["n"] for turn in turns for item in turn["items"]]
        path = pair_run / "trials" / f"alpha.{key}.r1" / "1" / "01-first"
        assert shown == list(range(len(Transcript(path / "agent.stdout.jsonl"))))
    assert second["verdicts"] == first["verdicts"]


def test_a_step_without_a_transcript_is_told(pair_run):
    session = Session(pair_run)
    of = {"run": pair_run.name, "key": KEY}
    pair = ask(session, "pair", **of, other="baseline")
    assert "baseline: no transcript was kept" in pair["parts"][1]["sentence"]
    assert pair["parts"][1]["verdicts"] == ""
    assert not ask(session, "rows", pair=pair["pair"], part=1, page=0)["rows"]
    assert "step 2" in heard(session, "rows", pair=pair["pair"], part=2, page=0).get(
        "error"
    )
    assert "another arm" in heard(session, "pair", **of, other="full")["error"]
    again = ask(session, "pair", **of, other="auto")
    old = heard(session, "rows", pair=pair["pair"], part=0, page=0)
    assert "compare the two again" in old["error"]
    assert ask(session, "rows", pair=again["pair"], part=0, page=0)["rows"]


# --- faults ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        None, 7, "page", [], {}, {"ask": 1}, {"ask": "page"}, {"ask": "asked", "id": "1"},
        {"ask": "ofview", "id": "1", "view": 1}, {"ask": "hello", "id": 7},
        {"ask": "hello", "id": "x" * 65}, {"ask": "hello", "id": "1", "more": 1},
        {"ask": "page", "id": "1", "view": 1, "page": -1},
        {"ask": "page", "id": "1", "view": 1, "page": 1.5},
        {"ask": "page", "id": "1", "view": 1, "page": True},
        {"ask": "page", "id": "1", "view": 1, "page": 10**30},
        {"ask": "page", "id": "1", "view": 99, "page": 0},
        {"ask": "find", "id": "1", "view": 1, "query": ""},
        {"ask": "find", "id": "1", "view": 1, "query": "x" * 5000},
        {"ask": "choose", "id": "1", "view": 1, "names": ["nothing"]},
        {"ask": "jump", "id": "1", "view": 1, "name": "nothing", "n": 0},
        {"ask": "whole", "id": "1", "view": 1, "n": 10**9},
        {"ask": "beside", "id": "1", "view": 1, "what": "nothing"},
        {"ask": "rows", "id": "1", "pair": 1, "part": 0, "page": 0},
        {"ask": "run", "id": "1", "run": "../.."},
        {"ask": "trial", "id": "1", "run": "x", "key": "y"},
        {"ask": "file", "id": "1", "path": "/dev/null"},
        {"ask": "file", "id": "1", "path": "\0"},
        {"ask": "file", "id": "1", "path": "x" * 4096},
    ],
    ids=repr,
)  # fmt: skip
def test_a_message_that_is_wrong_is_answered_with_an_error(session, content):
    opened(session)
    answer = session.answer(content)
    assert answer["error"]
    assert "Traceback" not in answer["error"]
    assert ask(session, "hello")


def test_every_kind_of_question_is_answered(session, run):
    view = opened(session)
    trial = {"run": run.name, "key": KEY, "attempt": 1}
    of = {"view": view}
    questions = {
        "hello": {}, "run": {"run": run.name}, "trial": trial,
        "open": {**trial, "transcript": "01-task"}, "file": {"path": str(TOOLS)},
        "choose": {**of, "names": list(FILTERS)}, "page": {**of, "page": 0},
        "whole": {**of, "n": 0}, "jump": {**of, "name": "user", "n": 0},
        "place": {**of, "n": 0}, "find": {**of, "query": "a"}, "more": of, "strip": of,
        "beside": {**of, "what": "summary"}, "redact": {"on": False},
        "pair": {**trial, "other": "auto"}, "rows": {"pair": 4, "part": 0, "page": 0},
    }  # fmt: skip
    known = {kind.__name__.lower() for kind in asked.Question.__args__}
    assert set(questions) == known
    for kind, question in questions.items():
        ask(session, kind, **question)


def test_a_file_that_changes_or_goes_is_told_until_it_is_opened_again(
    session, tmp_path
):
    path = Path(shutil.copy(TOOLS, tmp_path))
    view = opened(session, path)
    with path.open("ab") as file:
        file.write(b"\n")
    for kind, question in (
        ("page", {"page": 0}),
        ("whole", {"n": 0}),
        ("more", {}),
    ):
        assert "changed" in heard(session, kind, view=view, **question)["error"]
    again = opened(session, path)
    assert ask(session, "page", view=again, page=0)["items"]
    path.unlink()
    assert "it is gone" in heard(session, "page", view=again, page=0)["error"]
    assert "no such file" in heard(session, "file", path=str(path))["error"]


def test_payloads_of_a_name_or_a_text_are_text_in_every_answer(session, tmp_path):
    rows = [row for one in pages.PAYLOADS for row in test_explore_page._everywhere(one)]
    view = opened(session, test_explore_page._session(tmp_path / "s.jsonl", *rows))
    for p in range(-(-len(rows) // N_ITEMS)):
        for item in ask(session, "page", view=view, page=p)["items"]:
            assert faults(item["html"].replace(' href="#', ' title="')) == []


# --- the widget -------------------------------------------------------------------------


def test_a_widget_without_a_browser_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = explore(TranscriptsParameters(file="nowhere.jsonl"))
    data, _ = made._repr_mimebundle_()
    assert data["text/plain"] == NEEDS_KERNEL
    cell = new_code_cell("", outputs=[new_output("display_data", data)])
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "n.ipynb")
    page = export(tmp_path / "n.ipynb", tmp_path / "page.html").read_text()
    assert "evalkit show RUN TRIAL --html" in page
    assert made.model_id not in page


def test_the_notebook_runs_where_no_browser_is(run, tmp_path):
    parameters = TranscriptsParameters(run.name, KEY, "auto")
    done = executing.execute(parameters, folder=tmp_path, cwd=run)
    page = export(done, tmp_path / "page.html").read_text()
    assert "<h1" in page
    assert NEEDS_KERNEL in page
    assert "Traceback" not in page
