"""HTML pages, built as element trees: text stays text."""

from collections.abc import Iterable
from xml.etree import ElementTree as tree

from sentinel.store import Entry


def entry_page(entry: Entry) -> bytes:
    """One entry."""
    body, root = page(entry.title, "")
    tree.SubElement(body, "pre").text = entry.text
    return to_bytes(root)


def results_page(query: str, found: Iterable[Entry]) -> bytes:
    """A query and the entries it found."""
    body, root = page(f"Results for {query}", query)
    results = tree.SubElement(body, "ul")
    for entry in found:
        item = tree.SubElement(results, "li")
        tree.SubElement(item, "a", href=f"/view/{entry.number}").text = entry.title
    return to_bytes(root)


def page(heading: str, query: str) -> tuple[tree.Element, tree.Element]:
    """Body and root of a page with the search form."""
    root = tree.Element("html", lang="en")
    head = tree.SubElement(root, "head")
    tree.SubElement(head, "meta", charset="utf-8")
    tree.SubElement(head, "title").text = heading
    tree.SubElement(head, "link", rel="stylesheet", href="/files/style.css")
    body = tree.SubElement(root, "body")
    form = tree.SubElement(body, "form", action="/search")
    tree.SubElement(form, "input", name="q", value=query)
    tree.SubElement(form, "button").text = "Search"
    tree.SubElement(body, "h1").text = heading
    return body, root


def to_bytes(root: tree.Element) -> bytes:
    """The page as sent."""
    return b"<!doctype html>\n" + tree.tostring(root, "utf-8", method="html")
