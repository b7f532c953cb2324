"""The explorer in a real JupyterLab: read, search, jump, compare; nothing runs."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import lab
import pages
import pytest
import sessions
import test_browser
import test_explore_page
from axe_playwright_python.sync_playwright import Axe
from conftest import REPOSITORY
from playwright.sync_api import Browser, Locator, Page, expect
from test_browser import flat

from evalkit.markup import visible

pytestmark = [pytest.mark.needs_browser, pytest.mark.xdist_group("browser")]

browser = test_browser.browser
N_MESSAGES = 50_000
MAX_ROWS = 80
"""Of the list that are in the page at once."""
FRAMES = "new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))"
"""A list draws in the frame after it was scrolled."""
LIST = ".explorer .panes > .scroll"
KNOWN = "alpha.full.r2"
"""A secret that the kernel knows by its value."""
WIDE = {"width": 1300, "height": 1100}


class Shown(NamedTuple):
    """The explorer in Lab, and what its page asked of others or failed at."""

    page: Page
    seen: lab.Seen
    root: Path

    @property
    def rows(self) -> Locator:
        return self.page.locator(".explorer .row.item")

    @property
    def status(self) -> Locator:
        return self.page.locator(".explorer > .status")

    def open(self, path: Path) -> None:
        """A file by its path; waits until its first item is there."""
        self.page.locator(".explorer .standing").evaluate(
            "one => one.replaceChildren()"
        )
        self.page.fill(".explorer [name=file]", str(path))
        self.page.press(".explorer [name=file]", "Enter")
        expect(self.page.locator(".explorer .standing")).to_contain_text(str(path))
        expect(self.rows.first).to_be_visible()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A root with a run, the notebook, and sessions to open."""
    made = tmp_path_factory.mktemp("lab")
    sessions.run(made, told, repeats=2)
    shutil.copy(REPOSITORY / "notebooks" / "transcripts.ipynb", made)
    shutil.copy(test_explore_page.REAL / "cc-2.1.33-opus46-tool-errors.jsonl", made)
    rows = [row for one in pages.PAYLOADS for row in test_explore_page._everywhere(one)]
    test_explore_page._session(made / "hostile.jsonl", *rows)
    _long(made / "long.jsonl")
    return made


def told(key, _):
    """Arms do the same at first."""
    edit = {"file_path": "a.py", "old_string": "two", "new_string": key.arm}
    deeds = (
        ("Bash", {"command": "ls"}, f"what was done <in> {key}"),
        ("Edit", edit),
        *(
            [("Bash", {"command": "make"}, "make: no rule")]
            if key.arm == "full"
            else ()
        ),
        "well done",
    )
    return sessions.acts(*deeds)


def _long(path: Path) -> None:
    """A session of many messages, of one to thirty lines each."""
    draw = random.Random(1)
    with path.open("w") as file:
        for n in range(N_MESSAGES):
            kind = ("user", "assistant")[n % 2]
            lines = "\n\n".join(
                f"message {n} says line {k}"
                for k in range(draw.choice((1, 1, 2, 9, 30)))
            )
            row = sessions.row(kind, sessions.text(lines))
            file.write(json.dumps(row) + "\n")


@pytest.fixture(scope="module")
def shown(browser: Browser, root: Path, tmp_path_factory) -> Generator[Shown]:
    home = tmp_path_factory.mktemp("home")
    context = browser.new_context(viewport=WIDE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KNOWN_TOKEN", KNOWN)
        with lab.serving(home, root) as served:
            seen = lab.opened(context, served, "transcripts.ipynb")
            seen.page.locator(".explorer").wait_for(timeout=120_000)
            seen.page.locator(".explorer").scroll_into_view_if_needed()
            yield Shown(seen.page, seen, root)
            context.close()


def test_a_trial_is_chosen_and_read_with_its_checks_beside(shown):
    page, run = shown.page, next((shown.root / "runs").iterdir()).name
    page.select_option(".explorer [name=run]", run)
    expect(page.locator(".explorer .standing")).to_contain_text("alpha.full.r1")
    expect(page.locator(".explorer .stamp")).to_be_visible()
    page.select_option(".explorer [name=arm]", "baseline")
    page.select_option(".explorer [name=repeat]", "2")
    expect(shown.rows.nth(2)).to_contain_text("what was done <in> alpha.baseline.r2")
    page.locator(LIST).focus()
    shown.press("c")
    chosen = page.locator(".explorer .beside tr.chosen")
    expect(chosen).to_contain_text("edge")
    page.click(".explorer [data-what=workspace]")
    expect(page.locator(".explorer .beside")).to_contain_text("+TWO")
    page.click(".explorer [data-what=routing]")
    expect(page.locator(".explorer .beside")).to_contain_text("skill-a")
    shown.press("b")


def test_two_arms_stand_side_by_side_and_part_where_it_is_marked(shown):
    page, run = shown.page, next((shown.root / "runs").iterdir()).name
    page.select_option(".explorer [name=run]", run)
    expect(page.locator(".explorer .standing")).to_contain_text("alpha.full.r1")
    page.locator(LIST).focus()
    shown.press("3", "G")
    expect(shown.status).to_contain_text("#7 · 8 of 8 ")
    page.select_option(".explorer [name=beside]", "auto")
    rows = page.locator(".explorer .row.pair")
    expect(page.locator(".explorer .parting")).to_contain_text("Edit a.py")
    page.click(".explorer .parting button")
    current = page.locator(".explorer .row.pair[aria-current=true]")
    expect(current).to_have_class(re.compile(r"\bfirst\b"))
    columns = current.locator(".side")
    expect(columns.nth(0)).to_contain_text("+full")
    expect(columns.nth(1)).to_contain_text("+auto")
    shown.press("x")
    expect(current).to_contain_text("only full")
    expect(current).to_contain_text("make: no rule")
    expect(rows.first).to_be_attached()
    page.click(".explorer .totals summary")
    errors = page.locator(".explorer .totals tr", has_text="errors")
    expect(errors).to_have_text("errors21+1")
    page.click(".explorer >> text=close the comparison")
    expect(shown.rows.last).to_be_visible()
    expect(shown.status).to_contain_text("#7 · 8 of 8 ")
    page.locator(LIST).focus()
    shown.press("2")


def test_everybody_can_use_it(shown):
    """As far as a program can tell; in the dark too, see below."""
    shown.open(shown.root / "cc-2.1.33-opus46-tool-errors.jsonl")
    assert kept_out(shown.page) == []


def kept_out(page: Page) -> list[tuple[str, str]]:
    """What keeps somebody from reading or acting: the rule and the element."""
    ready(page)
    expect(page.locator(".explorer .row a").first).to_be_visible()
    told = Axe().run(page, context="[data-lm-suppress-shortcuts]").response
    looked_at = {one["id"] for one in told["passes"]}
    assert looked_at >= {"select-name", "button-name", "color-contrast", "link-name"}
    return [
        (one["id"], node["html"][:200])
        for one in told["violations"]
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]


def test_the_keys_move_jump_and_search_and_leave_lab_s_cells_alone(shown):
    shown.open(shown.root / "cc-2.1.33-opus46-tool-errors.jsonl")
    page = shown.page
    n_cells = page.locator(".jp-Cell").count()
    page.locator(LIST).focus()
    shown.press("j", "j", "k")
    expect(shown.status).to_contain_text("#1 ")
    shown.press("e")
    current = page.locator(".explorer [aria-current=true]")
    expect(current).to_have_class(re.compile(r"\berror\b"))
    first = current.get_attribute("data-n")
    shown.press("e")
    expect(current).not_to_have_attribute("data-n", first)
    shown.press("E")
    expect(current).to_have_attribute("data-n", first)
    shown.press("d", "d")
    expect(current).to_have_class(re.compile(r"\bedit\b"))
    shown.press("/")
    page.keyboard.type("exit code 1")
    shown.press("Enter")
    expect(page.locator(".explorer .count")).to_contain_text("1 of 7 hits")
    shown.press("Escape", "n")
    expect(page.locator(".explorer .count")).to_contain_text("2 of 7 hits")
    expect(current).to_contain_text("Exit code 1")
    assert page.locator(".jp-Cell").count() == n_cells


def test_kinds_and_levels_choose_what_is_shown(shown):
    shown.open(shown.root / "cc-2.1.33-opus46-tool-errors.jsonl")
    page = shown.page
    page.click(".explorer [data-kind=error]")
    expect(shown.status).to_contain_text("1 of 13 ")
    expect(shown.rows.first).to_have_class(re.compile(r"\berror\b"))
    page.click(".explorer [data-kind=error]")
    expect(shown.status).to_contain_text("of 218 ")
    page.locator(LIST).focus()
    shown.press("1")
    body = page.locator(".explorer .row:not(.folded)")
    expect(body).to_have_count(0)
    shown.press("o")
    expect(body).to_have_count(1)
    shown.press("3")
    closed = page.locator(".explorer .row details:not([open])")
    expect(closed).to_have_count(0)
    shown.press("2")
    expect(closed.first).to_be_attached()


def test_payloads_run_nothing_and_every_one_can_be_read(shown):
    shown.open(shown.root / "hostile.jsonl")
    page = shown.page
    page.locator(LIST).focus()
    shown.press("3")
    texts: dict[int, str] = {}
    n = int(re.search(r" of (\d+) ", shown.status.inner_text())[1])
    while n - 1 not in texts:
        texts |= ready(page)
        page.locator(LIST).focus()
        shown.press("PageDown")
    text = flat(" ".join(texts.values()))
    for payload in pages.PAYLOADS:
        plain = visible(re.sub(r"\x1b\[[0-9;]*m", "", payload))
        assert flat(f"a result {plain} and more") in text
    assert page.evaluate("window.ran") is None
    shown.press("2")


def ready(page: Page) -> dict[int, str]:
    """Texts of the rows in the page by their number, as soon as none is awaited."""
    page.evaluate(FRAMES)
    page.wait_for_function(
        "!document.querySelector('.jp-Notebook [data-lm-suppress-shortcuts]')"
        ".shadowRoot.querySelector('.pending')"
    )
    found = page.evaluate("""[...document.querySelector(
        '.jp-Notebook [data-lm-suppress-shortcuts]').shadowRoot.querySelectorAll('.row')
        ].map(row => [row.dataset.index, row.innerText])""")
    return {int(index): text for index, text in found}


def test_fifty_thousand_messages_are_scrolled_from_first_to_last(shown):
    shown.open(shown.root / "long.jsonl")
    page = shown.page
    most, last = 0, -1
    page.locator(LIST).focus()
    while last < N_MESSAGES - 1:
        rows = ready(page)
        assert all(f"message {n} says line 0" in text for n, text in rows.items())
        assert max(rows) > last
        most, last = max(most, len(rows)), max(rows)
        page.evaluate("""() => {
            const list = document.querySelector(
                '.jp-Notebook [data-lm-suppress-shortcuts]'
            ).shadowRoot.querySelector('.panes > .scroll');
            list.scrollTop += list.scrollHeight / 50;
        }""")
    shown.press("G")
    expect(shown.status).to_contain_text(f"#{N_MESSAGES - 1} ")
    assert f"message {N_MESSAGES - 1} says line 0" in ready(page)[N_MESSAGES - 1]
    assert most <= MAX_ROWS
    shown.press("g")
    expect(shown.status).to_contain_text("#0 ")


def test_a_hit_deep_in_an_item_is_brought_into_sight(shown):
    shown.open(shown.root / "long.jsonl")
    page = shown.page
    page.fill(".explorer [type=search]", "says line 29")
    page.press(".explorer [type=search]", "Enter")
    count = page.locator(".explorer .count")
    expect(count).to_have_text(re.compile(r"^1 of [\d,]+ hits$"), timeout=30_000)
    hit = page.locator(".explorer [aria-current=true] >> text=says line 29")
    expect(hit).to_be_in_viewport()


def test_a_click_on_the_strip_goes_there(shown):
    shown.open(shown.root / "long.jsonl")
    strip = shown.page.locator(".explorer .strip canvas")
    expect(strip).to_be_visible()
    box = strip.bounding_box()
    strip.click(position={"x": box["width"] / 2, "y": 20})
    expect(shown.status).to_contain_text(f"#{N_MESSAGES // 2} ")
    expect(strip).to_have_attribute("aria-valuenow", str(N_MESSAGES // 2))
    strip.press("ArrowRight")
    expect(strip).not_to_have_attribute("aria-valuenow", str(N_MESSAGES // 2))


def test_a_file_that_changed_is_told_and_can_be_opened_again(shown, tmp_path):
    path = Path(shutil.copy(shown.root / "long.jsonl", tmp_path))
    shown.open(path)
    page = shown.page
    with path.open("a") as file:
        file.write("\n")
    page.locator(LIST).focus()
    shown.press("G")
    expect(page.locator(".explorer .fault")).to_contain_text("it has changed")
    page.click(".explorer .fault button >> text=Open it again")
    expect(page.locator(".explorer .fault")).to_be_hidden()
    expect(shown.rows.first).to_be_visible()


def test_what_became_of_an_attempt_is_told_anew_where_secrets_are_hidden(shown):
    page, run = shown.page, next((shown.root / "runs").iterdir()).name
    page.select_option(".explorer [name=run]", run)
    page.select_option(".explorer [name=arm]", "full")
    page.select_option(".explorer [name=repeat]", "2")
    standing = page.locator(".explorer .standing")
    expect(standing).to_contain_text(KNOWN)
    page.get_by_label("hide secrets").check()
    expect(standing).not_to_contain_text(KNOWN)
    page.get_by_label("hide secrets").uncheck()
    expect(standing).to_contain_text(KNOWN)


def test_it_is_dark_where_lab_is(shown):
    page = shown.page
    ground = "getComputedStyle(document.querySelector('.jp-Notebook [data-lm-suppress-shortcuts]').shadowRoot.querySelector('.explorer')).backgroundColor"
    light = page.evaluate(ground)
    page.evaluate(
        "window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
    )
    page.wait_for_function(f"{ground} !== '{light}'")
    assert kept_out(page) == []
    page.evaluate(
        "window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})"
    )
    page.wait_for_function(f"{ground} === '{light}'")


def test_nothing_was_asked_of_others_and_nothing_failed(shown):
    """Of all that this module did."""
    assert shown.seen.asked == []
    assert shown.seen.faults == []
