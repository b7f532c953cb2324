"""One item of a transcript as HTML: the one renderer of pages and of the widget."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from evalkit import wording
from evalkit.explore.diff import diff_html
from evalkit.explore.given import Edit, edits_of, main_argument
from evalkit.explore.items import Facet, Image, Item, ItemKind
from evalkit.explore.prose import prose
from evalkit.explore.telling import MAX_LINE, Teller
from evalkit.explore.terminal import colours_left_on, terminal
from evalkit.markup import escape

MAX_BYTES = 1_000_000
"""Of one item; what would be longer is told with fewer characters."""
RAW_SHARE = 50
"""How much less is told of a line as it stands than of a text that was said."""
N_OPEN_LINES, N_OPEN_CHARS = 14, 2000
"""Of output: what stands open before the rest is folded."""
N_OPEN_PROSE = {ItemKind.SUMMARY: 600, ItemKind.SKILL: 600, ItemKind.THINKING: 1500}
N_OPEN_TALK, N_OPEN_SYSTEM = 6000, 160
SHAPES = {
    ItemKind.USER: "\N{BLACK CIRCLE}",
    ItemKind.ASSISTANT: "\N{BLACK SQUARE}",
    ItemKind.THINKING: "\N{WHITE CIRCLE}",
    ItemKind.CALL: "\N{BLACK RIGHT-POINTING TRIANGLE}",
    ItemKind.RESULT: "\N{WHITE LEFT-POINTING TRIANGLE}",
    ItemKind.ERROR: "\N{HEAVY MULTIPLICATION X}",
    ItemKind.SUBAGENT: "\N{BLACK DIAMOND}",
    ItemKind.SKILL: "\N{BLACK STAR}",
    ItemKind.SUMMARY: "\N{IDENTICAL TO}",
    ItemKind.SYSTEM: "\N{MIDDLE DOT}",
    ItemKind.UNKNOWN: "?",
}
"""The mark of each kind, beside its word."""
_NOTED = (
    (Facet.ERROR, "error"),
    (Facet.EDIT, "edit"),
    (Facet.SKILL, "skill"),
    (Facet.LAUNCH, "sub-agent"),
    (Facet.SUMMARY, "summary"),
)
_TIME = re.compile(r"([\d-]{10})T([\d:]{8})")
_TALK = Facet.USER | Facet.ASSISTANT | Facet.THINKING | Facet.SUMMARY | Facet.SKILL


class Entry(NamedTuple):
    """An item that contents list: its number, what it is, when, and a line of it."""

    n: int
    what: str
    time: str
    line: str


class Article(NamedTuple):
    """An item as HTML, a line of it, and its entry in the contents, if it has one."""

    n: int
    html: str
    line: str
    entry: Entry | None


class Renderer:
    """Renders items; results are tied to the calls that were rendered or noted before.

    Args:
        tell: What texts go through.
        mark: What the anchors of items begin with, before their numbers.
    """

    def __init__(self, tell: Teller, mark: str = "m") -> None:
        self._tell = tell
        self._mark = mark
        self._calls: dict[str, tuple[int, str]] = {}

    def article(self, item: Item, spent: str = "") -> Article:
        """An item whole, as far as its texts may be told.

        Args:
            item: What to render.
            spent: What its request used; see `Spending.line`.
        """
        line = self._line(item)
        self.note(item)
        made = self._article(item, self._tell, line, spent)
        fewer = self._tell.max_chars
        while (size := len(made.encode(errors="replace"))) > MAX_BYTES and fewer > 1000:
            fewer = min(fewer // 2, fewer * MAX_BYTES // (2 * size))
            with self._tell.at_most(fewer) as tell:
                made = self._article(item, tell, line, spent)
        return Article(item.n, made, line, self._entry(item, line))

    def note(self, item: Item) -> None:
        """Remember a call, so that its result can be tied to it."""
        if item.tool_use_id and item.facets & Facet.CALL:
            self._calls[item.tool_use_id] = (item.n, self._tell.name(item.tool))

    def knows_call_of(self, item: Item) -> bool:
        """False where an item is the result of a call that was not met."""
        is_result = item.facets & Facet.RESULT and item.tool_use_id
        return not is_result or item.tool_use_id in self._calls

    def _article(self, item: Item, tell: Teller, line: str, spent: str) -> str:
        classes = [item.kind.value.replace(" ", "-")]
        classes += [name for bit, name in _CLASSES if item.facets & bit]
        images = [self._image(image) for image in item.images]
        body = "".join((self._body(item, tell), *images))
        foot = f'<footer class="spent">{escape(spent)}</footer>' if spent else ""
        return (
            f'<article id="{self._mark}{item.n}" class="item {" ".join(dict.fromkeys(classes))}">'
            f"{self._header(item, line)}{body}{foot}</article>\n"
        )

    def _header(self, item: Item, line: str) -> str:
        name = self._tell.name
        kind = f"{SHAPES[item.kind]} {item.kind.value}"
        parts = [
            f'<a class="n" href="#{self._mark}{item.n}">#{item.n}</a>',
            f'<span class="kind">{escape(kind)}</span>',
        ]
        if item.tool:
            parts.append(f"<b>{escape(name(item.tool))}</b>")
        parts += [f'<span class="flag">{escape(f)}</span>' for f in _flags(item)]
        parts += self._of_call(item)
        if item.facets & Facet.SUBAGENT or item.agent:
            whose = name(item.agent or item.parent) or "a sub-agent"
            parts.append(f'<span class="agent">by sub-agent {escape(whose)}</span>')
        if item.facets & Facet.CALL and line:
            parts.append(f'<span class="line">{escape(line)}</span>')
        where = f"line {item.line:,}"
        about = (when(item), name(item.model), name(item.row), where)
        said = " \N{MIDDLE DOT} ".join(text for text in about if text)
        parts.append(f'<span class="meta">{escape(said)}</span>')
        return f"<header>{' '.join(parts)}</header>"

    def _of_call(self, item: Item) -> list[str]:
        found = self._calls.get(item.tool_use_id or "")
        if not item.facets & Facet.RESULT or found is None:
            return []
        n, tool = found
        return [f'of <a href="#{self._mark}{n}">{escape(tool)} #{n}</a>']

    def _line(self, item: Item) -> str:
        """What an item is about, in a line."""
        text = item.text
        if item.facets & Facet.CALL:
            text = main_argument(item.input)
        first = next((row for row in text[:4000].splitlines() if row.strip()), "")
        return self._tell.line(first)

    def _image(self, image: Image) -> str:
        kind = escape(self._tell.name(image.media_type) or "a picture")
        said = f"[image: {kind}, {wording.n_of(image.n_bytes, 'byte')}; not shown]"
        return f'<p class="meta">{said}</p>'

    def _entry(self, item: Item, line: str) -> Entry | None:
        is_prompt = item.facets & Facet.USER and not item.facets & Facet.SUBAGENT
        words = ["prompt"] if is_prompt else []
        words += [word for bit, word in _NOTED if item.facets & bit]
        if not words:
            return None
        said = f"{self._tell.name(item.tool)}: {line}" if item.tool else line
        return Entry(item.n, words[0], when(item), said)

    def _body(self, item: Item, tell: Teller) -> str:
        if item.facets & Facet.CALL:
            edits = edits_of(item.tool, item.input)
            if edits:
                named = len(edits) > 1
                return "".join(_edit(edit, tell, named=named) for edit in edits)
            return _given(item, tell)
        if not item.text:
            return ""
        if item.is_raw:
            with tell.at_most(tell.max_chars // RAW_SHARE, again=False):
                text = tell(item.text)
        else:
            text = tell(item.text)
        if item.facets & _TALK and not item.facets & (Facet.RESULT | Facet.BAD):
            return _talk(item.kind, text)
        made = output(text)
        if item.kind is ItemKind.SYSTEM and len(text) > N_OPEN_SYSTEM:
            said = f"{wording.n_of(len(text), 'character')} of the CLI's own"
            return f"<details><summary>{said}</summary>{made}</details>"
        return made


def when(item: Item) -> str:
    """The time of an item to the second; empty where its row tells none."""
    found = _TIME.match(item.time or "")
    return f"{found[1]} {found[2]}" if found else ""


def output(text: str) -> str:
    """A text as a program wrote it; what is long is folded after its first lines."""
    if not text.strip():
        return '<p class="meta">(nothing but blanks)</p>' if text else ""
    kind = "terminal" if "\x1b" in text else "output"
    first, rest = _split(text)
    opened = f'<pre class="{kind}">{terminal(first)}</pre>'
    if not rest:
        return opened
    left = terminal(colours_left_on(first) + rest)
    said = _more(rest)
    return (
        f"{opened}<details><summary>{said}</summary>"
        f'<pre class="{kind}">{left}</pre></details>'
    )


_CLASSES = (
    (Facet.ERROR, "error"),
    (Facet.SUBAGENT, "of-sub-agent"),
    (Facet.EDIT, "edit"),
    (Facet.SKILL, "skill"),
)


def _flags(item: Item) -> list[str]:
    words = [f"{SHAPES[ItemKind.ERROR]} error"] if item.facets & Facet.ERROR else []
    if item.facets & Facet.BAD:
        words.append("no row")
    if item.facets & Facet.EDIT:
        words.append("\N{LOWER RIGHT PENCIL} edit")
    known = item.kind.value
    return [word for word in words if not word.endswith(known)]


def _talk(kind: ItemKind, text: str) -> str:
    if "\x1b" in text:
        return output(text)
    made = prose(text)
    if len(text) <= N_OPEN_PROSE.get(kind, N_OPEN_TALK):
        return made
    first = " ".join(text[:300].split())[:MAX_LINE]
    said = f"{first}... ({len(text):,} characters)"
    return f"<details><summary>{escape(said)}</summary>{made}</details>"


def _given(item: Item, tell: Teller) -> str:
    """What a tool was given: texts of many lines as they are, the rest as JSON."""
    given = item.input
    if given is None or isinstance(given, str):
        return output(tell(given or item.text))
    texts: dict[str, str] = {}
    if isinstance(given, dict):
        texts = {k: v for k, v in given.items() if isinstance(v, str) and "\n" in v}
        given = {key: value for key, value in given.items() if key not in texts}
    parts = [output(tell(_json(given)))] if given else []
    for key, text in texts.items():
        parts.append(
            f'<p class="meta">{escape(tell.name(key))}</p>{output(tell(text))}'
        )
    return "".join(parts)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _edit(edit: Edit, tell: Teller, *, named: bool) -> str:
    new = None if edit.new is None else tell(edit.new)
    lines = edit._replace(old=tell(edit.old), new=new).lines
    path = tell.name(edit.path) if named else ""
    about = ": ".join(part for part in (path, tell.name(edit.note)) if part)
    said = f'<p class="meta">{escape(about)}</p>' if about else ""
    return said if lines is None else said + diff(lines)


def diff(lines: list[str]) -> str:
    """Lines of a diff; what is long is folded after its first lines."""
    n_open = 2 * N_OPEN_LINES
    # A few lines more are read sooner than they are opened.
    n_open = len(lines) if len(lines) < n_open + N_OPEN_LINES else n_open
    first, rest = lines[:n_open], lines[n_open:]
    opened = f'<pre class="diff">{diff_html(first)}</pre>'
    if not rest:
        return opened if lines else '<p class="meta">(no line differs)</p>'
    return (
        f"{opened}<details><summary>{wording.n_of(len(rest), 'more line')}</summary>"
        f'<pre class="diff">{diff_html(rest)}</pre></details>'
    )


def _split(text: str) -> tuple[str, str]:
    """What stands open of an output, and the rest."""
    end = 0
    for _ in range(N_OPEN_LINES):
        end = text.find("\n", end) + 1
        if not end:
            end = len(text)
            break
    # A few lines more are read sooner than they are opened.
    if len(text) - end < N_OPEN_CHARS // 8 and len(text) <= N_OPEN_CHARS:
        end = len(text)
    end = min(end, N_OPEN_CHARS)
    return text[:end], text[end:]


def _more(rest: str) -> str:
    n = rest.count("\n") + (not rest.endswith("\n"))
    return f"{wording.n_of(n, 'more line')} ({len(rest):,} characters)"
