"""Two trials side by side as pages: whole, safe, linked, and told on a terminal."""

import json
from pathlib import Path

import pytest
import sessions
import test_browser
from axe_playwright_python.sync_playwright import Axe
from click.testing import Result
from test_browser import opened
from test_explore_page import is_safe
from typer.testing import CliRunner

from evalkit.cli import app
from evalkit.errors import InputError
from evalkit.explore import columns, pair_pages
from evalkit.explore.binding import MAX_PAGE_BYTES
from evalkit.explore.index import Transcript
from evalkit.explore.pair_pages import export_pair
from evalkit.explore.pair_summary import pair_lines
from evalkit.explore.pairing import find_other, pair
from evalkit.explore.redaction import Redactor
from evalkit.explore.telling import Teller
from evalkit.explore.trial import find_trial
from evalkit.paged import INDEX

browser = test_browser.browser
SECRET = "sk-ant-api03-AbCdEf0123456789AbCdEf0123456789-xyzAA"
PAYLOAD = "<img src=x onerror=window.ran=1></pre><script>window.ran=1</script>"
EDIT = {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}
LONG = "<" * 25_000
"""Four times as long on a page."""


def _told(key, slug):
    """`full` reads first, and is long in the second step."""
    read = [("Read", {"file_path": f"README.md {PAYLOAD}"})]
    deeds = [("Bash", {"command": f"x --key {SECRET}"}), ("Edit", EDIT)]
    if slug == "end":
        deeds = [("Bash", {"command": f"make {n}"}, LONG) for n in range(12)]
    more = read if key.arm == "full" else []
    return sessions.acts(*more, *deeds, "Done.", asked=f"Please {slug}.")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """Two steps in three arms; `auto` does not come to the second."""
    return sessions.run(
        tmp_path_factory.mktemp("pair"),
        _told,
        steps=("begin", "end"),
        stopped=lambda key, slug: (key.arm, slug) == ("auto", "end"),
    )


@pytest.fixture(scope="module")
def written(run, tmp_path_factory):
    """The pages of `full` beside `baseline`, by their path below the folder."""
    out = tmp_path_factory.mktemp("out")
    tell = Teller(Redactor())
    left = find_trial(run, "alpha.full.r1")
    made = export_pair(pair(left, find_other(left, "baseline"), tell), out, tell=tell)
    pages = [made.index, *made.pages]
    return out, {str(Path(page).relative_to(out)): page for page in pages}


def test_every_item_of_both_sides_stands_once_on_the_pages_of_its_part(run, written):
    _, pages = written
    for step in ("begin", "end"):
        names = [name for name in pages if name.startswith(("01-", "02-"))]
        text = "".join(Path(pages[n]).read_text() for n in names if step in n)
        for mark, arm in zip(pair_pages.MARKS, ("full", "baseline"), strict=True):
            found = find_trial(run, f"alpha.{arm}.r1")
            path = found.step_evidence(step).task.stdout
            for n in range(len(Transcript(path))):
                assert text.count(f'id="{mark}{n}"') == 1


def test_pages_are_safe_small_stamped_and_their_links_lead_somewhere(written):
    out, pages = written
    assert len(pages) > 3
    for name, path in pages.items():
        text = Path(path).read_text()
        assert Path(path).stat().st_size <= MAX_PAGE_BYTES
        seen = is_safe(text)
        assert "SIMULATED" in seen.text
        assert SECRET not in text
        _leads_somewhere(out / name, seen.links)


def _leads_somewhere(page: Path, links: list[str]) -> None:
    for link in links:
        target, _, anchor = link.partition("#")
        there = page.parent / target if target else page
        assert not anchor or f'id="{anchor}"' in there.read_text(), link


def test_what_is_the_same_is_folded_and_nothing_else(written):
    page = Path(written[1]["01-begin/page-1.html"]).read_text()
    assert page.count('<details class="pair same"') == page.count('class="pair same"')
    assert page.count('class="pair same"') == 4


def test_the_first_difference_is_marked_and_linked_at_the_top(written):
    _, pages = written
    index = Path(pages[INDEX]).read_text()
    assert (
        'href="01-begin/page-1.html#row2">row\N{NO-BREAK SPACE}2</a>: only full, turn 1: Read'
        in index
    )
    page = Path(pages["01-begin/page-1.html"]).read_text()
    assert page.count("pair only-left first") == 1
    assert '<div class="pair only-left first" id="row2">' in page
    assert "First difference in what was done. Row 2: only full" in page


def test_totals_stand_on_the_first_page_with_their_difference(written):
    text = is_safe(Path(written[1][INDEX]).read_text()).text
    assert "full minus baseline" in text
    assert "calls of Read20+2" in text


def test_a_row_longer_than_a_page_goes_on_and_a_shorter_export_leaves_none(
    tmp_path, monkeypatch
):
    """A row of twelve calls at once, and what they gave back."""
    places = range(12)
    calls = [sessions.call("Bash", {"command": LONG + str(n)}, f"t{n}") for n in places]
    rows = [sessions.row("user", sessions.text("go"))]
    rows += [sessions.row("assistant", *calls)]
    rows += [sessions.row("user", *(sessions.result("ok", f"t{n}") for n in places))]
    run = sessions.run(tmp_path, lambda *_: rows)
    monkeypatch.setattr(columns, "MAX_PIECE_BYTES", 400_000)
    tell = Teller(Redactor())
    left = find_trial(run, "alpha.full.r1")
    found = pair(left, find_other(left, "baseline"), tell)
    made = export_pair(found, tmp_path / "out", tell=tell)
    text = "".join(Path(page).read_text() for page in made.pages)
    assert len(made.pages) > 1
    for page in made.pages:
        _leads_somewhere(Path(page), is_safe(Path(page).read_text()).links)
    assert "(goes on)" in text
    assert all(text.count(f'id="l{n}"') == 1 for n in range(25))
    for arm in ("baseline", "full"):
        there = find_trial(run, f"alpha.{arm}.r1").step_evidence("task").task.stdout
        there.write_bytes(sessions.lines(rows[0]))
    found = pair(left, find_other(left, "baseline"), tell)
    made = export_pair(found, tmp_path / "out", tell=tell)
    kept = (tmp_path / "out").rglob("page-*.html")
    assert [str(page) for page in kept] == list(made.pages)


def test_a_step_that_one_did_not_reach_has_no_pages_and_is_said(run, tmp_path):
    tell = Teller(Redactor())
    left = find_trial(run, "alpha.full.r1")
    made = export_pair(pair(left, find_other(left, "auto"), tell), tmp_path, tell=tell)
    assert {Path(page).parent.name for page in made.pages} == {"01-begin"}
    text = is_safe(Path(made.index).read_text()).text
    assert "nothing is compared. auto: the step was not reached." in text


def test_a_terminal_is_told_what_differs_first_and_the_totals(run):
    left = find_trial(run, "alpha.full.r1")
    tell = Teller(Redactor())
    lines = pair_lines(pair(left, find_other(left, "baseline"), tell), tell)
    assert lines[0] == "alpha, repeat 1: full beside baseline"
    assert any("SIMULATED" in line for line in lines)
    assert "begin: what the agent did: 5 rows, 4 the same" in lines
    assert any(line.split() == ["turns", "18", "16", "+2"] for line in lines)
    rows = [line.split("  ") for line in lines if line.startswith("  2 ")]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells[0][0] == "2"
    assert cells[0][1].startswith("turn 1: Read README.md")
    assert cells[0][2:] == ["-", "only full"]
    assert all(line.isprintable() for line in lines)


def _show(*words: object) -> Result:
    return CliRunner().invoke(app, ["show", *map(str, words)])


def test_the_command_tells_writes_and_refuses(run):
    words = (run, "alpha.full.r1", "--beside")
    told = json.loads(_show(*words, "baseline", "--json").stdout)
    assert told["parts"][0]["first"]["row"] == 2
    assert SECRET not in json.dumps(told)
    assert (
        "first difference in what was done, row 2: only full, turn 1: Read"
        in _show(*words, "baseline").stdout
    )
    assert _show(*words, "alpha.baseline.r1", "--html").exit_code == 0
    folder = run / "transcripts" / "alpha.full.r1-beside-baseline"
    assert (folder / "01-begin" / "page-1.html").is_file()
    refused = _show(*words, "alpha.baseline.r2").exception
    assert isinstance(refused, InputError)
    assert "another arm of the block" in str(refused)
    assert _show(run, "--beside", "baseline").exit_code == 2


def test_a_run_without_a_trial_lists_its_trials(run):
    listed = _show(run).stdout.splitlines()
    assert "3 of 3 trials begun" in listed[0]
    assert "SIMULATED" in listed[1]
    assert {line.split()[0] for line in listed[2:]} == {
        f"alpha.{arm}.r1" for arm in ("full", "auto", "baseline")
    }
    assert _show(run, "--html").exit_code == 2


@pytest.mark.needs_browser
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_by_everybody_and_narrow_ones_stack(browser, written, scheme):
    _, pages = written
    for name in (INDEX, "01-begin/page-1.html"):
        with opened(browser, Path(pages[name]), color_scheme=scheme) as found:
            assert found.look("window.ran") is None
            found.look(
                "document.querySelectorAll('details').forEach(o => o.open = true)"
            )
            told = Axe().run(found.page).response["violations"]
            grave = [one for one in told if one["impact"] in {"serious", "critical"}]
            assert [(one["id"], one["nodes"][0]["html"][:200]) for one in grave] == []
            if name == INDEX:
                continue
            places = (
                "[...document.querySelector('.sides').children].map(o => o.offsetLeft)"
            )
            left, right = found.look(places)
            assert left < right
            found.page.set_viewport_size({"width": 400, "height": 800})
            left, right = found.look(places)
            assert left == right
            assert found.look("document.documentElement.scrollWidth") <= 400
