"""A class for each command; they know how they are called and what they do."""

from forge.book import Book, Page
from forge.errors import Misuse, Refusal
from forge.words import require


class Command:
    usage = ""
    takes: tuple[str, ...] = ()
    tags_at_most = 0

    def __init__(self, arguments: list[str]) -> None:
        self.tags: list[str] = []
        self.values: list[str] = []
        self._sort_out(list(arguments))
        if len(self.values) != len(self.takes) or len(self.tags) > self.tags_at_most:
            self.misused()
        for n, kind in enumerate(self.takes):
            if kind == "name":
                self.values[n] = require("name", self.values[n])
        self.tags = [require("tag", tag) for tag in self.tags]

    def _sort_out(self, left: list[str]) -> None:
        while left:
            word = left.pop(0)
            if word == "--":
                self.values.extend(left)
                return
            if not word.startswith("--"):
                self.values.append(word)
            elif word == "--tag" and left:
                self.tags.append(left.pop(0))
            else:
                self.misused()

    def misused(self) -> None:
        raise Misuse(f"usage: {self.usage}")

    def on(self, book: Book) -> str:
        raise NotImplementedError


class Add(Command):
    usage = "add NAME TEXT [--tag TAG]..."
    takes = ("name", "text")
    tags_at_most = 1_000_000

    def on(self, book: Book) -> str:
        name, text = self.values
        if name in book:
            raise Refusal(f"snippet exists: {name}")
        book.put(Page(name, text, self.tags))
        return f"added {name}"


class OnOne(Command):
    takes = ("name",)

    def page(self, book: Book) -> Page:
        name = self.values[0]
        if name in book:
            return book[name]
        raise Refusal(f"no such snippet: {name}")


class Get(OnOne):
    usage = "get NAME"

    def on(self, book: Book) -> str:
        return self.page(book).text


class Remove(OnOne):
    usage = "remove NAME"

    def on(self, book: Book) -> str:
        page = self.page(book)
        book.drop(page.name)
        return f"removed {page.name}"


class List(Command):
    usage = "list [--tag TAG]"
    tags_at_most = 1

    def on(self, book: Book) -> str:
        pages = list(book)
        for tag in self.tags:
            pages = [page for page in pages if tag in page.tags]
            if not pages:
                raise Refusal(f"no such tag: {tag}")
        return "\n".join(map(str, pages)) or "no snippets"


class Search(Command):
    usage = "search PHRASE"
    takes = ("phrase",)

    def on(self, book: Book) -> str:
        (phrase,) = self.values
        hits = [str(page) for page in book if page.mentions(phrase)]
        if not hits:
            raise Refusal(f"no match: {phrase}")
        return "\n".join(hits)
