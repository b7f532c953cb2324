"""HTML from elsewhere, built anew from an allowlist; and a last look at a page. Pure."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _words("br hr img col wbr")
HTML_TAGS = VOID | _words(
    "a abbr b blockquote caption code colgroup dd del details div dl dt em figcaption "
    "figure h1 h2 h3 h4 h5 h6 i ins kbd li mark ol p pre q s samp section small span "
    "strong sub summary sup table tbody td tfoot th thead tr u ul var"
)
SVG_TAGS = _words(
    "svg g path line polyline polygon rect circle ellipse text tspan defs use clipPath "
    "marker pattern title desc"
)
_SVG_BY_LOWER = {tag.lower(): tag for tag in SVG_TAGS}
_HTML_ATTRIBUTES = _words(
    "class id title lang dir alt src href colspan rowspan scope open start role "
    "headers tabindex aria-label aria-labelledby aria-describedby aria-hidden"
)
_SVG_ATTRIBUTES = _words(
    "class id role style d x y x1 x2 y1 y2 cx cy r rx ry points width height transform "
    "viewBox preserveAspectRatio fill stroke stroke-width opacity clip-path clip-rule "
    "fill-rule fill-opacity stroke-opacity stroke-dasharray stroke-linecap "
    "stroke-linejoin xlink:href href xmlns xmlns:xlink aria-labelledby text-anchor "
    "clipPathUnits patternUnits patternTransform"
)
_SVG_ATTRIBUTE_BY_LOWER = {name.lower(): name for name in _SVG_ATTRIBUTES}
_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[\w+/=\s]*\Z")
_STYLE = re.compile(r"<(/?)style\b[^<>]*>", re.IGNORECASE)
_ADDRESS = re.compile(r"url\s*\(", re.IGNORECASE)
_OWN_ADDRESS = re.compile(r"url\(\s*[\"']?(?:#[\w-]+|data:[^)]*)[\"']?\s*\)")
_PAGES = re.compile(r"transcripts/[A-Za-z0-9@_-]+(?:\.[A-Za-z0-9@_-]+)+/index\.html")
"""The only addresses outside of a page that it may lead to: the pages of a trial, in
a folder beside it. Nothing in them can be a scheme, a host, a way up or a query."""
MAX_DEPTH = 100
"""Elements inside each other; what lies deeper shows as text."""
_LOADING_TAGS = _words(
    "script iframe frame frameset object embed applet link base form input button "
    "audio video source track portal noscript template"
)
_ADDRESS_ATTRIBUTES = _words(
    "src href xlink:href srcset poster data action formaction background ping "
    "manifest imagesrcset"
)


def sanitise(source: str) -> str:
    """HTML built anew from what is allowed; everything else becomes text.

    Tags are balanced, so nothing unclosed can swallow what follows. Closed `style`
    elements and comments are left out; unclosed ones, and scripts, show as text.
    """
    cleaner = _Cleaner()
    cleaner.feed(_with_open_comments_shown(_without_styles(source)))
    cleaner.close()
    return cleaner.result()


def faults(page: str) -> list[str]:
    """What a page would run or load from elsewhere, each as `line N: what`."""
    looker = _Looker()
    looker.feed(page)
    looker.close()
    return looker.found


class _Parser(HTMLParser):
    """Takes no text as raw: where browsers differ on it, what is inside shows."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def set_cdata_mode(self, *_args: Any, **_kinds: Any) -> None:
        """Leave the mode as it is."""


class _Cleaner(_Parser):
    def __init__(self) -> None:
        super().__init__()
        self._out: list[str] = []
        self._open: list[str] = []

    def result(self) -> str:
        self._out += [f"</{tag}>" for tag in reversed(self._open)]
        self._open.clear()
        return "".join(self._out)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        in_svg = tag == "svg" or "svg" in self._open
        name = _SVG_BY_LOWER.get(tag) if in_svg else tag
        deep = len(self._open) >= MAX_DEPTH
        if name is None or deep or not (in_svg or tag in HTML_TAGS):
            self._out.append(html.escape(self.get_starttag_text() or ""))
            return
        kept = "".join(
            _attribute(name, key, value, in_svg=in_svg) for key, value in attrs
        )
        self._out.append(f"<{name}{kept}>")
        if name not in VOID:
            self._open.append(name)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if "svg" in self._open:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        name = _SVG_BY_LOWER.get(tag, tag) if "svg" in self._open else tag
        if name in self._open:
            while (last := self._open.pop()) != name:
                self._out.append(f"</{last}>")
            self._out.append(f"</{name}>")

    def handle_data(self, data: str) -> None:
        self._out.append(html.escape(data))

    def handle_decl(self, decl: str) -> None:
        self._out.append(html.escape(f"<!{decl}>"))

    def handle_pi(self, data: str) -> None:
        self._out.append(html.escape(f"<?{data}>"))

    def unknown_decl(self, data: str) -> None:
        self._out.append(html.escape(f"<![{data}]>"))


def _without_styles(source: str) -> str:
    """Without `style` elements that are closed; in one pass, whatever comes."""
    kept: list[str] = []
    done, opened = 0, None
    for tag in _STYLE.finditer(source):
        if not tag[1]:
            opened = tag.start() if opened is None else opened
        elif opened is not None:
            kept.append(source[done:opened])
            done, opened = tag.end(), None
    return "".join([*kept, source[done:]])


def _with_open_comments_shown(source: str) -> str:
    last = source.rfind("-->") + 1
    return source[:last] + source[last:].replace("<!--", "&lt;!--")


def _attribute(tag: str, key: str, value: str | None, *, in_svg: bool) -> str:
    allowed = _SVG_ATTRIBUTE_BY_LOWER if in_svg else {k: k for k in _HTML_ATTRIBUTES}
    name, text = allowed.get(key), value or ""
    if name is None:
        return ""
    if key in {"href", "xlink:href"} and not (
        text.startswith("#") or _leads_to_pages(tag, key, text)
    ):
        return ""
    if key == "src" and not _IMAGE.match(text):
        return ""
    if "\\" in text and key == "style":
        return ""
    if _ADDRESS.search(text) and _foreign(text):
        return ""
    return f' {name}="{html.escape(text)}"'


def _leads_to_pages(tag: str, key: str, text: str) -> bool:
    return (tag, key) == ("a", "href") and bool(_PAGES.fullmatch(text))


def _foreign(text: str) -> bool:
    """True where a style names an address outside the page."""
    return bool(_ADDRESS.search(_OWN_ADDRESS.sub("", text)))


class _Looker(_Parser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = self._in_style or tag == "style"
        if tag in _LOADING_TAGS:
            self._tell(f"<{tag}>")
        for key, value in attrs:
            text = (value or "").strip()
            loads = key in _ADDRESS_ATTRIBUTES and not (
                text.startswith("#")
                or _IMAGE.match(text)
                or _leads_to_pages(tag, key, value or "")
            )
            if key.startswith("on") or loads:
                self._tell(f'{key}="{text[:60]}" on <{tag}>')
            if key == "http-equiv" and text.lower() == "refresh":
                self._tell("a refresh")
            if key == "style" and (_foreign(text) or "@import" in text):
                self._tell(f"a style that loads on <{tag}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "style":
            self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style and ("@import" in data or _foreign(data)):
            self._tell("a style sheet that loads")

    def handle_comment(self, data: str) -> None:
        if data.startswith((">", "->")) or "--!>" in data:
            self._tell("a comment that browsers end early")

    def _tell(self, what: str) -> None:
        self.found.append(f"line {self.getpos()[0]}: {what}")
