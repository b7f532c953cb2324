"""Transcripts and trials as static pages: whole, safe, and nothing lost unsaid."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pages
import pytest
import sessions
import test_browser
from axe_playwright_python.sync_playwright import Axe
from test_browser import flat, opened

from evalkit import tables
from evalkit.errors import InputError
from evalkit.explore import account
from evalkit.explore import page as paging
from evalkit.explore.article import MAX_BYTES, Renderer
from evalkit.explore.binding import MAX_PAGE_BYTES
from evalkit.explore.export import export_transcript
from evalkit.explore.index import Transcript
from evalkit.explore.page import UnsafePageError, document, write_page
from evalkit.explore.prose import prose
from evalkit.explore.redaction import Redactor
from evalkit.explore.spending import Spending
from evalkit.explore.telling import Teller
from evalkit.explore.terminal import style_of, terminal
from evalkit.explore.trial import find_trial
from evalkit.explore.trial_pages import export_counted, export_trial
from evalkit.loading import load
from evalkit.markup import visible
from evalkit.paged import INDEX, pages_folder, with_pages
from evalkit.records import Candidate, Selection, TrialKey
from evalkit.sanitise import faults, sanitise

REAL = Path(__file__).parent / "data" / "transcripts"
CODEX = Path(__file__).parent / "data" / "codex"
browser = test_browser.browser
NAMES = sorted(path.name for path in REAL.glob("*.jsonl"))
ALLOWED = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "nav",
        "main",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "div",
        "p",
        "pre",
        "code",
        "span",
        "a",
        "b",
        "article",
        "header",
        "footer",
        "details",
        "summary",
        "ul",
        "ol",
        "li",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "blockquote",
        "strong",
        "em",
        "s",
        "hr",
        "br",
    ]
)
PAYLOADS = (
    *pages.PAYLOADS,
    "[read](javascript:window.ran=1) <javascript:window.ran=1>",
    "![p](javascript:window.ran=1) ![q](http://example.invalid/e.png)",
    "[a]: javascript:window.ran=1\n\n[a]",
    "<svg><style><img src=x onerror=window.ran=1></style></svg>",
    "```\n</code></pre><script>window.ran=1</script>\n```",
    "| a |\n|---|\n| <img src=x onerror=window.ran=1> |",
    "\0nul\0",
    "\x1b[31m<img src=x onerror=window.ran=1>\x1b[0m",
    "\x1b]8;;javascript:window.ran=1\x07click\x1b]8;;\x07",
)


class _Seen(HTMLParser):
    """The tags, links, ids and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for key, value in attrs:
            assert not key.startswith("on"), (tag, key)
            self.links += [value] if key == "href" else []
            self.ids += [value] if key == "id" else []

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def _session(path: Path, *rows: object) -> Path:
    """A transcript with rows between a beginning and an end."""
    first = sessions.row("user", sessions.text("the beginning"))
    last = [
        sessions.row("assistant", sessions.text("well")),
        sessions.row("user", sessions.text("the end of it")),
    ]
    return sessions.write(path, first, *rows, *last)


def _pages(path: Path, out: Path, **more: object) -> list[str]:
    made = export_transcript(path, out, redactor=Redactor(), **more)
    return [Path(page).read_text() for page in (made.index, *made.pages)]


def _page(tmp_path: Path, *rows: object) -> str:
    """The one page of a transcript."""
    _, page = _pages(_session(tmp_path / "s.jsonl", *rows), tmp_path / "out")
    return page


def is_safe(page: str) -> _Seen:
    seen = _Seen(page)
    assert seen.tags <= ALLOWED
    own = re.compile(r"(?:\.\./)?(?:[\w-]+/)?[\w-]+\.html(?:#[\w-]+)?|#[\w-]+")
    assert [link for link in seen.links if not own.fullmatch(link)] == []
    assert faults(paging._OWN_LINK.sub("", page)) == []
    assert sorted(set(seen.ids)) == sorted(seen.ids)
    return seen


# --- what a page holds ---------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_item_of_a_real_session_stands_once_on_its_pages(tmp_path, name):
    index, *found = _pages(REAL / name, tmp_path)
    ids = [n for page in found for n in is_safe(page).ids]
    n_items = len(Transcript(REAL / name))
    assert ids == [f"m{n}" for n in range(n_items)]
    seen = is_safe(index)
    assert "Contents" in seen.text
    for link in seen.links:
        target, _, anchor = link.partition("#")
        assert not anchor or f'id="{anchor}"' in (tmp_path / target).read_text()


@pytest.mark.parametrize("path", sorted(CODEX.iterdir()), ids=lambda path: path.name)
def test_codex_is_shown_too(tmp_path, path):
    _, page = _pages(path, tmp_path)
    assert len(is_safe(page).ids) == len(Transcript(path))


def test_an_edit_is_shown_as_what_it_changes(tmp_path):
    old, new = "same\nold line\n", "same\nnew line\n"
    edit = {"file_path": "a.py", "old_string": old, "new_string": new}
    many = {"file_path": "b.py", "edits": [edit, {**edit, "replace_all": True}]}
    page = _page(
        tmp_path,
        sessions.row("assistant", sessions.call("Edit", edit)),
        sessions.row("assistant", sessions.call("MultiEdit", many)),
        sessions.row(
            "assistant", sessions.call("Write", {"file_path": "c", "content": "whole"})
        ),
    )
    assert page.count('<span class="removed">-old line</span>') == 3
    assert page.count('<span class="added">+new line</span>') == 3
    assert '<span class="added">+whole</span>' in page
    assert "wherever it stands" in page


@pytest.mark.parametrize(
    "given",
    [None, "text", 7, ["a"], {"file_path": 3}, {"old_string": 1}, {"edits": [7]}],
)
def test_an_edit_that_is_none_is_shown_as_it_was_given(tmp_path, given):
    for name in ("Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch"):
        page = _page(tmp_path, sessions.row("assistant", sessions.call(name, given)))
        assert "the end of it" in is_safe(page).text


def test_a_terminal_s_colours_are_classes_and_its_moves_are_shown():
    made = terminal("\x1b[1;31mred\x1b[0m \x1b[38;2;255;0;0mwide\x1b[0m \x1b[3Aup\x07")
    assert made == (
        '<span class="ansi1 ansi31">red</span> <span class="ansi38-196">wide</span> '
        "\N{SYMBOL FOR ESCAPE}[3Aup\N{SYMBOL FOR BELL}"
    )
    assert style_of(made).startswith(".ansi38-196{color:#ff")
    assert terminal("kept\x1b[1A\x1b[2K\rerased").startswith("kept")


def test_errors_sub_agents_and_pictures_are_told_in_words(tmp_path):
    image = {"type": "base64", "media_type": "image/png", "data": "A" * 400}
    page = _page(
        tmp_path,
        sessions.row("assistant", sessions.call("Bash", {"command": "ls"})),
        sessions.row("user", sessions.result("no such file", is_error=True)),
        sessions.row(
            "assistant", sessions.text("inside"), isSidechain=True, agentId="a4ca"
        ),
        sessions.row("user", {"type": "image", "source": image}),
    )
    text = is_safe(page).text
    assert "\N{HEAVY MULTIPLICATION X} error of Bash #1" in text
    assert "by sub-agent a4ca" in text
    assert "[image: image/png, 300 bytes; not shown]" in text
    assert "A" * 100 not in page
    assert re.search(r'<li class="error">.*?href="#m2">', page)


def test_dollars_add_up_to_what_the_requests_cost():
    transcript = Transcript(REAL / "cc-2.0.64-tool-errors.jsonl")
    spending = Spending(transcript)
    lines = [spending.line(item) for item in transcript.each(range(len(transcript)))]
    told = [line for line in lines if line]
    usage = account(transcript.path).usage
    assert usage
    assert len(told) == 66
    assert told[-1].endswith(_cost(usage))


def _cost(usage) -> str:
    """Opus 4.5 as it is listed: 5, 6.25, 10, 0.5 and 25 dollars a million."""
    rates = (5, 6.25, 10, 0.5, 25)
    counts = (
        usage.input,
        usage.cache_creation_5m,
        usage.cache_creation_1h,
        usage.cache_read,
        usage.output,
    )
    total = sum(rate * n for rate, n in zip(rates, counts, strict=True)) / 1e6
    return f"{sum(counts):,} tokens, ${total:.2f}"


def test_a_model_without_a_price_costs_what_is_not_reported(tmp_path):
    page = _page(tmp_path)
    assert "input 5, output 0, not reported · so far: 5 tokens, not reported" in page


# --- pages of many items -------------------------------------------------------


@pytest.fixture(scope="module")
def long_session(tmp_path_factory):
    rows = [
        sessions.row(
            "assistant", sessions.call("Bash", {"command": f"make {n}"}, f"t{n}")
        )
        if n % 2
        else sessions.row("user", sessions.result(f"{n} <&\"'>" * 900, f"t{n - 1}"))
        for n in range(900)
    ]
    folder = tmp_path_factory.mktemp("long")
    path = _session(folder / "long.jsonl", *rows)
    return folder, path, export_transcript(path, folder / "o", redactor=Redactor())


def test_no_page_is_larger_than_two_megabytes_and_none_is_lost(long_session):
    *_, made = long_session
    assert len(made.pages) > 3
    for page in (made.index, *made.pages):
        assert Path(page).stat().st_size <= MAX_PAGE_BYTES
    ids = [n for page in made.pages for n in _Seen(Path(page).read_text()).ids]
    assert ids == [f"m{n}" for n in range(made.n_items)]


def test_every_link_of_a_page_leads_somewhere(long_session):
    *_, made = long_session
    seen = {
        Path(p).name: is_safe(Path(p).read_text()) for p in (made.index, *made.pages)
    }
    for name, one in seen.items():
        for link in one.links:
            target, _, anchor = link.partition("#")
            assert not anchor or anchor in seen[target or name].ids, (name, link)
    first, second, *_, last = list(seen)[1:]
    assert {INDEX, second} <= set(seen[first].links)
    assert first in seen[second].links
    assert f"page-{len(made.pages) + 1}.html" not in seen[last].links


def test_a_shorter_export_takes_the_place_of_a_longer_one(tmp_path, long_session):
    _, path, _ = long_session
    export_transcript(path, tmp_path, redactor=Redactor())
    (tmp_path / "page-x.html").write_text("somebody's")
    assert len(_pages(_session(tmp_path / "s.jsonl"), tmp_path)) == 2
    assert {p.name for p in tmp_path.glob("*.html")} == {
        INDEX,
        "page-1.html",
        "page-x.html",
    }


def test_one_line_of_ten_megabytes_is_cut_and_says_so(tmp_path):
    page = _page(tmp_path, sessions.row("user", sessions.result("<" * 10_000_000)))
    assert len(page.encode()) <= MAX_PAGE_BYTES
    text = is_safe(page).text
    assert "[cut: 9,900,000 of 10,000,000 characters are left out here" in text
    assert "1 item cut" in text
    assert "the end of it" in text


def test_an_item_that_grows_beyond_a_page_is_told_with_fewer_characters():
    tell = Teller(Redactor())
    edits = [{"old_string": "<\n" * 40_000, "new_string": '"\n' * 40_000}] * 9
    item = Transcript(REAL / NAMES[0]).items(0, 1)[0]
    given = {"facets": 8 | 512, "tool": "MultiEdit", "input": {"edits": edits}}
    import msgspec

    made = Renderer(tell).article(msgspec.structs.replace(item, **given))
    assert len(made.html) <= MAX_BYTES
    assert "[cut: " in made.html


# --- safety --------------------------------------------------------------------


def _everywhere(payload: str) -> list[dict]:
    more = {"agentId": payload, "isSidechain": True, "timestamp": payload}
    rows = [
        sessions.row("user", sessions.text(payload)),
        sessions.row("assistant", sessions.text(payload), {"type": "thinking", "thinking": payload}),
        sessions.row("assistant", sessions.call(payload, {payload: payload, "b": f"a\n{payload}"})),
        sessions.row("user", sessions.result(f"a result {payload} and more", is_error=True)),
        sessions.row("assistant", sessions.call("Edit", {"file_path": payload, "old_string": payload, "new_string": f"{payload}!"})),
        sessions.row("assistant", sessions.text(payload), **more),
        sessions.row("user", {"type": "image", "source": {"media_type": payload, "data": ""}}),
        {"type": payload, "subtype": payload, "content": payload, "level": "error"},
        {"type": "summary", "summary": payload, "leafUuid": "l"},
    ]  # fmt: skip
    rows[1]["message"]["model"] = payload
    return rows


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_could_run_remains_and_all_can_be_read(tmp_path, payload):
    path = _session(tmp_path / "s.jsonl", *_everywhere(payload))
    for page in _pages(path, tmp_path / "out", title=payload):
        is_safe(page)
    seen = _Seen(page)
    assert len(seen.ids) == 13
    assert "the end of it" in seen.text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", payload)
    assert f"a result {visible(plain)} and more" in seen.text
    assert not any(ord(c) < 32 and c not in "\t\n\r" for c in page)
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page


def test_a_policy_stands_before_anything_else(tmp_path):
    page = _page(tmp_path)
    assert re.search(r'<head><meta http-equiv="Content-Security-Policy"', page)
    assert "default-src 'none'" in page
    assert "<script" not in page


def test_links_and_pictures_of_markdown_are_told_not_made():
    made = prose(
        "[here](http://a.invalid/x) ![p](http://b.invalid/y) <http://c.invalid>"
    )
    assert "href" not in made
    assert "here (http://a.invalid/x)" in made
    assert "[picture: p, http://b.invalid/y]" in made
    assert made.count("http://c.invalid") == 1


@pytest.mark.parametrize(
    "text",
    [
        "[" * 40_000,
        "> " * 20_000,
        "*a " * 16_000,
        "|a" * 4000 + "\n" + "|-" * 4000 + "\n" + "|\n" * 4000,
        "`" * 40_000,
        "- " * 20_000,
        "<" * 40_000,
        "[a](" * 10_000,
    ],
)
def test_no_markdown_grows_without_bound(text):
    assert len(prose(text)) < 10 * len(text) + 1000


def test_a_page_that_would_run_something_is_not_written(tmp_path):
    with pytest.raises(UnsafePageError, match="script"):
        write_page(tmp_path / "p.html", document("t", "<script>1</script>"))
    assert not list(tmp_path.iterdir())


SECRET = "sk-ant-api03-AbCdEf0123456789AbCdEf0123456789-xyzAA"


def test_a_secret_is_on_no_page_and_each_page_tells_how_many(tmp_path):
    path = _session(tmp_path / "s.jsonl", *_everywhere(SECRET))
    found = _pages(path, tmp_path / "out", title=SECRET)
    for page in found:
        assert "AbCdEf" not in page
        assert "[redacted: Model Provider Key]" in page
        assert re.search(r"[1-9]\d* secrets redacted here: ", page)


def test_a_switch_shows_secrets_and_says_so(tmp_path):
    path = _session(tmp_path / "s.jsonl", sessions.row("user", sessions.text(SECRET)))
    made = export_transcript(path, tmp_path / "out", redactor=Redactor(on=False))
    page = Path(made.pages[0]).read_text()
    assert SECRET in page
    assert "Nothing was redacted" in page


# --- a trial -------------------------------------------------------------------


@pytest.fixture
def run(tmp_path):
    """A run of one case in two arms, whose evidence is real; `edge` fails."""

    def told(key, _):
        said = sessions.text(f"what was done <in> {key}")
        asked = sessions.row("user", sessions.result("ok"))
        return [sessions.row("assistant", said), asked]

    return sessions.run(tmp_path, told)


def _export(run: Path, key: str, out: Path) -> str:
    root = run.parent.parent
    made = export_trial(find_trial(run, key), root, out, redactor=Redactor())
    for page in made.pages:
        is_safe(Path(page).read_text())
    return Path(made.index).read_text()


def test_a_trial_begins_with_its_checks_and_leads_to_all_the_rest(run, tmp_path):
    page = _export(run, "alpha.full.r1", tmp_path / "out")
    seen = is_safe(page)
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "What the grader found",
        "Transcripts",
        "What changed in the workspace",
        "Routing",
        "Why checks failed: what was asked and answered",
    ]
    assert "SIMULATED" in seen.text
    assert "\N{HEAVY MULTIPLICATION X} failed" in seen.text
    assert '<span class="removed">-two</span>' in page
    assert '<span class="added">+TWO</span>' in page
    assert "removed: gone.py" in seen.text
    assert "added: b.bin" in seen.text
    assert "binary, 2 bytes" in seen.text
    assert "Picked: skill-a" in seen.text
    anchors = [link[1:] for link in seen.links if link.startswith("#")]
    assert anchors
    assert set(anchors) <= set(seen.ids)
    assert '"answer": "<b>"' in seen.text
    asked = page[page.index("Why checks failed") :]
    outside = re.sub(r"<details>.*?</details>", "", asked, flags=re.DOTALL)
    assert "answer&quot;" in asked
    assert "answer&quot;" not in outside
    inner = (tmp_path / "out" / "01-task" / INDEX).read_text()
    assert "../index.html" in inner
    assert "SIMULATED" in inner


def test_evidence_that_was_changed_is_shown_as_changed(run, tmp_path):
    key = "alpha.full.r1"
    with (run / "trials" / key / "1" / "01-task" / "answers.jsonl").open("a") as opened:
        opened.write("\n")
    assert "NOT AS SEALED" in _export(run, key, tmp_path / "out")


def test_evidence_that_cannot_be_read_leaves_the_rest_of_a_page(run, tmp_path):
    key = "alpha.full.r1"
    kept = run / "trials" / key / "1" / "01-task"
    with (kept / "answers.jsonl").open("a") as opened:
        opened.write('{"check": "edge", "q": ' + "[" * 100_000 + "\n\x00\n")
    (kept / "workspace.tar").write_bytes(b"no archive")
    seen = is_safe(_export(run, key, tmp_path / "out"))
    assert "NOT AS SEALED" in seen.text
    assert "the workspace that was kept cannot be read" in seen.text
    assert '"answer": "<b>"' in seen.text


def test_an_unknown_trial_or_attempt_is_refused(run):
    with pytest.raises(InputError, match=r"alpha\.full\.r1"):
        find_trial(run, "alpha.none.r1")
    with pytest.raises(InputError, match="attempts 1"):
        find_trial(run, "alpha.full.r1", 7)


def test_a_report_leads_to_the_pages_that_there_are(run):
    def listed() -> str:
        found = with_pages(load(run).analysis, run)
        return sanitise(tables.trials(found).html)

    told: list[tuple[int, int]] = []
    assert "href" not in listed()
    assert "--transcripts" in listed()
    root = run.parent.parent
    made = export_counted(run, root, known=[], done=lambda *counts: told.append(counts))
    assert told == [(1, 3), (2, 3), (3, 3)]
    links = re.findall('href="([^"]*)"', listed())
    assert [str(run / link) for link in links] == [one.index for one in made]
    assert all(Path(one.index).is_file() for one in made)
    Path(made[0].index).unlink()
    assert re.findall('href="([^"]*)"', listed()) == links[1:]
    assert "The names of 2 of 3 trials lead to pages" in listed()


def test_pages_of_an_attempt_that_does_not_count_lie_apart(run):
    key = TrialKey("alpha", "full", 1)
    assert pages_folder(run, key) != pages_folder(run, key, 1)


def test_candidates_are_shown_with_what_was_picked(run, tmp_path):
    """As `synthetic` sealed them."""
    chosen = find_trial(run, "alpha.full.r1").step("task").selection
    assert isinstance(chosen, Selection)
    page = _export(run, "alpha.full.r1", tmp_path / "out")
    for candidate in chosen.candidates:
        assert isinstance(candidate, Candidate)
        assert candidate.skill in page


# --- the command ---------------------------------------------------------------


def _show(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evalkit.cli", "show", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_writes_pages_of_a_file(tmp_path):
    done = _show(REAL / NAMES[0], "--html", "--out", tmp_path, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["index"] == str(tmp_path / INDEX)
    assert all(Path(page).is_file() for page in told["pages"])


def test_pages_are_not_written_over_a_file(tmp_path):
    (tmp_path / "file").write_text("somebody's")
    done = _show(REAL / NAMES[0], "--html", "--out", tmp_path / "file")
    assert done.returncode == 2
    assert "name another with --out" in done.stderr
    assert (tmp_path / "file").read_text() == "somebody's"


def test_the_command_tells_of_a_trial_and_writes_its_pages(run):
    key = TrialKey("alpha", "full", 1)
    told = json.loads(_show(run, key, "--json").stdout)
    assert (told["key"], told["attempt"], told["counts"]) == (str(key), 1, True)
    assert "FAILED edge" in _show(run, key).stdout
    done = _show(run, key, "--html")
    assert done.returncode == 0, done.stderr
    assert (run / "transcripts" / str(key) / "01-task" / "page-1.html").is_file()
    assert _show(run, "no.such.r1").returncode == 2
    assert _show(REAL / NAMES[0], "--no-redact").returncode == 2


# --- in a browser --------------------------------------------------------------


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> Path:
    """A page with every kind of item, and every payload everywhere."""
    folder = tmp_path_factory.mktemp("shown")
    colours = "".join(f"\x1b[{n}mcolour {n}\x1b[0m " for n in (*range(30, 48), 7, 2))
    wide = "".join(
        f"\x1b[38;5;{n}mw{n}\x1b[0m\x1b[48;5;{n}mv\x1b[0m " for n in range(256)
    )
    edit = {"file_path": "a.py", "old_string": "old\nsame", "new_string": "new\nsame"}
    rows = [
        sessions.row("assistant", sessions.call("Edit", edit)),
        sessions.row("user", sessions.result(colours + wide)),
        sessions.row("assistant", sessions.call("Skill", {"skill": "one"})),
        sessions.row(
            "assistant",
            sessions.text("# Head\n\n| a | b |\n|---|---|\n| 1 | `2` |\n\n- x"),
        ),
        *(row for payload in PAYLOADS for row in _everywhere(payload)),
    ]
    path = _session(folder / "s.jsonl", *rows)
    return Path(export_transcript(path, folder, redactor=Redactor()).pages[0])


@pytest.mark.needs_browser
@pytest.mark.xdist_group("browser")
def test_a_browser_runs_and_loads_nothing_of_a_page_and_shows_all(browser, shown):
    with opened(browser, shown) as found:
        found.look("document.querySelectorAll('details').forEach(o => o.open = true)")
        found.page.wait_for_load_state("networkidle")
        assert found.asked == [shown.as_uri()]
        assert found.said == []
        assert found.look("window.ran") is None
        assert len(found.page.frames) == 1
        text = flat(found.look("document.body.innerText"))
        for payload in PAYLOADS:
            plain = visible(re.sub(r"\x1b\[[0-9;]*m", "", payload))
            assert flat(f"a result {plain} and more") in text
        assert "the end of it" in text


@pytest.mark.needs_browser
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_can_be_read_by_everybody(browser, shown, scheme):
    with opened(browser, shown, color_scheme=scheme) as found:
        found.look("document.querySelectorAll('details').forEach(o => o.open = true)")
        # Items are made alike, and looking at hundreds takes long.
        found.look(
            "document.querySelectorAll('.item:nth-of-type(n+20)').forEach(o => o.remove())"
        )
        told = Axe().run(found.page).response["violations"]
        grave = [one for one in told if one["impact"] in {"serious", "critical"}]
        nodes = [(one["id"], one["nodes"][0]["html"][:200]) for one in grave]
        assert nodes == []


@pytest.mark.needs_browser
@pytest.mark.xdist_group("browser")
def test_a_page_needs_no_script_and_prints_what_is_folded(browser, shown):
    with opened(browser, shown, java_script_enabled=False) as found:
        found.page.locator("#m1").wait_for(state="visible")
    with opened(browser, shown) as found:
        found.page.emulate_media(media="print")
        folded = found.page.locator("article details pre").first
        assert folded.is_visible()
