"""The commands that write and read documents for others."""

import json
from io import open as open_file

from forge.book import Book, Page
from forge.commands import Command
from forge.errors import Refusal
from forge.words import composed, follows_rule

VERSION = 1


class Conflicts(Exception):
    """Some pages of an import were not taken; the others were."""

    def __init__(self, summary: str, names: list[str]) -> None:
        super().__init__(summary)
        self.names = names


class Export(Command):
    usage = "export"

    def on(self, book: Book) -> str:
        pages = [{"name": p.name, "text": p.text, "tags": p.tags} for p in book]
        return json.dumps({"version": VERSION, "snippets": pages}, ensure_ascii=False)


class Import(Command):
    usage = "import FILE"
    takes = ("file",)

    def on(self, book: Book) -> str:
        (file,) = self.values
        try:
            with open_file(file, encoding="utf-8") as stream:
                coming = pages_of(json.load(stream))
        except Exception:
            raise Refusal(f"cannot import: {file}") from None
        outcomes: dict[str, list[str]] = {"new": [], "merged": [], "conflicting": []}
        for page in coming:
            outcomes[merge(book, page)].append(page.name)
        counts = ", ".join(f"{len(names)} {how}" for how, names in outcomes.items())
        order = [page.name for page in book]
        conflicting = sorted(outcomes["conflicting"], key=order.index)
        if conflicting:
            raise Conflicts(f"imported: {counts}", conflicting)
        return f"imported: {counts}"


def merge(book: Book, page: Page) -> str:
    if page.name not in book:
        book.put(page)
        return "new"
    there = book[page.name]
    if there.text != page.text:
        return "conflicting"
    book.put(Page(page.name, page.text, there.tags + page.tags))
    return "merged"


def pages_of(document: object) -> list[Page]:
    """The pages of a document; any exception says that it is none."""
    assert_that(isinstance(document, dict))
    assert_that(isinstance(document["version"], int) and document["version"] is not True)
    assert_that(document["version"] == VERSION)
    assert_that(isinstance(document["snippets"], list))
    pages: dict[str, Page] = {}
    for entry in document["snippets"]:
        text, tags = entry["text"], entry["tags"]
        assert_that(isinstance(text, str) and isinstance(tags, list))
        name, tags = composed(entry["name"]), [composed(tag) for tag in tags]
        assert_that(name not in pages)
        assert_that(all(follows_rule(word) for word in [name, *tags]))
        pages[name] = Page(name, text, tags)
    return list(pages.values())


def assert_that(true: bool) -> None:
    if not true:
        raise ValueError("not an export")
