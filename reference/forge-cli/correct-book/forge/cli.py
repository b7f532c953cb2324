"""Finds the command and carries it out."""

from forge.book import Book
from forge.commands import Add, Get, List, Remove, Search
from forge.commands.exchange import Conflicts, Export, Import
from forge.errors import Misuse, Refusal

COMMANDS = (Add, Get, List, Remove, Search, Export, Import)


def run(argv: list[str], state: dict) -> tuple[int, str, str]:
    """Carry out one command; see README for all of them."""
    book = Book(state)
    try:
        answer = find(argv)(argv[1:]).on(book)
    except Refusal as refusal:
        return refusal.exit_code, "", f"forge: {refusal}\n"
    except Conflicts as conflicts:
        book.close()
        told = [f"forge: conflict: {name}\n" for name in conflicts.names]
        return 1, f"{conflicts}\n", "".join(told)
    book.close()
    return 0, f"{answer}\n", ""


def find(argv: list[str]) -> type:
    if not argv:
        raise Misuse("no command")
    for command in COMMANDS:
        if command.__name__.lower() == argv[0]:
            return command
    raise Misuse(f"unknown command: {argv[0]}")
