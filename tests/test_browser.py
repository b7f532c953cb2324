"""Pages in a real browser: whatever a run says, they run and load nothing; all can
be read, on a telephone, by keyboard, aloud and in print."""

from __future__ import annotations

import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pages
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

from evalkit import auditing, process, publish
from evalkit.markup import visible

pytestmark = [pytest.mark.needs_browser, pytest.mark.xdist_group("browser")]

WIDE = {"width": 1100, "height": 900}
PHONE = {"width": 420, "height": 800}
PAPER = {"width": 720, "height": 960}
"""A sheet of letter paper without its margins."""
KINDS = ("report", "audit")
each_kind = pytest.mark.parametrize("kind", KINDS)
OPEN = "document.querySelectorAll('details').forEach(one => one.open = true)"
FEW_ROWS = "document.querySelectorAll('tr:nth-child(n+3)').forEach(one => one.remove())"
"""Rows of a table are made alike, and looking at thousands takes long."""


class Published(NamedTuple):
    """Both pages of a run, and the words that each was given to show."""

    report: Path
    audit: Path
    told: dict[str, dict[str, str]]

    def page(self, kind: str) -> Path:
        return self.report if kind == "report" else self.audit


class Watched(NamedTuple):
    """An open page, and everything that it asked for, said or did.

    `sent` is what of it was on its way: the browser lets nothing go that a policy
    forbids.
    """

    page: Page
    asked: list[str]
    sent: list[str]
    said: list[str]

    def look(self, expression: str) -> Any:
        return self.page.evaluate(expression)


def published(folder: Path, say: pages.Say, name: pages.Say) -> Published:
    told, audited = pages.Told(say, name), pages.Told(say, name)
    run = pages.make(folder, told, audited)
    report = publish.publish_report(run)
    audit = auditing.publish_audit(run, folder, allow_unsandboxed=True).page
    return Published(report, audit, {"report": told.texts, "audit": audited.texts})


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Published:
    return published(tmp_path_factory.mktemp("plain"), pages.plain, pages.plain)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Published:
    folder = tmp_path_factory.mktemp("hostile")
    return published(folder, pages.hostile, pages.hostile_name)


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=process.find_program("chromium"), args=["--no-sandbox"]
        )
        yield found
        found.close()


@contextmanager
def opened(browser: Browser, page: Path, **how: Any) -> Generator[Watched]:
    """A page, opened from its file; what it asks for beside that is refused."""
    context = browser.new_context(**{"viewport": WIDE, **how})
    try:
        yield _watch(context, page)
    finally:
        context.close()


def _watch(context: BrowserContext, path: Path) -> Watched:
    own = path.as_uri()

    def answer(route: Route) -> None:
        watched.sent.append(route.request.url)
        if route.request.url == own:
            route.continue_()
        else:
            route.abort()

    watched = Watched(context.new_page(), [], [], [])
    context.route("**/*", answer)
    context.on("request", lambda request: watched.asked.append(request.url))
    context.on("page", lambda page: watched.said.append(f"opened {page.url}"))
    page = watched.page
    page.on("console", lambda message: watched.said.append(message.text))
    page.on("pageerror", lambda error: watched.said.append(str(error)))
    page.on("websocket", lambda socket: watched.asked.append(socket.url))
    page.on("dialog", lambda dialog: (watched.said.append("dialog"), dialog.dismiss()))
    page.goto(own)
    return watched


def flat(text: str) -> str:
    """A text as it reads: however its spaces and lines are."""
    return " ".join(text.split())


def await_true(found: Watched, expression: str) -> None:
    """Ask again until it holds: the page's policy allows no waiting inside of it."""
    last = time.monotonic() + 5
    while not found.look(expression):
        assert time.monotonic() < last, expression


def bare(folder: Path, payload: str) -> Path:
    """A page that guards against nothing."""
    page = folder / "bare.html"
    page.write_text(f"<!doctype html><title>bare</title><body>{payload}")
    return page


# --- nothing runs, nothing loads ----------------------------------------------


def test_the_payloads_do_what_they_are_feared_for(browser, tmp_path):
    """Else that nothing happens would tell nothing."""
    with opened(browser, bare(tmp_path, "")) as found:
        page = found.page
        for payload in pages.RUNNING:
            bare(tmp_path, payload)
            page.reload()
            if "href='javascript:" in payload:
                page.click("a")
            page.wait_for_function("window.ran === 1", timeout=5000)
        for payload in (*pages.LOADING, *pages.LEAVING):
            bare(tmp_path, payload)
            with page.expect_request("http://example.invalid/**", timeout=5000):
                page.reload(wait_until="commit")
    for payload in pages.SWALLOWING[:4]:
        with opened(browser, bare(tmp_path, f"{payload} the end")) as found:
            assert flat(found.look("document.body.innerText")) != f"{payload} the end"


@each_kind
def test_a_hostile_page_runs_nothing_and_asks_for_nothing(browser, hostile, kind):
    path = hostile.page(kind)
    with opened(browser, path) as found:
        title = found.page.title()
        found.look(OPEN)
        found.page.wait_for_load_state("networkidle")
        assert found.asked == [path.as_uri()]
        assert found.said == []
        assert found.look("window.ran") is None
        assert found.page.title() == title
        assert found.page.url == path.as_uri()
        assert len(found.page.frames) == 1


@each_kind
def test_nothing_in_a_hostile_page_could_run_load_or_lead_away(browser, hostile, kind):
    """As the browser itself has read it."""
    with opened(browser, hostile.page(kind)) as found:
        acting = found.look("""[...document.querySelectorAll('*')].filter(one =>
            one.matches('script, iframe, object, embed, link, base, form, template')
            || one.matches('meta[http-equiv=refresh i]')
            || [...one.attributes].some(said => said.name.startsWith('on')
              || /^(src|href|xlink:href|action|data)$/.test(said.name)
                 && !said.value.startsWith('#'))
        ).map(one => one.outerHTML.slice(0, 200))""")
        assert acting == []


def test_the_policy_alone_lets_nothing_run_or_load(browser, hostile, tmp_path):
    """Where everything else failed. Only a refresh is nothing that a policy forbids."""
    page = tmp_path / "raw.html"
    raw = "".join((*pages.RUNNING, *pages.LOADING))
    text = hostile.audit.read_text().replace("<main>", f"<main>{raw}", 1)
    assert raw in text
    page.write_text(text)
    with opened(browser, page) as found:
        found.look("document.querySelector('a[href^=javascript]').click()")
        found.page.wait_for_load_state("networkidle")
        assert found.look("window.ran") is None
        assert found.sent == [page.as_uri()]
        assert any("Content Security Policy" in said for said in found.said)


# --- everything stays readable --------------------------------------------------


@each_kind
def test_every_hostile_word_stays_readable(browser, hostile, kind):
    with opened(browser, hostile.page(kind)) as found:
        found.look(OPEN)
        shown = flat(found.look("document.body.innerText"))
    missing = [
        name
        for name, text in hostile.told[kind].items()
        if flat(visible(text)) not in shown
    ]
    assert missing == []
    assert not re.search("[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]", shown)
    assert "Warning" not in shown


@each_kind
def test_hostile_words_neither_make_nor_swallow_an_element(
    browser, plain, hostile, kind
):
    """Letters apart, the page is that of the run which says the same in plain words."""
    shape = """[...document.querySelectorAll('body *:not(svg *)')].map(one =>
        one.tagName + ' in ' + one.parentElement.tagName)"""
    found = []
    for of in (plain, hostile):
        with opened(browser, of.page(kind)) as shown:
            found.append(shown.look(shape))
            last = shown.page.locator("h2").last
            assert last.is_visible()
    assert len(found[0]) > 200
    assert found[0] == found[1]


# --- for everybody ----------------------------------------------------------------


@each_kind
@pytest.mark.parametrize(
    ("size", "scheme", "media", "rules"),
    [
        (WIDE, "light", "screen", None),
        (PHONE, "dark", "screen", None),
        (PAPER, "light", "print", ["color-contrast"]),
    ],
    ids=["wide and light", "narrow and dark", "print"],
)
def test_nothing_keeps_anybody_from_reading(
    browser, plain, kind, size, scheme, media, rules
):
    path = plain.page(kind)
    with opened(browser, path, viewport=size, color_scheme=scheme) as found:
        found.page.emulate_media(media=media)
        found.look(OPEN)
        found.look(FEW_ROWS)
        options = {"resultTypes": ["violations"]}
        if rules:
            options["runOnly"] = rules
        told = Axe().run(found.page, options=options)
        found_wrong = [
            (one["id"], node["html"][:200], node["failureSummary"])
            for one in told.response["violations"]
            for node in one["nodes"]
        ]
        assert found_wrong == []
        assert found.asked == [path.as_uri()]


@each_kind
@pytest.mark.parametrize("words", ["plain", "hostile"])
def test_a_telephone_scrolls_sideways_only_in_tables(browser, kind, words, request):
    of = request.getfixturevalue(words)
    with opened(browser, of.page(kind), viewport=PHONE) as found:
        found.look(OPEN)
        assert found.look("document.documentElement.scrollWidth") == PHONE["width"]
        wider = found.look("""[...document.querySelectorAll('body *')]
            .filter(one => !one.closest('.evalkit-wide table, svg *'))
            .filter(one => one.getBoundingClientRect().right > innerWidth)
            .map(one => one.outerHTML.slice(0, 200))""")
        assert wider == []


def test_no_table_of_a_report_is_cut_off_where_there_is_room(browser, plain):
    with opened(browser, plain.report) as found:
        found.look(OPEN)
        cut = found.look("""[...document.querySelectorAll('.evalkit-wide')]
            .filter(box => box.scrollWidth > box.clientWidth)
            .map(box => `${box.ariaLabel}: ${box.scrollWidth}`)""")
    assert cut == []


@each_kind
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "narrow"])
def test_a_stamp_of_any_length_is_above_the_title_and_stays(browser, plain, kind, size):
    edge = "document.querySelector('{}').getBoundingClientRect().{}".format
    with opened(browser, plain.page(kind), viewport=size) as found:
        found.look(
            "document.querySelector('.evalkit-stamp').append(' more'.repeat(60))"
        )
        assert found.look(edge(".evalkit-stamp", "bottom")) < found.look(
            edge("h1", "top")
        )
        found.look("window.scrollTo(0, document.body.scrollHeight)")
        assert found.look("window.scrollY") > size["height"]
        assert found.look(edge(".evalkit-stamps", "top")) == 0


@each_kind
def test_every_table_that_overflows_scrolls_by_keyboard(browser, plain, kind):
    with opened(browser, plain.page(kind), viewport=PHONE) as found:
        found.look(OPEN)
        box = "document.querySelectorAll('.evalkit-wide')[{}]".format
        over = found.look("""[...document.querySelectorAll('.evalkit-wide')]
            .map((box, n) => box.scrollWidth > box.clientWidth ? n : -1)
            .filter(n => n >= 0)""")
        assert len(over) > 5
        for n in over:
            assert found.look(f"{box(n)}.tabIndex") == 0
            found.look(f"{box(n)}.focus()")
            found.page.keyboard.press("ArrowRight")
            await_true(found, f"{box(n)}.scrollLeft > 0")


def test_figures_shrink_and_keep_their_proportions(browser, plain):
    sizes = """[...document.querySelectorAll('figure svg')].map(svg => {
        const shown = svg.getBoundingClientRect(), made = svg.viewBox.baseVal;
        return [shown.left, shown.right, shown.width / made.width,
                shown.height / made.height]})"""
    with opened(browser, plain.report, viewport=PHONE) as found:
        found.look(OPEN)
        drawn = found.look(sizes)
    assert len(drawn) >= 11
    for left, right, across, down in drawn:
        assert left >= 0
        assert right <= PHONE["width"]
        assert across == pytest.approx(down, rel=0.01)


# --- print --------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("words", ["plain", "hostile"])
def test_in_print_all_is_open_and_nothing_cut_off(browser, kind, words, request):
    of = request.getfixturevalue(words)
    folded = """[...document.querySelectorAll('details > :not(summary)')]
        .map(one => one.checkVisibility())"""
    over = """[...document.querySelectorAll('body *:not(svg *)')]
        .filter(one => one.getBoundingClientRect().right > innerWidth + 1
                       || one.scrollWidth > one.clientWidth + 1 && one.clientWidth)
        .map(one => one.outerHTML.slice(0, 200))"""
    with opened(browser, of.page(kind), viewport=PAPER) as found:
        assert not any(found.look(folded))
        found.page.emulate_media(media="print")
        shown = found.look(folded)
        assert len(shown) > 5
        assert all(shown)
        assert found.look(over) == []


def test_what_is_folded_reaches_the_paper(browser, plain):
    with opened(browser, plain.audit) as found:
        whole = n_sheets(found.page.pdf(prefer_css_page_size=True))
        found.look("document.querySelectorAll('details').forEach(one => one.remove())")
        assert 1 < n_sheets(found.page.pdf(prefer_css_page_size=True)) < whole


def n_sheets(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))
