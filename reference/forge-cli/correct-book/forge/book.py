"""A book of snippets: a view of the state, which holds a page for each."""

from dataclasses import dataclass, field

from forge.words import folded, ordered


@dataclass
class Page:
    name: str
    text: str
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tags = ordered(set(self.tags))

    def __str__(self) -> str:
        return " ".join([self.name] + ["#" + tag for tag in self.tags])

    def mentions(self, phrase: str) -> bool:
        return any(folded(phrase) in folded(part) for part in (self.name, self.text))


class Book:
    """The pages of a state; `close` writes them back."""

    def __init__(self, state: dict) -> None:
        self._state = state
        self._pages = {name: Page(name, *rest) for name, *rest in state.get("pages", [])}

    def close(self) -> None:
        self._state["pages"] = [[p.name, p.text, p.tags] for p in self]

    def __iter__(self):
        return (self._pages[name] for name in ordered(self._pages))

    def __contains__(self, name: str) -> bool:
        return name in self._pages

    def __getitem__(self, name: str) -> Page:
        return self._pages[name]

    def put(self, page: Page) -> None:
        self._pages[page.name] = page

    def drop(self, name: str) -> None:
        del self._pages[name]
