"""The commands."""

import json
import math
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

State = dict[str, Any]
Snippet = dict[str, Any]
Answer = tuple[int, str, str]
MAX_NAME = 64


class ForgeError(Exception):
    """A command cannot be carried out; its text is the message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def run(argv: list[str], state: State) -> Answer:
    """Carry out one command; see README for all of them.

    Returns:
        The exit code, and what to print on stdout and on stderr.
    """
    try:
        if not argv:
            raise ForgeError(2, "no command")
        if argv[0] not in COMMANDS:
            raise ForgeError(2, f"unknown command: {argv[0]}")
        command = COMMANDS[argv[0]]
        values, tags = parse(command, argv[1:])
        return command.function(state.setdefault("snippets", {}), tags, *values)
    except ForgeError as error:
        return error.code, "", f"forge: {error}\n"


# --- arguments ---


def parse(command: "Command", args: list[str]) -> tuple[list[str], list[str]]:
    """The command's values and tags, names and tags checked."""
    values: list[str] = []
    tags: list[str | None] = []
    misfits: list[str] = []
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            values += rest
        elif arg == "--tag":
            tags.append(next(rest, None))
        elif arg.startswith("--"):
            misfits.append(arg)
        else:
            values.append(arg)
    misfit = misfits or None in tags or len(tags) > command.max_tags
    if misfit or len(values) != command.n_values:
        raise ForgeError(2, f"usage: {command.line}")
    if " NAME" in command.line:
        values[0] = checked("name", values[0])
    return values, [checked("tag", tag) for tag in tags if tag is not None]


def checked(kind: str, text: str) -> str:
    """A name or a tag in its normal form."""
    text = normal(text)
    if not is_name(text):
        raise ForgeError(2, f"bad {kind}: {text}")
    return text


def normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def is_name(text: str) -> bool:
    first = text[:1].isalpha() or text[:1].isdigit()
    rest = re.sub("[._-]", "", text)
    return len(text) <= MAX_NAME and first and rest.isalnum()


# --- what is shown ---


def order(name: str) -> tuple[str, str]:
    return name.casefold(), name


def lines(snippets: dict[str, Snippet]) -> str:
    """Snippets as `list` shows them."""
    return "".join(
        " #".join([name, *snippets[name]["tags"]]) + "\n"
        for name in sorted(snippets, key=order)
    )


# --- commands ---


def add(snippets: dict[str, Snippet], tags: list[str], name: str, text: str) -> Answer:
    if name in snippets:
        raise ForgeError(1, f"snippet exists: {name}")
    snippets[name] = {"text": text, "tags": sorted(set(tags), key=order)}
    return 0, f"added {name}\n", ""


def get(snippets: dict[str, Snippet], tags: list[str], name: str) -> Answer:
    known(snippets, name)
    return 0, snippets[name]["text"] + "\n", ""


def known(snippets: dict[str, Snippet], name: str) -> None:
    if name not in snippets:
        raise ForgeError(1, f"no such snippet: {name}")


def list_(snippets: dict[str, Snippet], tags: list[str]) -> Answer:
    found = {n: s for n, s in snippets.items() if set(tags) <= set(s["tags"])}
    if tags and not found:
        raise ForgeError(1, f"no such tag: {tags[0]}")
    return 0, lines(found) or "no snippets\n", ""


def remove(snippets: dict[str, Snippet], tags: list[str], name: str) -> Answer:
    known(snippets, name)
    del snippets[name]
    return 0, f"removed {name}\n", ""


def search(snippets: dict[str, Snippet], tags: list[str], phrase: str) -> Answer:
    wanted = normal(phrase).casefold()
    found = {
        name: snippet
        for name, snippet in snippets.items()
        if wanted in name.casefold() or wanted in normal(snippet["text"]).casefold()
    }
    if not found:
        raise ForgeError(1, f"no match: {phrase}")
    return 0, lines(found), ""


def export(snippets: dict[str, Snippet], tags: list[str]) -> Answer:
    document = {
        "version": 1,
        "snippets": [
            {"name": name, **snippets[name]} for name in sorted(snippets, key=order)
        ],
    }
    return 0, json.dumps(document) + "\n", ""


def import_(snippets: dict[str, Snippet], tags: list[str], file: str) -> Answer:
    try:
        coming = imported(json.loads(Path(file).read_bytes().decode()))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise ForgeError(1, f"cannot import: {file}") from None
    n_new = n_merged = 0
    conflicts: list[str] = []
    for name in sorted(coming, key=order):
        snippet = snippets.setdefault(name, coming[name])
        if snippet is coming[name]:
            n_new += 1
        elif snippet["text"] == coming[name]["text"]:
            n_merged += 1
            united = {*snippet["tags"], *coming[name]["tags"]}
            snippet["tags"] = sorted(united, key=order)
        else:
            conflicts.append(f"forge: conflict: {name}\n")
    told = f"imported: {n_new} new, {n_merged} merged, {len(conflicts)} conflicting\n"
    return int(bool(conflicts)), told, "".join(conflicts)


def imported(document: Any) -> dict[str, Snippet]:
    """The snippets of an export.

    Raises:
        ValueError, LookupError, TypeError: It is none.
    """
    found: dict[str, Snippet] = {}
    must(type(document["version"]) in (int, float) and document["version"] == 1)
    must(type(document["snippets"]) is list)
    for item in document["snippets"]:
        must(type(item["text"]) is str and type(item["tags"]) is list)
        name, *tags = map(normal, [item["name"], *item["tags"]])
        must(name not in found and all(map(is_name, [name, *tags])))
        found[name] = {"text": item["text"], "tags": sorted(set(tags), key=order)}
    return found


def must(holds: bool) -> None:
    if not holds:
        raise ValueError("not an export")


class Command(NamedTuple):
    line: str
    function: Callable[..., Answer]
    n_values: int
    max_tags: float = 0


COMMANDS = {
    command.line.split()[0]: command
    for command in (
        Command("add NAME TEXT [--tag TAG]...", add, 2, max_tags=math.inf),
        Command("get NAME", get, 1),
        Command("list [--tag TAG]", list_, 0, max_tags=1),
        Command("remove NAME", remove, 1),
        Command("search PHRASE", search, 1),
        Command("export", export, 0),
        Command("import FILE", import_, 1),
    )
}
