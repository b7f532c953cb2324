"""Markdown of a transcript as HTML that leads nowhere and loads nothing.

Two libraries, one after the other: markdown-it takes HTML for text, and nh3 builds
anew from an allowlist what it made. Links and pictures are told, with their address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from evalkit.markup import escape, visible

MAX_CHARS = 50_000
"""Characters of a text that is read as Markdown; a longer one is shown as it is."""
MAX_GROWTH = 8
"""Bytes of HTML for a character; what grows more was written to grow."""
_HEADINGS = {"h1": "h3", "h2": "h4", "h3": "h5"}
_TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol"),
    *("li", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}


def prose(text: str) -> str:
    """A text that may be Markdown, as HTML."""
    shown = visible(text)
    if len(shown) <= MAX_CHARS:
        made = nh3.clean(
            _reader.render(shown, {}), tags=_TAGS, attributes={"ol": {"start"}}
        )
        if len(made) <= 500 + MAX_GROWTH * len(shown):
            return f'<div class="prose">{made}</div>'
    return f'<div class="prose"><pre>{escape(text)}</pre></div>'


def _lower_heading(_: Any, tokens: Sequence[Token], n: int, *_rest: Any) -> str:
    token = tokens[n]
    tag = _HEADINGS.get(token.tag, "h6")
    return f"<{tag}>" if token.nesting > 0 else f"</{tag}>\n"


def _open_link(_: Any, tokens: Sequence[Token], n: int, _o: Any, env: Any) -> str:
    env.setdefault("links", []).append((str(tokens[n].attrGet("href")), n))
    return ""


def _close_link(_: Any, tokens: Sequence[Token], n: int, _o: Any, env: Any) -> str:
    address, start = env["links"].pop()
    said = "".join(token.content for token in tokens[start:n])
    return "" if said == address else f" ({escape(address)})"


def _picture(_: Any, tokens: Sequence[Token], n: int, *_rest: Any) -> str:
    address = str(tokens[n].attrGet("src"))[:MAX_ADDRESS]
    return escape(f"[picture: {tokens[n].content or 'no words'}, {address}]")


MAX_ADDRESS = 300


def _make_reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(
        ["table", "strikethrough"]
    )
    for name, rule in (
        ("heading_open", _lower_heading),
        ("heading_close", _lower_heading),
        ("link_open", _open_link),
        ("link_close", _close_link),
        ("image", _picture),
    ):
        reader.add_render_rule(name, rule)
    return reader


_reader = _make_reader()
