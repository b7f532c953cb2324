"""HTML pages."""

from collections.abc import Sequence
from html import escape

from sentinel.store import Paste

LAYOUT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="stylesheet" href="/files/style.css">
</head>
<body>
<form action="/search"><input name="q" value="{query}"><button>Search</button></form>
<h1>{title}</h1>
{content}
</body>
</html>
"""


def paste_page(paste: Paste) -> str:
    """A paste for people."""
    return LAYOUT.format(
        title=escape(paste.title),
        query="",
        content=f"<pre>{escape(paste.text)}</pre>",
    )


def search_page(query: str, found: Sequence[Paste]) -> str:
    """A query and what it found."""
    items = "\n".join(
        f'<li><a href="/view/{paste.id}">{escape(paste.title)}</a></li>'
        for paste in found
    )
    return LAYOUT.format(
        title=escape(f"Results for {query}"),
        query=escape(query),
        content=f"<ul>\n{items}\n</ul>" if found else "<p>Nothing found.</p>",
    )
